// What is seen for moments only: pictures of it, and that it comes and goes.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ask, browser, eventually, feet, fill, menu, message, openPage, picture, send } from './harness.mjs';

after(() => browser.close());

test('an answer is written, with a thought before it', async () => {
  const page = await openPage();
  await send(page, 'think about it and write 300 words');
  await page.locator('article.growing .prose').waitFor();
  await page.locator('#activity', { hasText: 'Answering…' }).waitFor();
  await picture(page, 'streaming');
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await page.getByText('You stopped this answer').waitFor();
  assert.ok(await page.locator('#activity-line').isHidden());
  await page.done();
});

test('a compaction is made', async () => {
  const page = await openPage();
  await fill(page);
  await page.getByRole('button', { name: 'Compact now' }).click();
  await page.locator('#activity', { hasText: 'Compacting the context…' }).waitFor();
  assert.ok(await page.locator('rtc-token-usage').evaluate((e) => e.compacting), 'the meter tells, too');
  await picture(page, 'compacting');
  await page.locator('.card.compaction').waitFor();
  assert.ok(await page.locator('#activity-line').isHidden());
  await eventually(() => page.evaluate(() => document.activeElement.id), 'compact', 'the focus is where it was');
  await page.done();
});

test('a next try is counted down to', async () => {
  const page = await openPage();
  await page.clock.install();
  await page.getByText('The demo model answers').waitFor();
  await send(page, 'fail 6 times with overload');
  const activity = page.locator('#activity');
  const left = async () => Number(/ in (\d+) s…/.exec(await activity.innerText())?.[1] ?? 0);
  const before = await eventually(left, (n) => n >= 3, 'a try that is some seconds away');
  await picture(page, 'retrying');
  await page.clock.fastForward(2000);
  await eventually(left, (n) => n < before, 'less is left');
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await page.getByText('You stopped this answer').waitFor();
  await page.done();
});

test('an answer without words, a refused one, and a failed call', async () => {
  const page = await openPage();
  await send(page, 'fail with refusal');
  await page.locator('.turn-error').waitFor();
  assert.equal((await page.locator('.turn-error').innerText()).match(/declined/g)?.length, 1, 'it is said once');
  await ask(page, 'call read {"path": "nowhere"}');
  const input = page.locator('details.tool .input');
  await page.locator('details.tool summary').click();
  const colour = (locator) => locator.evaluate((e) => getComputedStyle(e).color);
  assert.equal(await colour(input), await colour(page.locator('#log')), 'the input is not what is wrong');
  await picture(page, 'refused-and-failed');
  await page.done();
});

test('a search that finds nothing, an open menu, files above the page', async () => {
  const page = await openPage();
  await ask(page, 'hello');
  await page.getByLabel('Search sessions by title').fill('zebra');
  await page.getByText('No session has this in its title.').waitFor();
  await page.getByLabel('Session menu').click();
  await page.getByRole('button', { name: 'Rename…' }).waitFor();
  await picture(page, 'search-and-menu');
  await page.keyboard.press('Escape');
  const transfer = await page.evaluateHandle(() => {
    const data = new DataTransfer();
    data.items.add(new File(['x'], 'x.txt', { type: 'text/plain' }));
    return data;
  });
  await page.dispatchEvent('body', 'dragover', { dataTransfer: transfer });
  await page.getByText('Drop files to attach them').waitFor();
  await picture(page, 'dragging');
  await page.dispatchEvent('body', 'drop', { dataTransfer: transfer });
  await page.locator('.chip', { hasText: 'x.txt' }).waitFor();
  assert.ok(await page.getByText('Drop files to attach them').isHidden());
  await page.done();
});

test('notices go by themselves, unless somebody reads them', async () => {
  const page = await openPage();
  await page.clock.install();
  await ask(page, 'hello');
  const notice = page.locator('.notice');
  await send(page, '/compact');
  await notice.waitFor();
  await notice.hover();
  await page.clock.fastForward(30_000);
  assert.equal(await notice.count(), 1, 'it is pointed at');
  await message(page).hover();
  await page.clock.fastForward(30_000);
  await eventually(() => notice.count(), 0, 'it goes');
  await page.evaluate(async () => {
    const { notice: show } = await import('/assets/console/ui/notice.js');
    for (const text of ['one', 'two', 'two', 'three', 'four']) show(text, { bad: true });
  });
  assert.deepEqual(await notice.allInnerTexts(), ['two', 'three', 'four'], 'the newest, each once');
  await page.clock.fastForward(30_000);
  await eventually(() => notice.count(), 0, 'what went wrong is not told for ever');
  assert.equal(await feet(page).count(), 1);
  await page.done();
});

test('notices cover no beginning, and go with what they are about', async () => {
  const page = await openPage();
  await ask(page, 'hello');
  await send(page, '/compact');
  const notice = page.locator('.notice');
  await notice.waitFor();
  const box = (locator) => locator.boundingBox();
  const gap = async () => (await box(page.locator('#composer'))).y - (await box(notice)).y - (await box(notice)).height;
  await eventually(gap, (px) => px >= 0 && px < 80, 'it stands above the composer');
  await message(page).fill('a\n'.repeat(12));
  await eventually(gap, (px) => px >= 0 && px < 80, 'however high that is');
  await message(page).fill('');
  await picture(page, 'notice');
  await page.getByRole('button', { name: 'New session' }).click();
  await page.getByRole('heading', { name: 'What shall we talk about?' }).waitFor();
  assert.equal(await notice.count(), 0, 'it was about the session that was left');
  await page.goBack();
  await page.locator('article.user', { hasText: 'hello' }).waitFor();
  await menu(page, 'Fork');
  await notice.filter({ hasText: 'This is a fork.' }).waitFor();
  await page.done();
});

test('the session that is active comes first', async () => {
  const page = await openPage();
  await ask(page, 'the older one');
  await page.getByRole('button', { name: 'New session' }).click();
  await ask(page, 'the newer one');
  const first = page.locator('#sessions li').first();
  await first.getByText('the newer one').waitFor();
  await page.locator('#sessions a', { hasText: 'the older one' }).first().click();
  await page.locator('article.user', { hasText: 'the older one' }).waitFor();
  await page.evaluate(() => {
    Object.assign(window, { drawn: 0 });
    new MutationObserver(() => { window.drawn++; }).observe(document.getElementById('sessions'), { childList: true });
  });
  await ask(page, 'again');
  await first.getByText('the older one').waitFor();
  assert.ok(await page.evaluate(() => window.drawn) < 8, 'the list is not drawn for every entry');
  await page.done();
});
