// The widget against built servers: one that is open, one that wants a token.
// Arguments: the browser's program, where the servers listen, the token, a folder for
// pictures. Says "restart the server" to have that done with the open one.
import assert from 'node:assert/strict';
import { mkdir, readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { wholePercent } from '../../../web/widget/lib/meter.js';
import { noComplaints, openBrowser, openPage, serveSite } from './site.mjs';

const [executable, address, guarded, token, pictures] = process.argv.slice(2);
const docs = await readFile(new URL('../../../docs/widget.md', import.meta.url), 'utf8');
const [example] = docs.match(/(?<=```html\n)[^]*?(?=```)/);
const [ticketFor] = docs.match(/async function ticketFor[^]*?\n}\n/);
let browser;
let site;

// The site is http://app.test, and for the example in docs the address it has there.
before(async () => {
  await mkdir(pictures, { recursive: true });
  site = await serveSite({
    '/page.html': example,
    '/open': embedding(address),
    '/guarded': embedding(guarded),
    '/app.js': app,
    '/ticket': giveTicket,
  }, {
    scripts: `'self' 'unsafe-inline' http://127.0.0.1:8080 http://${address} http://${guarded}`,
    connect: `'self' ws://127.0.0.1:8080 ws://${address} ws://${guarded}`,
  });
  const { port } = new URL(site.url);
  browser = await openBrowser(executable, [
    `--host-resolver-rules=MAP app.test 127.0.0.1:${port}, MAP 127.0.0.1:9000 127.0.0.1:${port}, MAP 127.0.0.1:8080 ${address}`,
  ]);
});
after(async () => { await browser?.close(); site?.close(); });

/** A page of another origin than the server, whose modules it imports. */
function embedding(server) {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>x</title><body data-server="http://${server}">
<script type="module" src="http://${server}/assets/rtc-token-usage.js"></script>
<script type="module" src="/app.js"></script><main><h1>Chat</h1><rtc-token-usage></rtc-token-usage></main></html>`;
}

// What the tests use of a page: a client of the open server, a session, and what was told.
const app = `
const server = document.body.dataset.server;
const { Client } = await import(server + '/assets/client.js');
const widget = document.querySelector('rtc-token-usage');
const app = { Client, server, widget, told: [], settings: { context_tokens_limit: 8000 } };
for (const name of ['compaction', 'threshold']) document.addEventListener(name, ({ detail }) => app.told.push({ name, ...detail }));
app.begin = async (options) => {
  app.client = new Client({ url: server, ...options });
  app.session = (await app.client.call('v1.session.create', { settings: app.settings })).session.id;
};
app.say = async (content, subscription = app.client.subscription(app.session) ?? app.client.subscribe(app.session)) => {
  await subscription.ready;
  const done = new Promise((resolve) => {
    const off = subscription.on('entry', ({ type }) => { if (type === 'turn.completed') { off(); resolve(); } });
  });
  await app.client.call('v1.message.send', { session_id: app.session, content });
  await done;
};
globalThis.app = app;
`;

/** The backend: it knows who is signed in and asks the server for a ticket, as docs/widget.md does. */
async function giveTicket(request, response) {
  const { searchParams } = new URL(request.url, site.url);
  const id = searchParams.get('session');
  const code = ticketFor.replace('https://app.example', 'http://app.test').replace("'read'", 'scope')
    .replace('session_ids: [sessionId]', id ? '$&' : '');
  const process = { env: { SESSIOND_URL: `http://${guarded}`, SESSIOND_TOKEN: token } };
  const make = new Function('process', 'id', 'scope', `${code}; return ticketFor(id);`);
  response.end(await make(process, id, searchParams.get('scope')));
}

async function open(path, options) {
  const opened = await openPage(browser, `http://app.test${path}`, options);
  await opened.page.waitForFunction(() => globalThis.app);
  return opened;
}

const state = (page, want) => page.waitForFunction((s) => app.widget.state === s, want);
const ring = (page) => page.getByRole('progressbar', { name: 'Context' });

async function connected(options) {
  const opened = await open('/open', options);
  const frames = [];
  opened.page.on('websocket', (socket) => {
    socket.on('framesent', ({ payload }) => frames.push(payload));
    socket.on('framereceived', ({ payload }) => frames.push(payload));
  });
  await opened.page.evaluate(async () => {
    await app.begin();
    Object.assign(app.widget, { endpoint: app.server, sessionId: app.session });
  });
  await state(opened.page, 'live');
  return { ...opened, frames };
}

/** atRest waits until the widget shows what the server would say now. */
async function atRest(page) {
  const context = await page.evaluate(() => app.client.call('v1.session.context', { session_id: app.session }));
  await page.waitForFunction((want) => {
    const w = app.widget;
    return w.compressionProgress === want.compression_progress && w.compressionThreshold === want.compression_threshold
      && w.estimatedNext === want.estimated_next_round_tokens && w.roundsUntilCompression === want.rounds_until_compression;
  }, context);
  return context;
}

test('it follows a session, and asks for no more than progress', async () => {
  const opened = await connected();
  const { page, frames } = opened;
  await page.evaluate(() => app.say('hello'));
  const before = await atRest(page);
  await page.evaluate(() => app.say('lorem '.repeat(700)));
  const after = await atRest(page);
  assert.ok(after.current_context_tokens > before.current_context_tokens + 500);
  const shown = `${wholePercent(after.compression_progress)}%`;
  assert.equal(await page.locator('.percent').textContent(), shown);
  const used = await page.evaluate(() => ({ total: app.widget.totalTokens, details: app.widget.details, cost: app.widget.totalCostUsd }));
  assert.equal(used.total, used.details.input + used.details.output + used.details.cachedRead + used.details.cachedWrite);
  assert.ok(used.total > 500 && Number.isFinite(used.cost));

  await page.getByRole('button', { name: 'Context details' }).click();
  await page.locator('.legend li', { hasText: 'Messages' }).waitFor();
  const tokens = (await page.locator('.legend .value').allTextContents()).map((text) => Number(text.replaceAll(',', '')));
  assert.equal(tokens.reduce((a, b) => a + b), after.parts.reduce((sum, part) => sum + part.tokens, 0));
  await page.getByText('estimated').or(page.getByText('measured')).first().waitFor();

  const own = frames.map((f) => JSON.parse(f)).filter((m) => m.method === 'v1.session.subscribe' && m.params.events === 'progress');
  assert.equal(own.length, 1);
  await noComplaints(opened);
});

test('its own connection never carries what is said', async () => {
  const opened = await open('/open');
  const { page } = opened;
  await page.evaluate(() => app.begin());
  const frames = [];
  page.once('websocket', (socket) => socket.on('framereceived', ({ payload }) => frames.push(payload)));
  await page.evaluate(() => Object.assign(app.widget, { endpoint: app.server, sessionId: app.session }));
  await state(page, 'live');
  await page.evaluate(() => app.say('write 20 words about Rumpelstiltskin'));
  await atRest(page);
  assert.ok(frames.length > 1);
  assert.ok(frames.every((frame) => !/Rumpelstiltskin|session keeps/.test(frame)));
  await noComplaints(opened);
});

test('the button compacts, and the page is told', async () => {
  const opened = await connected();
  const { page } = opened;
  const compact = page.getByRole('button', { name: 'Compact now' });
  await page.getByRole('button', { name: 'Context details' }).click();
  await compact.click();
  await page.getByText('There was nothing to compact').first().waitFor();

  for (let i = 0; i < 2; i++) await page.evaluate(() => app.say('lorem '.repeat(900)));
  const { current_context_tokens: full } = await atRest(page);
  await compact.click();
  await page.waitForFunction(() => app.told.some((t) => t.name === 'compaction'));
  const after = await atRest(page);
  const [told] = await page.evaluate(() => app.told.filter((t) => t.name === 'compaction'));
  assert.deepEqual([told.kind, told.outcome, told.data.trigger, told.data.summary], ['completed', 'applied', 'manual', undefined]);
  assert.equal(told.tokensAfter, after.current_context_tokens);
  assert.ok(told.tokensAfter < told.tokensBefore && told.tokensAfter < full);
  await page.getByText(/^Compacted: [\d,]+ to [\d,]+ tokens$/).first().waitFor();
  await page.locator('.legend li', { hasText: 'Summary' }).waitFor();
  assert.ok(await page.evaluate(() => app.told.some((t) => t.name === 'threshold')));
  await page.screenshot({ path: `${pictures}/live-compacted.png` });
  await noComplaints(opened);
});

test('a server that restarts', async () => {
  const opened = await connected();
  const { page, complaints } = opened;
  await page.evaluate(() => app.say('lorem '.repeat(300)));
  const before = await atRest(page);
  await page.getByRole('button', { name: 'Context details' }).click();
  console.log('stop the server');
  await state(page, 'waiting');
  await page.getByText('Offline, trying again').waitFor();
  assert.match(await ring(page).getAttribute('aria-valuetext'), /Offline/);
  await page.screenshot({ path: `${pictures}/live-offline.png` });
  console.log('start the server');
  await state(page, 'live');
  assert.equal((await atRest(page)).current_context_tokens, before.current_context_tokens);
  complaints.length = 0; // the browser tells of connections that were refused
  await page.evaluate(() => app.say('lorem '.repeat(100)));
  await atRest(page);
  await noComplaints(opened);
});

test('a page that follows the session itself shares its connection', async () => {
  const opened = await open('/open');
  const { page } = opened;
  const sockets = [];
  page.on('websocket', (socket) => sockets.push(socket));
  await page.evaluate(async () => {
    await app.begin();
    app.widget.connect(app.client, app.client.subscribe(app.session));
  });
  await state(page, 'live');
  await page.evaluate(() => app.say('lorem '.repeat(300)));
  await atRest(page);
  assert.equal(sockets.length, 1);
  await page.evaluate(() => { app.widget.connect(); });
  await state(page, 'none');
  assert.equal(await page.evaluate(() => app.client.state), 'open');
  await noComplaints(opened);
});

test('a session that is not there', async () => {
  const opened = await open('/open');
  await opened.page.evaluate(() => Object.assign(app.widget, { endpoint: app.server, sessionId: '0197f0d0-0000-7000-8000-000000000001' }));
  await state(opened.page, 'closed');
  assert.match(await ring(opened.page).getAttribute('aria-valuetext'), /Disconnected/);
  await noComplaints(opened);
});

/** What the widget says of its numbers, and the page of its state. */
const shown = (page) => page.evaluate(async () => {
  await new Promise(requestAnimationFrame);
  const { widget } = app;
  return {
    text: widget.shadowRoot.querySelector('.ring').getAttribute('aria-valuetext'), kind: widget.shadowRoot.querySelector('.kind').textContent,
    numbers: [widget.estimatedNext, widget.totalTokens, widget.totalCostUsd, widget.compressionThreshold, widget.compressionProgress, widget.roundsUntilCompression],
    details: widget.details ?? null, parts: widget.parts,
  };
});
const nothing = { numbers: [0, 0, 0, 0, 0, -1], details: null, parts: [] };

test('nothing of one session is told of another', async () => {
  const opened = await connected();
  const { page } = opened;
  await page.evaluate(() => app.say('lorem '.repeat(700)));
  await page.evaluate(() => app.say('lorem '.repeat(700)));
  const first = await atRest(page);
  assert.ok(first.compression_progress > 30);
  await page.getByRole('button', { name: 'Context details' }).click();
  await page.locator('.legend li', { hasText: 'Messages' }).waitFor();

  await page.evaluate(() => { app.told.length = 0; app.widget.sessionId = '0197f0d0-0000-7000-8000-000000000001'; });
  await state(page, 'closed');
  assert.deepEqual(await shown(page), { ...nothing, text: '0%, Disconnected', kind: 'Disconnected' });

  await page.evaluate(() => { app.widget.sessionId = app.session; });
  await atRest(page);
  await page.evaluate(async () => {
    app.session = (await app.client.call('v1.session.create', { settings: app.settings })).session.id;
    app.widget.sessionId = app.session;
  });
  await state(page, 'live');
  await page.evaluate(() => app.say('hello'));
  await atRest(page);
  assert.deepEqual(await page.evaluate(() => app.told), [], 'the first numbers of a session are no news');

  await page.evaluate(() => Object.assign(app.widget, { endpoint: undefined, compressionProgress: 12, compressionThreshold: 1000 }));
  assert.deepEqual(await shown(page), { ...nothing, numbers: [0, 0, 0, 1000, 12, -1], text: '12%, 120 of 1,000 tokens', kind: '' });
  await page.evaluate(() => Object.assign(app.widget, { endpoint: app.server }));
  await atRest(page);
  await noComplaints(opened);
});

test('moving it about keeps the connection, taking it away ends it', async () => {
  const opened = await connected();
  const { page } = opened;
  const sockets = [];
  page.on('websocket', (socket) => sockets.push(socket));
  await page.evaluate(() => document.body.append(app.widget));
  assert.equal(await page.evaluate(() => app.widget.state), 'live');
  await page.evaluate(() => app.widget.remove());
  await page.evaluate(() => document.body.append(app.widget));
  await state(page, 'live');
  assert.equal(sockets.length, 1);
  await noComplaints(opened);
});

/** A session of the guarded server, made by a page that was given a ticket for it all. */
async function admitted() {
  const opened = await open('/guarded');
  await opened.page.evaluate(() => app.begin({ ticket: async () => (await fetch('/ticket?scope=full', { method: 'POST' })).text() }));
  return opened;
}

test('tickets that may only read', async () => {
  const opened = await admitted();
  const { page } = opened;
  await page.evaluate(() => {
    app.widget.ticket = async () => (await fetch(`/ticket?scope=read&session=${app.session}`, { method: 'POST' })).text();
    Object.assign(app.widget, { endpoint: app.server, sessionId: app.session });
  });
  await state(page, 'live');
  await page.evaluate(() => app.say('lorem '.repeat(300)));
  await atRest(page);
  await page.getByRole('button', { name: 'Context details' }).click();
  await page.locator('.legend li', { hasText: 'Messages' }).waitFor();
  await page.mouse.move(1, 1);
  await page.keyboard.press('Escape');
  await page.locator('.panel').waitFor({ state: 'hidden' });
  await page.getByRole('button', { name: 'Context details' }).focus();
  await page.keyboard.press('Enter');
  await page.locator('.panel').waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  const note = page.locator('.note', { hasText: 'You may not compact this session' });
  await note.waitFor();
  assert.equal(await page.getByRole('button', { name: 'Compact now' }).count(), 0);
  assert.ok(await page.getByRole('button', { name: 'Context details' }).evaluate((e) => e.matches(':focus-visible')), 'the focus is where it can go on');
  await page.waitForTimeout(400); // in which the panel would close
  assert.ok(await note.isVisible());
  await page.screenshot({ path: `${pictures}/live-forbidden.png` });
  await noComplaints(opened);
});

test('a ticket as an attribute serves once', async () => {
  const opened = await admitted();
  const { page } = opened;
  await page.evaluate(async () => {
    const ticket = await (await fetch(`/ticket?scope=read&session=${app.session}`, { method: 'POST' })).text();
    const { widget } = app;
    widget.setAttribute('ticket', ticket);
    widget.setAttribute('endpoint', app.server);
    widget.setAttribute('session-id', app.session);
  });
  await state(page, 'live');
  await page.evaluate(() => app.widget.remove());
  await page.evaluate(() => document.body.append(app.widget));
  await state(page, 'closed');
  await page.evaluate(async () => {
    app.widget.setAttribute('ticket', await (await fetch(`/ticket?scope=read&session=${app.session}`, { method: 'POST' })).text());
  });
  await state(page, 'live');
  await noComplaints(opened);
});

test('the page in docs/widget.md works as copied', async () => {
  assert.ok(example.trim().split('\n').length <= 20, 'it is told to have 20 lines');
  const opened = await openPage(browser, 'http://127.0.0.1:9000/page.html');
  const { page } = opened;
  await page.waitForFunction(() => document.querySelector('rtc-token-usage').state === 'live');
  const before = await page.evaluate(() => document.querySelector('rtc-token-usage').compressionProgress);
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('p', { hasText: 'The session keeps' }).first().waitFor();
  await page.waitForFunction((b) => document.querySelector('rtc-token-usage').compressionProgress > b + 5, before);
  await page.locator('rtc-token-usage').hover();
  await page.locator('.legend li', { hasText: 'Messages' }).waitFor();
  await page.screenshot({ path: `${pictures}/live-example.png` });
  await noComplaints(opened);
});
