// The context: the meter, compaction and what the panel tells.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ask, browser, eventually, fill, menu, message, openPage, picture, send } from './harness.mjs';

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
  const widget = page.locator('rtc-token-usage');
  assert.equal(await widget.evaluate((e) => e.state), 'live');
  const session = await page.evaluate(() => location.hash.slice(1));
  const context = await page.evaluate(async (id) => {
    const { Client } = await import('/assets/client/client.js');
    const { ticket } = await import('/assets/console/ui/sign_in.js');
    const client = new Client({ ticket });
    const answer = await client.call('v1.session.context', { session_id: id });
    client.close();
    return answer;
  }, session);
  assert.equal(await widget.evaluate((e) => e.estimatedNext), context.estimated_next_round_tokens);
  assert.ok(context.estimated_next_round_tokens > now, 'the next round needs more than there is');
  await widget.hover();
  await eventually(() => widget.evaluate((e) => e.parts.length), (n) => n > 0, 'the widget knows the parts');
  const told = await widget.evaluate((e) => e.shadowRoot.textContent);
  assert.ok(told.includes(context.current_context_tokens.toLocaleString('en')), told);
  await picture(page, 'meter');
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
  await page.locator('.timeline figcaption', { hasText: '1 compaction, 1 undone' }).waitFor();
  await eventually(() => page.locator('.view .tag.summary').count(), 0, 'the messages are those of now');
  await page.locator('#context').evaluate((e) => { e.scrollTop = 0; });
  await picture(page, 'undone');
  await page.done();
});

test('a dry run announces no growth', async () => {
  const page = await openPage();
  for (const text of ['about whales', 'about seals', 'about terns']) await ask(page, text);
  await page.getByRole('button', { name: 'Dry run' }).click();
  const plan = page.locator('#plan');
  await plan.getByText(/at most [\d,]+ tokens/).waitFor();
  assert.match(await plan.innerText(), /What does not get smaller is left as it is/);
  assert.doesNotMatch(await plan.innerText(), /→/);
  await picture(page, 'dry-run');
  await page.done();
});

test('what was shown before is not left standing', async () => {
  const page = await openPage();
  await fill(page);
  await page.getByRole('button', { name: 'Show the messages' }).click();
  await eventually(() => page.locator('.view > li').count(), 4, 'the messages');
  await page.locator('.view summary').nth(1).click();
  await page.getByRole('button', { name: 'Dry run' }).click();
  await page.locator('#plan', { hasText: 'would leave' }).waitFor();
  await ask(page, 'one more');
  await eventually(() => page.locator('#plan').innerText(), '', 'the plan was for less');
  await eventually(() => page.locator('.view > li').count(), 6, 'the messages after another one');
  assert.equal(await page.locator('.view details[open]').count(), 1, 'what was unfolded stays so');
  await page.getByRole('button', { name: 'Compact now' }).click();
  await page.locator('.view .tag.summary').waitFor();
  await page.getByRole('button', { name: 'Hide the messages' }).click();
  assert.equal(await page.locator('.view').count(), 0);
  await page.done();
});

test('a closed session takes no compaction', async () => {
  const page = await openPage();
  await fill(page);
  await menu(page, 'Close');
  await eventually(() => message(page).isDisabled(), true, 'it is closed');
  for (const name of ['Compact now', 'Dry run', 'Attach files']) assert.ok(await page.getByRole('button', { name }).isDisabled(), name);
  await page.getByLabel('Session menu').click();
  assert.ok(await page.locator('#session-menu-items').getByRole('button', { name: 'Compact now' }).isDisabled(), 'in the menu');
  await picture(page, 'closed');
  await page.done();
});

test('the course of a conversation that costs something', async () => {
  const page = await openPage();
  await ask(page, 'hello');
  await page.locator('.timeline').waitFor();
  await page.evaluate(async () => {
    const { timeline } = await import('/assets/console/context/timeline.js');
    const points = Array.from({ length: 14 }, (_, i) => ({ kind: 'round', seq: i, tokens: 2000 + (i % 9) * 1200, cost: i * i * 0.004 }));
    points.splice(9, 0, { kind: 'compaction', seq: 9, before: 11_600, after: 2000 });
    document.getElementById('timeline').replaceChildren(timeline(points, 12_000));
  });
  await page.locator('.timeline .keys', { hasText: 'cost, up to $0.6760' }).waitFor();
  await picture(page, 'timeline');
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
  const cards = page.locator('.card.compaction');
  await eventually(() => cards.count(), 2, 'the second compaction');
  const names = () => cards.locator('details > summary').allInnerTexts();
  await eventually(names, ['Summary that a later one replaced', 'Summary that the model reads now'], 'one summary is in force');
  await page.getByRole('button', { name: 'Undo compaction' }).click();
  await eventually(names, ['Summary that the model reads now', 'Summary that was undone'], 'the first one is again');
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
