// What can happen on the way: reloads, restarts, other tabs, no network.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ask, browser, cable, eventually, feet, menu, message, openPage, openTab, paste, picture, send, url } from './harness.mjs';

after(() => browser.close());

/** A lost connection says so itself. */
const LOST = /ERR_|WebSocket connection/;

/** All of it: what is out of sight is not drawn, and innerText knows nothing of it. */
const log = async (page) => (await page.locator('#log').textContent()).replaceAll(/(pebble )+/g, '… ');
const growing = (page) => page.locator('article.growing .prose').innerText();

const upTo = (n) => Array.from({ length: n }, (_, i) => i + 1);
const numbers = async (article) => ((await article.locator('.prose').last().innerText()).match(/\d+/g) ?? []).map(Number);

/** Notes every state of an answer that counts in which a number is missing or comes twice. */
async function watchCounting(page) {
  await page.evaluate(() => {
    Object.assign(window, { jumps: [], counted: 0 });
    new MutationObserver(() => {
      const text = [...document.querySelectorAll('article.growing .prose')].map((e) => e.textContent).join(' ');
      if (text.includes('You said')) return; // another answer
      const seen = (text.match(/\d+(?=\D)/g) ?? []).map(Number);
      if (seen.some((n, i) => n !== i + 1)) window.jumps.push(text);
      window.counted = Math.max(window.counted, seen.length);
    }).observe(document.getElementById('log'), { subtree: true, childList: true, characterData: true });
  });
}

test('a reload in mid-stream resumes without gap or repeat', async () => {
  const page = await openPage();
  await send(page, 'count to 300');
  await eventually(() => page.locator('article.growing').count(), 1, 'an answer is written');
  const before = await eventually(() => growing(page), (t) => t.length > 100, 'some of it');
  await page.reload();
  await eventually(() => page.locator('article.growing').count(), 1, 'it is still written');
  const resumed = (await eventually(() => growing(page), (t) => t.length > before.trim().length, 'more of it')).trim();
  assert.ok(resumed.startsWith(before.trim()), `${JSON.stringify(resumed)} does not begin with ${JSON.stringify(before)}`);
  await feet(page).waitFor();
  assert.deepEqual((await numbers(page.locator('article.assistant'))).slice(0, 300), upTo(300));
  const whole = await log(page);
  await page.reload();
  await feet(page).waitFor();
  assert.equal(await log(page), whole);
  await page.done();
});

test('the server restarts in mid-turn', async () => {
  const page = await openPage({ allow: LOST });
  await ask(page, 'before');
  await watchCounting(page);
  await send(page, 'count to 200');
  await eventually(() => page.evaluate(() => window.counted), (n) => n > 20, 'some of the answer');
  console.log('kill the server');
  await page.locator('#connection:not([data-state=open])').waitFor();
  await page.locator('#connection[data-state=open]').waitFor();
  await eventually(() => feet(page).count(), 2, 'the turn ends');
  assert.equal(await page.locator('article.user').count(), 2);
  assert.equal(await page.locator('article.assistant').count(), 2);
  assert.deepEqual(await page.evaluate(() => window.jumps), [], 'a gap or a repeat was seen');
  assert.deepEqual(await numbers(page.locator('article.assistant').last()), upTo(200));
  const seen = await log(page);
  await page.reload();
  await eventually(() => feet(page).count(), 2, 'after a reload');
  assert.equal(await log(page), seen);
  await page.done();
});

test('two tabs agree', async () => {
  const one = await openPage();
  await ask(one, 'hello');
  const two = await openTab(one.context(), { at: one.url() });
  await feet(two).waitFor();
  await send(two, 'call read {"path": "README.md"} and write 100 words');
  await eventually(() => feet(one).count(), 2, 'the first tab follows');
  await eventually(() => feet(two).count(), 2, 'the second too');
  assert.equal(await log(one), await log(two));
  await eventually(async () => await one.locator('#meter').getAttribute('data-tokens') === await two.locator('#meter').getAttribute('data-tokens'), true, 'the meters agree');
  await one.getByLabel('Session menu').click();
  await one.getByRole('button', { name: 'Rename…' }).click();
  await one.getByRole('dialog').getByLabel('Title').fill('Both');
  await one.getByRole('dialog').getByLabel('Title').press('Enter');
  await two.getByRole('heading', { name: 'Both' }).waitFor();
  assert.deepEqual(two.complaints, []);
  await one.done();
});

test('two tabs see the same while it happens', async () => {
  const one = await openPage();
  await ask(one, `Keep this: ${'pebble '.repeat(1500)}`);
  const two = await openTab(one.context(), { at: one.url() });
  await feet(two).waitFor();
  for (const tab of [one, two]) await watchCounting(tab);
  await send(one, 'count to 150');
  for (const tab of [one, two]) await eventually(() => tab.evaluate(() => window.counted), (n) => n > 10, 'it is seen while it is written');
  await send(two, 'queued from the second');
  for (const tab of [one, two]) await tab.getByRole('group', { name: 'Queue' }).getByText('queued from the second', { exact: true }).waitFor();
  for (const tab of [one, two]) {
    await eventually(() => feet(tab).count(), 3, 'both are answered');
    assert.deepEqual(await tab.evaluate(() => window.jumps), []);
    assert.equal(await tab.getByRole('group', { name: 'Queue' }).count(), 0);
  }
  await one.getByRole('button', { name: 'Compact now' }).click();
  for (const tab of [one, two]) await tab.locator('.card.compaction').waitFor();
  await two.getByRole('button', { name: 'Undo compaction' }).click();
  for (const tab of [one, two]) await tab.locator('#log').getByText(/Compaction undone/).waitFor();
  assert.equal(await log(one), await log(two));
  assert.deepEqual(two.complaints, []);
  await one.done();
});

test('a session that is deleted in another tab leaves what was begun in it', async () => {
  const one = await openPage();
  await ask(one, 'about plovers');
  const row = (page) => page.locator('#sessions a', { hasText: 'about plovers' });
  const two = await openTab(one.context(), { at: one.url() });
  await feet(two).waitFor();
  await message(two).fill('half a thought');
  await paste(two, [{ name: 'notes.txt', type: 'text/plain', text: 'x' }]);
  await menu(one, 'Delete…');
  await one.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await one.getByRole('heading', { name: 'What shall we talk about?' }).waitFor();

  await two.locator('.notice', { hasText: '“about plovers” was deleted elsewhere.' }).waitFor();
  await two.getByRole('heading', { name: 'What shall we talk about?' }).waitFor();
  for (const page of [one, two]) await eventually(() => row(page).count(), 0, 'it is not listed');
  assert.equal(await message(two).inputValue(), 'half a thought');
  await two.locator('.chip', { hasText: 'notes.txt' }).waitFor();
  assert.equal(await one.locator('.notice').count(), 0, 'who deletes is told nothing');
  await picture(two, 'deleted-elsewhere');
  assert.deepEqual(two.complaints, []);
  await one.done();
});

test('two messages without a connection make one session, in their order', async () => {
  const line = await cable();
  const page = await openPage({ at: line.url, allow: LOST });
  await page.getByText('The demo model answers').waitFor();
  await page.locator('#connection[data-state=open]').waitFor();
  const before = await page.locator('#sessions a').count();
  line.cut();
  await page.getByRole('alert').waitFor();
  await send(page, 'the first of two');
  await send(page, 'the second of two');
  await eventually(() => page.locator('#queue li').allInnerTexts(), ['Sending… the first of two', 'Sending… the second of two'], 'both wait');
  await picture(page, 'offline-fresh');
  await line.mend();
  await eventually(() => feet(page).count(), 2, 'both are answered');
  assert.deepEqual(await page.locator('article.user .bubble').allInnerTexts(), ['the first of two', 'the second of two']);
  assert.equal(await page.locator('#sessions a').count(), before + 1);
  await page.goto(url);
  await page.done();
  line.remove();
});

test('without a connection sessions can be switched, and each shows what waits in it', async () => {
  const line = await cable();
  const page = await openPage({ at: line.url, allow: LOST });
  await ask(page, 'about seals');
  await page.getByRole('button', { name: 'New session' }).click();
  await ask(page, 'about terns');
  await send(page, 'count to 300');
  await page.locator('article.growing').waitFor();
  line.cut();
  await page.getByRole('alert').waitFor();
  await page.locator('#activity', { hasText: 'An answer was under way' }).waitFor();
  await send(page, 'to the terns');
  await picture(page, 'away-mid-answer');
  await page.locator('#sessions a', { hasText: 'about seals' }).first().click();
  await page.getByRole('heading', { name: 'about seals' }).waitFor();
  await page.getByText('The conversation is shown as soon as the server can be reached.').waitFor();
  assert.equal(await page.locator('#queue li').count(), 0, 'what is sent elsewhere is not shown here');
  await picture(page, 'offline-switched');
  await line.mend();
  await page.locator('article.user', { hasText: 'about seals' }).waitFor();
  assert.equal(await page.getByText('The conversation is shown as soon as').count() && await page.locator('#log-empty').isVisible(), false);
  await page.locator('#sessions a', { hasText: 'about terns' }).first().click();
  await page.locator('#log, #queue').getByText('to the terns').first().waitFor();
  await page.goto(url);
  await page.done();
  line.remove();
});

test('offline and back', async () => {
  const line = await cable();
  const page = await openPage({ at: line.url, allow: LOST });
  await ask(page, 'hello');
  line.cut();
  await page.getByRole('alert').getByText('What you send is kept until there is one again.').waitFor();
  await send(page, 'said without a connection');
  await page.getByRole('group', { name: 'Queue' }).getByText('said without a connection').waitFor();
  await picture(page, 'offline');
  await line.mend();
  await eventually(() => feet(page).count(), 2, 'it is answered');
  assert.equal(await page.locator('article.user', { hasText: 'said without a connection' }).count(), 1);
  assert.equal(await page.getByRole('alert').count(), 0);
  assert.equal(await message(page).inputValue(), '');
  await page.goto(url); // no more of the cable
  await page.done();
  line.remove();
});
