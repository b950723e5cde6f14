import assert from 'node:assert/strict';
import { afterEach, beforeEach, mock, test } from 'node:test';
import { Client } from '../../../../web/client/client.js';
import { socketAddress } from '../../../../web/client/lib/address.js';
import { mayReconnect } from '../../../../web/client/lib/close_codes.js';
import { event, FakeServer, page, pass, settle, useFakeTime } from './fake_server.mjs';

useFakeTime({ beforeEach, afterEach });
afterEach(() => mock.restoreAll());

function world(options) {
  const server = new FakeServer();
  const client = new Client({ url: 'http://h/', socket: server.socket, ...options });
  const states = [];
  client.on('state', (change) => states.push(change));
  return { server, client, states, last: () => states.at(-1) };
}

test('addresses', () => {
  for (const [url, want] of [
    ['http://h:8080', 'ws://h:8080/v1/rpc'], ['https://h/', 'wss://h/v1/rpc'], ['https://h/base/v1/rpc', 'wss://h/base/v1/rpc'],
    ['ws://h/x?y=1#z', 'ws://h/x?y=1'],
  ]) assert.equal(socketAddress(url), want);
  assert.throws(() => new Client({ url: 'ftp://h/' }), TypeError);
  assert.throws(() => new Client(), TypeError); // no page here
});

test('close codes', () => {
  for (const code of [1000, 1001, 1005, 1006, 1009, 1011, 1012, 4000, 4008, 4009, 4010, 4499]) assert.ok(mayReconnect(code), `${code}`);
  for (const code of [1002, 1003, 1007, 1008, 1010, 4500, 4501, 4999]) assert.ok(!mayReconnect(code), `${code}`);
});

test('every connection has its own ticket', async () => {
  let n = 0;
  const { server, client } = world({ ticket: async () => `T${++n}` });
  client.connect();
  (await server.accept()).end(4010);
  await pass(1000);
  await server.accept();
  assert.deepEqual(server.sockets.map((s) => s.protocols), [['sessiond.v1', 'ticket.T1'], ['sessiond.v1', 'ticket.T2']]);
});

test('a connection whose credentials run out is replaced at once, calls and all', async () => {
  let n = 0;
  const { server, client } = world({ ticket: () => `T${++n}` });
  const call = client.call('v1.server.info');
  const first = await server.accept();
  first.notify('v1.server.notice', { kind: 'auth_expiring' });
  assert.equal(first.closed, 1000);
  const second = await server.accept();
  assert.deepEqual(second.protocols, ['sessiond.v1', 'ticket.T2']);
  second.answer('v1.server.info', { name: 'x' });
  assert.deepEqual(await call, { name: 'x' });
});

test('without a ticket there is no connection, but another try', async () => {
  let fails = true;
  const { server, client, last } = world({ ticket: async () => { if (fails) throw new Error('the backend is away'); return 'T'; } });
  const connected = client.connect();
  await settle();
  assert.equal(last().state, 'waiting');
  assert.match(last().error.message, /backend is away/);
  assert.equal(server.sockets.length, 0);
  fails = false;
  await pass(1000);
  await server.accept();
  await connected;
});

test('whoever gives tickets may say that there will be none', async () => {
  const { client } = world({ ticket: () => { throw Object.assign(new Error('signed out'), { retry: false }); } });
  await assert.rejects(client.connect(), /signed out/);
  assert.equal(client.state, 'closed');
});

test('delays double up to a limit, each cut at random', async () => {
  for (const [random, factor] of [[0, 0.5], [0.5, 0.75], [0.999999, 1]]) {
    mock.method(Math, 'random', () => random);
    const { server, client, last } = world({ backoff: { minMs: 100, maxMs: 1000 } });
    client.connect().catch(() => {});
    for (const ceiling of [100, 200, 400, 800, 1000, 1000]) {
      await settle();
      server.last.refuse('Unexpected server response: 503');
      await settle();
      assert.equal(last().retryInMs, Math.round(ceiling * factor));
      assert.match(last().error.message, /503/);
      await pass(last().retryInMs - 1);
      assert.equal(client.state, 'waiting');
      await pass(1);
      assert.equal(client.state, 'connecting');
    }
    client.close();
  }
});

test('only a connection that held makes the next delay short', async () => {
  mock.method(Math, 'random', () => 0);
  const { server, client, last } = world({ backoff: { minMs: 100, maxMs: 10_000 } });
  client.connect();
  const delays = [];
  for (const heldMs of [9000, 9000, 11_000, 0]) {
    await server.accept();
    await pass(heldMs);
    server.last.end(4008);
    delays.push(last().retryInMs);
    await pass(last().retryInMs);
  }
  assert.deepEqual(delays, [50, 100, 50, 100]);
});

test('a server that restarts says when to come back', async () => {
  mock.method(Math, 'random', () => 0);
  const { server, client, last } = world();
  client.connect();
  (await server.accept()).notify('v1.server.notice', { kind: 'shutting_down', retry_after_ms: 3000 }).end(1012, 'restart');
  assert.deepEqual([last().state, last().code, last().retryInMs], ['waiting', 1012, 3250]);
  await pass(3250);
  (await server.accept()).end(1006);
  assert.equal(last().retryInMs, 500, 'asked for once only');
});

test('some codes are final', async () => {
  const { server, client, last } = world();
  const call = client.call('v1.server.info');
  const subscription = client.subscribe('s');
  const ends = [];
  subscription.on('end', ({ error }) => ends.push(error.code));
  const refused = assert.rejects(call, (e) => e.name === 'ConnectionError' && e.code === 4500 && /revoked/.test(e.message));
  const neverReady = assert.rejects(subscription.ready, (e) => e.code === 4500);
  (await server.accept()).end(4500, 'revoked');
  await refused;
  await neverReady;
  assert.deepEqual([last().state, last().code, ends], ['closed', 4500, [4500]]);
  await pass(100_000);
  assert.equal(server.sockets.length, 1);
});

test('a server that does not accept in time is tried again', async () => {
  const { server, client, last } = world({ connectTimeoutMs: 2000 });
  client.connect();
  await pass(1999);
  assert.equal(client.state, 'connecting');
  await pass(1);
  assert.equal(last().state, 'waiting');
  assert.equal(server.sockets[0].closed, 1000);
  server.sockets[0].accept().end(1006); // too late to matter
  assert.equal(last().state, 'waiting');
  await pass(1000);
  await server.accept();
  assert.equal(client.state, 'open');
});

test('a ticket takes as long as it takes; what follows has its time to itself', async () => {
  let give;
  const { server, client, last } = world({ connectTimeoutMs: 2000, ticket: () => new Promise((resolve) => { give = resolve; }) });
  client.connect();
  await pass(60_000);
  assert.equal(client.state, 'connecting', 'a person may be asked');
  give('T');
  await pass(1999);
  assert.deepEqual([client.state, server.last.protocols], ['connecting', ['sessiond.v1', 'ticket.T']]);
  await pass(1);
  assert.equal(last().state, 'waiting');
});

test('a silent connection is asked, and dropped if it stays silent', async () => {
  const { server, client, last } = world({ heartbeat: { idleMs: 30_000, answerMs: 10_000 } });
  client.connect();
  const socket = await server.accept();
  await pass(29_000);
  socket.notify('v1.session.progress', { session_id: 'other' });
  await pass(1000); // something came meanwhile
  await pass(29_000);
  assert.deepEqual(socket.methods(), []);
  await pass(1000);
  assert.deepEqual(socket.methods(), ['v1.server.info']);
  await pass(9000);
  socket.answer('v1.server.info', {});
  await pass(30_000);
  assert.deepEqual(socket.methods(), ['v1.server.info', 'v1.server.info']);
  await pass(10_000);
  assert.equal(last().state, 'waiting');
  assert.match(last().error.message, /does not answer/);
  socket.end(1006); // says the browser, minutes later
  assert.equal(last().state, 'waiting');
});

test('what is no message ends the connection', async () => {
  const { server, client, last } = world();
  client.connect();
  (await server.accept()).raw('<html>');
  assert.deepEqual([last().state, last().code], ['waiting', 1006]);
});

/** inPage runs a test where there is a page, and wants it to leave no listener behind. */
async function inPage(run) {
  let listeners = 0;
  class Counted extends EventTarget {
    visibilityState = 'visible';
    addEventListener(...listener) { listeners++; super.addEventListener(...listener); }
    removeEventListener(...listener) { listeners--; super.removeEventListener(...listener); }
  }
  const page = { window: new Counted(), document: new Counted() };
  Object.assign(globalThis, page);
  try {
    await run({ online: () => page.window.dispatchEvent(new Event('online')), seen: () => page.document.dispatchEvent(new Event('visibilitychange')) });
    assert.equal(listeners, 0);
  } finally {
    delete globalThis.window;
    delete globalThis.document;
  }
}

test('a page that comes back does not wait', () => inPage(async ({ online, seen }) => {
  const { server, client } = world();
  client.connect().catch(() => {});
  await settle();
  server.last.refuse();
  await settle();
  assert.equal(client.state, 'waiting');
  online();
  const socket = await server.accept();
  seen();
  online();
  assert.deepEqual(socket.methods(), ['v1.server.info'], 'asked once whether it is alive');
  client.close();
}));

test('a try that was made before the network came back is made again', () => inPage(async ({ online, seen }) => {
  const { server, client } = world();
  client.connect();
  await settle();
  seen();
  await settle();
  assert.equal(server.sockets.length, 1, 'a page that is seen again says nothing about the network');
  online();
  await settle();
  assert.deepEqual(server.sockets.map((s) => s.closed), [1000, undefined]);
  server.last.accept();
  assert.equal(client.state, 'open');
  server.sockets[0].accept().end(1006);
  assert.equal(client.state, 'open', 'nobody listens to the first one any more');
  client.close();
}));

test('a network that comes back does not ask a person twice', () => inPage(async ({ online }) => {
  let asked = 0;
  const { client } = world({ ticket: () => { asked++; return new Promise(() => {}); } });
  client.connect().catch(() => {});
  await settle();
  online();
  await settle();
  assert.equal(asked, 1);
  client.close();
}));

test('closing while connecting ends it', async () => {
  const { server, client } = world();
  const connected = assert.rejects(client.connect(), /closed/);
  await settle();
  client.close();
  await connected;
  server.last.accept();
  assert.equal(client.state, 'closed');
  assert.equal(server.last.closed, 1000);
  await pass(100_000);
  assert.equal(server.sockets.length, 1);
});

// What a listener can close the client in, and how it comes to be called.
const moments = {
  connecting: ({ client, end }) => client.on('state', ({ state }) => { if (state === 'connecting') end(); }),
  'connecting again': ({ client, end }) => client.on('state', ({ state, attempt }) => { if (state === 'connecting' && attempt > 0) end(); }),
  open: ({ client, end }) => client.on('state', ({ state }) => { if (state === 'open') end(); }),
  waiting: ({ client, end }) => client.on('state', ({ state }) => { if (state === 'waiting') end(); }),
  'a subscription that stops': ({ client, end }) => client.subscribe('s').on('live', (live) => { if (!live) end(); }),
  'the end of a subscription': ({ client, end }) => client.subscribe('s').on('end', end),
  'a notice that credentials run out': ({ client, end }) => client.on('notification', end),
};

for (const [moment, listen] of Object.entries(moments)) {
  test(`closing in a listener ends it: ${moment}`, async () => {
    const { server, client, states } = world();
    listen({ client, end: () => client.close() });
    client.connect().catch(() => {});
    await settle();
    const socket = server.last?.accept();
    if (client.subscription('s')) socket.answer('v1.session.subscribe', page([]));
    if (moment === 'a notice that credentials run out') socket.notify('v1.server.notice', { kind: 'auth_expiring' });
    else if (moment === 'the end of a subscription') socket.notify(...event({ seq: 1, type: 'session.deleted', data: {} }));
    else socket?.end(1006);
    await pass(100_000);
    const count = server.sockets.length;
    assert.equal(states.at(-1).state, 'closed');
    assert.equal(states.filter(({ state }) => state === 'closed').length, 1);
    server.last?.accept();
    await pass(100_000);
    assert.deepEqual([client.state, server.sockets.length], ['closed', count]);
    await assert.rejects(client.call('v1.server.info'), /closed/);
  });
}

test('a subscription that stops when credentials run out may close it', async () => {
  const { server, client } = world();
  client.subscribe('s').on('live', (live) => { if (!live) client.close(); });
  (await server.accept()).answer('v1.session.subscribe', page([])).notify('v1.server.notice', { kind: 'auth_expiring' });
  await pass(100_000);
  assert.deepEqual([client.state, server.sockets.length], ['closed', 1]);
});

test('who connects again in the listener of the end loses nothing new', async () => {
  const { server, client } = world();
  const old = client.call('v1.server.info');
  const first = client.subscribe('s');
  let call;
  client.on('state', ({ state }) => {
    if (state !== 'closed' || call) return;
    client.connect();
    call = client.call('v1.server.info');
    client.subscribe('s');
  });
  await server.accept();
  client.close();
  await assert.rejects(old, /closed/);
  assert.ok(first.ended);
  const socket = await server.accept();
  socket.answer('v1.server.info', { name: 'x' }).answer('v1.session.subscribe', page([]));
  assert.deepEqual(await call, { name: 'x' });
  assert.equal((await client.subscription('s').ready).id, 's');
});
