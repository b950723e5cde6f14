// A server with authentication: the page asks for a token once.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ask, browser, feet, openPage, picture } from './harness.mjs';

after(() => browser.close());

test('a token is asked for until it is right, and kept by the tab', async () => {
  const page = await openPage({ allow: /401/ });
  const dialog = page.getByRole('dialog', { name: 'Sign in' });
  await dialog.getByLabel('Token').fill('wrong');
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  await dialog.getByText('The server did not accept that token.').waitFor();
  await picture(page, 'sign-in');
  await dialog.getByLabel('Token').fill('a-token-for-this-test');
  await dialog.getByLabel('Token').press('Enter');
  await ask(page, 'hello');
  await page.reload();
  await feet(page).waitFor();
  assert.equal(await dialog.count(), 0);
  assert.ok(!(await page.evaluate(() => location.href + document.cookie)).includes('a-token'), 'the token stays out of the address and of cookies');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await dialog.waitFor();
  await page.done();
});
