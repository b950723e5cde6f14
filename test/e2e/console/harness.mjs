// What all tests of the console use: a browser, pages that complain, and a way to the
// server that can be cut.
import assert from 'node:assert/strict';
import { createServer, connect } from 'node:net';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

export const [address, executablePath, screenshots] = process.argv.slice(2);
export const url = `http://${address}/`;

/** Waiting longer than this is hanging, on a slow machine too. */
export const PATIENCE_MS = 90_000;

export const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });

/**
 * A page in a browser of its own. It collects everything that a console must not say.
 * @param {import('playwright-core').BrowserContextOptions & { at?: string, allow?: RegExp }} [options] allow: what it may say
 */
export async function openPage({ at = url, allow, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  return openTab(context, { at, allow });
}

/**
 * Another page in the same browser.
 * @param {import('playwright-core').BrowserContext} context
 */
export async function openTab(context, { at = url, allow = /(?!)/ } = {}) {
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const complaints = [];
  const complain = (text) => { if (!allow.test(text)) complaints.push(text); };
  page.on('console', (m) => { if (m.type() === 'error' || m.type() === 'warning') complain(m.text()); });
  page.on('pageerror', (e) => complain(String(e)));
  page.on('response', (r) => { if (r.status() >= 400) complain(`${r.url()}: status ${r.status()}`); });
  page.on('request', (r) => { if (!/^(https?:\/\/127\.0\.0\.1[:/]|data:|blob:)/.test(r.url())) complain(`asked for ${r.url()}`); });
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`));
  });
  await page.goto(at);
  return Object.assign(page, { complaints, done: async () => {
    assert.deepEqual(complaints, []);
    await page.context().close();
  } });
}

export const message = (page) => page.getByRole('textbox', { name: 'Message', exact: true });
export const feet = (page) => page.locator('.foot');

/** Sends a message by Enter. */
export async function send(page, text) {
  await message(page).fill(text);
  await message(page).press('Enter');
}

/** Sends a message and waits for the end of its turn. */
export async function ask(page, text) {
  const before = await feet(page).count();
  await send(page, text);
  await feet(page).nth(before).waitFor();
}

/** Says much at once, so that there is something to compact: the demo answers no faster than people read. */
export async function fill(page, words = 1500) {
  await ask(page, `Keep this: ${'pebble '.repeat(words)}`);
  await ask(page, 'and so on');
}

/** Waits until what fn tells is what is wanted. */
export async function eventually(fn, wanted, what) {
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    const got = await fn();
    try {
      if (typeof wanted === 'function') assert.ok(wanted(got), `${what}: ${JSON.stringify(got)}`);
      else assert.deepEqual(got, wanted, what);
      return got;
    } catch (error) {
      if (Date.now() > until) throw error;
      await new Promise((resolve) => { setTimeout(resolve, 50); });
    }
  }
}

/** Takes a picture to be looked at. */
export async function picture(page, name) { await page.screenshot({ path: join(screenshots, `${name}.png`) }); }

/** A way to the server that can be cut and mended. */
export async function cable() {
  const [host, port] = address.split(':');
  const sockets = new Set();
  const server = createServer((near) => {
    const far = connect(Number(port), host);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => { sockets.delete(socket); near.destroy(); far.destroy(); });
    }
    near.pipe(far).pipe(near);
  });
  const listen = (at) => new Promise((resolve) => { server.listen(at, '127.0.0.1', resolve); });
  await listen(0);
  const own = server.address().port;
  return {
    url: `http://127.0.0.1:${own}/`,
    cut: () => { server.close(); for (const socket of sockets) socket.destroy(); },
    mend: () => listen(own),
    remove: () => { server.close(); for (const socket of sockets) socket.destroy(); },
  };
}
