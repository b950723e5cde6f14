// The browser, and a site of its own whose pages embed the widget under a strict
// Content-Security-Policy.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const web = new URL('../../../web/', import.meta.url);
const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const types = { js: 'text/javascript', html: 'text/html; charset=utf-8', css: 'text/css' };

/** Serves pages by path, and the files of web/ under /assets/. */
export async function serveSite(pages, { connect = "'self'", scripts = "'self'" } = {}) {
  const policy = `default-src 'none'; script-src ${scripts}; style-src 'self'; connect-src ${connect}`;
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, 'http://site');
    try {
      const page = pages[pathname];
      if (typeof page === 'function') { await page(request, response); return; }
      const body = page ?? await readFile(new URL(pathname.replace('/assets/', './'), web));
      const type = types[pathname.split('.').at(-1)] ?? types.html;
      response.writeHead(200, { 'Content-Type': type, 'Content-Security-Policy': policy }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

export async function openBrowser(executablePath, args = []) {
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage', ...args] });
}

/** Opens a page and collects what it complains about. */
export async function openPage(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 420, height: 640 }, deviceScaleFactor: 2, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const complaints = [];
  page.on('console', (m) => { if (m.type() === 'error' || m.type() === 'warning') complaints.push(m.text()); });
  page.on('pageerror', (e) => complaints.push(String(e)));
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`));
  });
  await page.goto(url);
  await page.waitForFunction(() => customElements.get('rtc-token-usage'));
  return { page, complaints };
}

/** What axe finds that keeps people from using the page. */
export async function violations(page) {
  if (!await page.evaluate(() => 'axe' in globalThis)) await page.evaluate(await readFile(axe, 'utf8'));
  const { violations: found } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  return found.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes.map((n) => `${n.target} ${n.failureSummary}`).join('; ')}`);
}

export async function noComplaints({ page, complaints }) {
  assert.deepEqual(complaints, []);
  await page.context().close();
}
