// The server's own page in a headless browser: it sends a message and sees the answer,
// keeps it over a reload, and neither breaks its content policy nor logs an error. What
// else it can do is tested in test/e2e/console.
// Arguments: the page's address, the browser's program, where to put a picture.
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';

const [url, executablePath, picture] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
try {
  const page = await browser.newPage({ viewport: { width: 900, height: 700 } });
  const complaints = [];
  page.on('console', (m) => { if (m.type() === 'error' || m.type() === 'warning') complaints.push(m.text()); });
  page.on('pageerror', (e) => complaints.push(String(e)));
  page.on('requestfailed', (r) => complaints.push(`${r.url()}: ${r.failure().errorText}`));
  page.on('response', (r) => { if (r.status() >= 400) complaints.push(`${r.url()}: status ${r.status()}`); });
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`));
  });
  await page.goto(url);

  const text = '<b>hello</b> & good-bye';
  await page.getByRole('textbox', { name: 'Message' }).fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('article.user', { hasText: text }).waitFor();
  await page.locator('article.assistant', { hasText: 'I am not a language model' }).waitFor();
  await page.locator('.foot').waitFor();
  const before = await page.locator('#log').innerText();
  await page.screenshot({ path: picture });

  await page.reload();
  await page.locator('.foot').waitFor();
  assert.equal(await page.locator('#log').innerText(), before, 'after a reload');
  assert.deepEqual(complaints, []);
  console.log('ok');
} finally {
  await browser.close();
}
