// What can happen on the way: reloads, restarts, other tabs, no network.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ask, browser, cable, eventually, feet, message, openPage, openTab, picture, send, url } from './harness.mjs';

after(() => browser.close());

/** A lost connection says so itself. */
const LOST = /ERR_|WebSocket connection/;

const log = (page) => page.locator('#log').innerText();
const growing = (page) => page.locator('article.growing .prose').innerText();

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
  const numbers = (await page.locator('article.assistant').innerText()).match(/\d+/g).slice(0, 300).map(Number);
  assert.deepEqual(numbers, Array.from({ length: 300 }, (_, i) => i + 1));
  const whole = await log(page);
  await page.reload();
  await feet(page).waitFor();
  assert.equal(await log(page), whole);
  await page.done();
});

test('the server restarts in mid-turn', async () => {
  const page = await openPage({ allow: LOST });
  await ask(page, 'before');
  await send(page, 'write 200 words');
  await page.locator('article.growing').waitFor();
  console.log('kill the server');
  await page.locator('#connection:not([data-state=open])').waitFor();
  await page.locator('#connection[data-state=open]').waitFor();
  await eventually(() => feet(page).count(), 2, 'the turn ends');
  assert.equal(await page.locator('article.user').count(), 2);
  assert.equal(await page.locator('article.assistant').count(), 2);
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
