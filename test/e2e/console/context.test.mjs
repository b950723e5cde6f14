// The context: the meter, compaction and what the panel tells.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ask, browser, eventually, fill, openPage, picture, send } from './harness.mjs';

after(() => browser.close());

const tokens = async (page) => Number(await page.locator('#meter').getAttribute('data-tokens'));

test('the meter moves, and tells what the server does', async () => {
  const page = await openPage();
  await ask(page, 'hello');
  const before = await eventually(() => tokens(page), (n) => n > 0, 'the meter');
  await ask(page, 'write 60 words');
  const now = await eventually(() => tokens(page), (n) => n > before + 50, 'the meter after a long answer');
  await page.locator('rtc-token-usage').waitFor();
  await eventually(async () => (await page.locator('#context-tokens').innerText()).replaceAll(',', ''), String(now), 'the panel and the meter agree');
  await page.done();
});

test('compaction by button, and back', async () => {
  const page = await openPage();
  await ask(page, 'call read {"path": "src/tides.js"} then read {"path": "README.md"}');
  await fill(page);
  const full = await eventually(() => tokens(page), (n) => n > 2000, 'a filled context');
  await page.getByRole('button', { name: 'Dry run' }).click();
  await page.locator('#plan', { hasText: 'would leave' }).waitFor();
  await page.getByRole('button', { name: 'Compact now' }).click();
  const card = page.locator('.card.compaction');
  await card.getByText('Context compacted').waitFor();
  assert.match(await card.locator('.numbers').innerText(), /^[\d,]+ → [\d,]+ tokens$/);
  await card.locator('summary').click();
  await card.locator('.pre').waitFor();
  await eventually(() => tokens(page), (n) => n < full, 'the meter falls');
  await page.locator('#context-summary').getByText('Read it').waitFor();
  await page.getByRole('list', { name: 'Files shown again' }).getByText('README.md').waitFor();
  await page.locator('.legend', { hasText: 'Summary' }).waitFor();
  await page.locator('.timeline figcaption', { hasText: '1 compaction' }).waitFor();
  await picture(page, 'compaction');
  await page.getByRole('button', { name: 'Show the messages' }).click();
  await page.locator('.view .tag.summary').waitFor();
  await page.locator('#context').evaluate((e) => { e.scrollTop = e.scrollHeight; });
  await picture(page, 'context-numbers');

  await page.getByRole('button', { name: 'Undo compaction' }).click();
  await page.getByText(/Compaction undone/).first().waitFor();
  await eventually(() => tokens(page), (n) => n >= full, 'the meter rises again');
  await eventually(() => page.locator('#context-summary').innerText(), '', 'there is no summary any more');
  await page.done();
});

test('compaction by command, by instruction, and when there is nothing to do', async () => {
  const page = await openPage();
  await ask(page, 'hello');
  await page.getByRole('button', { name: 'Compact now' }).click();
  const nothing = page.locator('.notice', { hasText: 'Nothing to compact' });
  await nothing.getByRole('button').click();
  await eventually(() => nothing.count(), 0, 'a notice that was closed');
  await send(page, '/compact');
  await nothing.waitFor();
  await fill(page);
  await send(page, '/compact');
  await page.locator('.card.compaction').waitFor();
  await fill(page, 3000);
  await page.getByText('Compact with an instruction').click();
  await page.getByLabel('What the summary is to be like').fill('Only names');
  await page.getByLabel('What the summary is to be like').press('Enter');
  await eventually(() => page.locator('.card.compaction').count(), 2, 'the second compaction');
  await page.done();
});

test('a small limit compacts by itself', async () => {
  const page = await openPage();
  await page.getByText('Settings of the new session').click();
  await page.getByLabel('Context limit').fill('6000');
  await picture(page, 'settings');
  for (let n = 0; n < 6 && await page.locator('.card.compaction').count() === 0; n++) await fill(page, 900);
  await page.locator('.card.compaction', { hasText: 'automatically' }).first().waitFor();
  await eventually(async () => await page.locator('.timeline .drop').count() > 0, true, 'the chart shows it');
  await picture(page, 'long-conversation');
  await page.done();
});
