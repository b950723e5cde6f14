// What all tests of the console use: a browser, pages that complain, and a way to the
// server that can be cut.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
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

const axe = await readFile(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

/** The page has nothing that shuts somebody out. */
export async function isOpenToAll(page, what) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  const serious = violations.filter((v) => v.impact === 'serious' || v.impact === 'critical')
    .map((v) => `${v.id}: ${v.nodes.map((n) => `${n.target} ${n.failureSummary}`).join(' | ')}`);
  assert.deepEqual(serious, [], what);
}

/** Takes a picture to be looked at. */
export async function picture(page, name) { await page.screenshot({ path: join(screenshots, `${name}.png`) }); }

/**
 * Puts an answer into the conversation as a model could have written it: the demo writes no such things.
 * @param {import('playwright-core').Page} page
 * @param {string} text Markdown
 */
export async function answered(page, text) {
  await page.evaluate(async (written) => {
    const { Answer } = await import('/assets/console/chat/answer.js');
    const answer = new Answer();
    answer.store({ content: [{ type: 'text', text: written }] });
    document.getElementById('log').append(answer.element);
    answer.element.scrollIntoView();
  }, text);
}

/** What is wide in itself: a table, code, a word. */
export const WIDE = [
  'A table of the coast:', '',
  `| ${Array.from({ length: 14 }, (_, i) => `Station ${i + 1}`).join(' | ')} |`, `|${'---|'.repeat(14)}`,
  ...Array.from({ length: 3 }, (_, row) => `| ${Array.from({ length: 14 }, (_, i) => `high water ${row}.${i}`).join(' | ')} |`), '',
  '```js', `const address = 'https://example.com/${'path/'.repeat(30)}';`, '```', '',
  `One word: ${'tidewater'.repeat(20)}`, '',
  '- first', '- second', '', '> and what somebody else said', '> of it', '', '<p>', 'a line of HTML', '</p>', '', '[refused](javascript:void) and [taken](https://example.com)',
].join('\n');

/** Attaches files by pasting them. @param {Array<{ name: string, type: string, noise?: number, text?: string }>} files noise: a picture of so many pixels each way */
export async function paste(page, files) {
  await message(page).evaluate(async (text, given) => {
    const data = new DataTransfer();
    for (const { name, type, noise, text: words = '' } of given) {
      if (!noise) { data.items.add(new File([words], name, { type })); continue; }
      const canvas = new OffscreenCanvas(noise, noise);
      const pen = canvas.getContext('2d');
      const pixels = pen.createImageData(noise, noise);
      for (let i = 0; i < pixels.data.length; i++) pixels.data[i] = i % 4 === 3 ? 255 : (i * 2654435761 >>> 13) % 256;
      pen.putImageData(pixels, 0, 0);
      data.items.add(new File([await canvas.convertToBlob()], name, { type }));
    }
    text.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
  }, files);
}

/** Does something of the menu. */
export async function menu(page, name) {
  await page.getByLabel('Session menu').click();
  await page.locator('#session-menu-items').getByRole('button', { name, exact: true }).click();
}

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
