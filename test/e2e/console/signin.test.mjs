// A server with authentication: the page asks for a token once.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ask, browser, cable, eventually, feet, isOpenToAll, openPage, picture } from './harness.mjs';

after(() => browser.close());

test('a token is asked for until it is right, and kept by the tab', async () => {
  const page = await openPage({ allow: /401/ });
  const dialog = page.getByRole('dialog', { name: 'Sign in' });
  await dialog.getByLabel('Token').fill('wrong');
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  await dialog.getByText('The server did not accept that token.').waitFor();
  await isOpenToAll(page, 'the question for a token');
  await picture(page, 'sign-in');
  await dialog.getByLabel('Token').fill('a-token-for-this-test');
  await dialog.getByLabel('Token').press('Enter');
  const focused = () => page.evaluate(() => document.activeElement.id);
  await eventually(focused, 'text', 'writing can begin after signing in');
  await ask(page, 'hello');
  await page.reload();
  await feet(page).waitFor();
  assert.equal(await focused(), 'text', 'and after a reload');
  assert.equal(await dialog.count(), 0);
  assert.ok(!(await page.evaluate(() => location.href + document.cookie)).includes('a-token'), 'the token stays out of the address and of cookies');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await dialog.waitFor();
  await page.done();
});

test('one question, however long the answer takes', async () => {
  const line = await cable();
  const page = await openPage({ at: line.url, allow: /401|ERR_|WebSocket connection/ });
  await page.clock.install();
  const dialogs = page.locator('dialog');
  await dialogs.waitFor();
  await page.clock.fastForward(120_000);
  assert.equal(await dialogs.count(), 1, 'at the first connection');
  await dialogs.getByLabel('Token').fill('a-token-for-this-test');
  await dialogs.getByLabel('Token').press('Enter');
  await page.locator('#connection[data-state=open]').waitFor();

  await page.evaluate(() => { sessionStorage.setItem('sessiond.token', 'no longer valid'); });
  line.cut();
  await page.locator('#connection:not([data-state=open])').waitFor();
  await line.mend();
  await page.clock.fastForward(20_000);
  await dialogs.waitFor();
  const tries = [];
  page.on('request', (r) => { if (r.url().endsWith('/v1/tickets')) tries.push(r); });
  for (let n = 0; n < 8; n++) await page.clock.fastForward(16_000); // a connection would have been given up by then
  await page.locator('#connection[data-state=connecting]').waitFor();
  assert.equal(await dialogs.count(), 1, 'at a later connection');
  assert.equal(tries.length, 0, 'nothing is asked while somebody types');
  await dialogs.getByLabel('Token').fill('a-token-for-this-test');
  await dialogs.getByLabel('Token').press('Enter');
  await page.locator('#connection[data-state=open]').waitFor();
  assert.equal(await dialogs.count(), 0);
  await page.done();
  line.remove();
});
