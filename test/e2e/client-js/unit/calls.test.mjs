import assert from 'node:assert/strict';
import { afterEach, beforeEach, mock, test } from 'node:test';
import { Client, ConnectionError, RpcError } from '../../../../web/client/client.js';
import { FakeServer, pass, settle, useFakeTime } from './fake_server.mjs';

useFakeTime({ beforeEach, afterEach });

function world(options) {
  const server = new FakeServer();
  return { server, client: new Client({ url: 'http://h/', socket: server.socket, ...options }) };
}

test('a call waits for the connection, and gets its answer', async () => {
  const { server, client } = world();
  const info = client.call('v1.server.info');
  assert.equal(client.state, 'connecting');
  const socket = await server.accept();
  assert.deepEqual(socket.sent, [{ jsonrpc: '2.0', id: 1, method: 'v1.server.info', params: {} }]);
  socket.answer('v1.server.info', { name: 'sessiond' });
  assert.deepEqual(await info, { name: 'sessiond' });
});

test('an error reply rejects with its kind and data', async () => {
  const { server, client } = world();
  const call = client.call('v1.session.update', { session_id: 's', if_version: 3 });
  (await server.accept()).fail('v1.session.update', 'version_conflict', { version: 4 });
  await assert.rejects(call, (e) => e instanceof RpcError && e.kind === 'version_conflict' && e.data.version === 4
    && !e.retryable && e.retryAfterMs === 0 && e.method === 'v1.session.update');
});

test('calls that write get a key, others and those with their own do not', async () => {
  const { server, client } = world();
  client.call('v1.message.send', { session_id: 's', content: 'x' });
  client.call('v1.message.send', { session_id: 's', content: 'x' });
  client.call('v1.message.send', { session_id: 's', content: 'x', key: 'mine' });
  client.call('v1.session.get', { session_id: 's' });
  const keys = (await server.accept()).sent.map((m) => m.params.key);
  assert.match(keys[0], /^[0-9a-f]{32}$/);
  assert.match(keys[1], /^[0-9a-f]{32}$/);
  assert.notEqual(keys[0], keys[1]);
  assert.deepEqual(keys.slice(2), ['mine', undefined]);
});

test('what was not answered is sent again on the next connection, unchanged and in order', async () => {
  const { server, client } = world();
  const calls = ['a', 'b', 'c'].map((content) => client.call('v1.message.send', { session_id: 's', content }));
  const first = await server.accept();
  first.answer('v1.message.send', { seq: 1 });
  first.end(1006);
  const late = client.call('v1.session.get', { session_id: 's' });
  await pass(1000);
  const second = await server.accept();
  assert.deepEqual(second.sent.slice(0, 2), first.sent.slice(1).map(({ answered, ...m }) => m));
  assert.deepEqual(second.methods(), ['v1.message.send', 'v1.message.send', 'v1.session.get']);
  second.answer('v1.session.get', {}).answer('v1.message.send', { seq: 2 }).answer('v1.message.send', { seq: 3 });
  assert.deepEqual(await Promise.all([...calls, late]), [{ seq: 1 }, { seq: 2 }, { seq: 3 }, {}]);
});

test('calls beyond the window wait for room', async () => {
  const { server, client } = world({ maxInFlight: 2 });
  for (let i = 0; i < 4; i++) client.call('v1.session.get', { session_id: `${i}` });
  const socket = await server.accept();
  assert.deepEqual(socket.sent.map((m) => m.params.session_id), ['0', '1']);
  socket.answer('v1.session.get', {});
  assert.deepEqual(socket.sent.map((m) => m.params.session_id), ['0', '1', '2']);
});

test('the server is given time if it has no room', async () => {
  const { server, client } = world();
  const call = client.call('v1.session.get', { session_id: 's' });
  const socket = await server.accept();
  socket.fail('v1.session.get', 'rate_limited', { retryable: true, retry_after_ms: 2000 });
  await pass(1999);
  assert.equal(socket.sent.length, 1);
  await pass(1001);
  assert.equal(socket.sent.length, 2);
  assert.equal(socket.sent[1].id, socket.sent[0].id);
  socket.answer('v1.session.get', { session: {} });
  assert.deepEqual(await call, { session: {} });
});

test('but not for ever', async () => {
  const { server, client } = world();
  const call = client.call('v1.session.get', { session_id: 's' });
  const refused = assert.rejects(call, (e) => e.kind === 'overloaded');
  const socket = await server.accept();
  for (let i = 0; i < 9; i++) {
    socket.fail('v1.session.get', 'overloaded', { retryable: true });
    await pass(10_000);
  }
  await refused;
  assert.equal(socket.sent.length, 9);
});

test('what passes only with the session is for the caller', async () => {
  const { server, client } = world();
  const call = client.call('v1.session.compact', { session_id: 's' });
  (await server.accept()).fail('v1.session.compact', 'busy', { retryable: true });
  await assert.rejects(call, (e) => e.kind === 'busy' && e.retryable);
});

test('what a server that stops refuses goes to the next one', async () => {
  const { server, client } = world();
  const call = client.call('v1.turn.stop', { session_id: 's' });
  const first = await server.accept();
  first.fail('v1.turn.stop', 'shutting_down', { retryable: true }).end(1012);
  await pass(1000);
  const second = await server.accept();
  assert.equal(second.sent[0].params.key, first.sent[0].params.key);
  second.answer('v1.turn.stop', { stopped: true });
  assert.deepEqual(await call, { stopped: true });
});

test('a call that is given up is cancelled, whether it was sent or not', async () => {
  const { server, client } = world();
  const [sent, waiting] = [new AbortController(), new AbortController()];
  const one = client.call('v1.session.compact', { session_id: 's' }, { signal: sent.signal });
  const socket = await server.accept();
  sent.abort(new Error('enough'));
  await assert.rejects(one, /enough/);
  assert.deepEqual(socket.sent[1], { jsonrpc: '2.0', method: '$/cancelRequest', params: { id: 1 } });
  socket.say({ id: 1, error: { code: -32800, message: 'cancelled' } }); // to nobody

  socket.end(1006);
  const two = client.call('v1.session.get', { session_id: 's' }, { signal: waiting.signal });
  waiting.abort();
  await assert.rejects(two, { name: 'AbortError' });
  await assert.rejects(client.call('v1.server.info', {}, { signal: AbortSignal.abort(new Error('before')) }), /before/);
  await pass(1000);
  assert.deepEqual((await server.accept()).sent, []);
});

test('a message that is too large is refused here', async () => {
  const { server, client } = world({ maxFrameBytes: 2000 });
  await Promise.all([server.accept(), client.connect()]);
  const large = client.call('v1.message.send', { session_id: 's', content: 'é'.repeat(1000) });
  await assert.rejects(large, (e) => e.kind === 'content_too_large' && e.data.bytes > 2000 && e.data.max_bytes === 2000);
  assert.deepEqual(server.last.sent, []);
});

test('if the server reads less than that, the largest message is the one', async () => {
  const { server, client } = world();
  const small = client.call('v1.message.send', { session_id: 's', content: 'x' });
  const large = client.call('v1.message.send', { session_id: 's', content: 'x'.repeat(5000) });
  const refused = assert.rejects(large, (e) => e.kind === 'content_too_large');
  (await server.accept()).end(1009);
  await refused;
  await pass(1000);
  const second = await server.accept();
  assert.deepEqual(second.sent.map((m) => m.params.content), ['x']);
  second.answer('v1.message.send', {});
  await small;
});

test('a closed client answers nobody', async () => {
  const { server, client } = world();
  const call = client.call('v1.server.info');
  const socket = await server.accept();
  client.close();
  assert.equal(socket.closed, 1000);
  await assert.rejects(call, ConnectionError);
  await assert.rejects(client.call('v1.server.info'), ConnectionError);
  assert.throws(() => client.subscribe('s'), ConnectionError);
  assert.equal(server.sockets.length, 1);
  const again = client.connect();
  await server.accept();
  await again;
  assert.equal(server.sockets.length, 2);
});

test('a listener may close the client as soon as it is open', async () => {
  const { server, client } = world();
  const call = assert.rejects(client.call('v1.server.info'), ConnectionError);
  client.on('state', ({ state }) => { if (state === 'open') client.close(); });
  const socket = await server.accept();
  await call;
  assert.deepEqual([socket.sent, socket.closed, client.state], [[], 1000, 'closed']);
  const again = client.connect().catch(() => {});
  await server.accept();
  await again;
});

test('an error that names no call is told', async () => {
  const { server, client } = world();
  const errors = [];
  client.on('error', (e) => errors.push(e));
  client.connect();
  (await server.accept()).say({ id: null, error: { code: -32600, message: 'nested deeper than 64' } });
  assert.match(errors[0].message, /nested/);
});

test('subscriptions are not made by call', () => {
  const { client } = world();
  assert.throws(() => client.call('v1.session.subscribe', { session_id: 's' }), TypeError);
  assert.throws(() => client.call('v1.session.unsubscribe', { session_id: 's' }), TypeError);
  assert.equal(client.state, 'idle');
});

test('a listener that throws keeps nobody from anything', async () => {
  const { server, client } = world();
  const thrown = mock.method(globalThis, 'queueMicrotask', () => {});
  client.on('state', () => { throw new Error('mine'); });
  const seen = [];
  client.on('state', ({ state }) => seen.push(state));
  client.connect();
  await server.accept();
  await settle();
  thrown.mock.restore();
  assert.deepEqual(seen, ['connecting', 'open']);
  for (const { arguments: [fails] } of thrown.mock.calls) assert.throws(fails, /mine/);
  assert.equal(thrown.mock.callCount(), 2);
});

test('params may be null, like those that are left out; what else is no object is told', async () => {
  const server = new FakeServer();
  const client = new Client({ url: 'http://h/', socket: server.socket });
  client.call('v1.server.info', null, null).catch(() => {});
  client.call('v1.session.create', null).catch(() => {});
  for (const params of ['text', 7, []]) assert.throws(() => client.call('v1.session.get', params), /v1\.session\.get: the params are no object/);
  const socket = await server.accept();
  assert.deepEqual(socket.request('v1.server.info').params, {});
  assert.deepEqual(Object.keys(socket.request('v1.session.create').params), ['key']);
});

test('what can not be written as JSON fails alone', async () => {
  const server = new FakeServer();
  const client = new Client({ url: 'http://h/', socket: server.socket });
  const cyclic = {};
  cyclic.self = cyclic;
  const bad = assert.rejects(client.call('v1.message.send', { session_id: 's', content: cyclic }), /v1\.message\.send: the params can't be written/);
  const good = client.call('v1.server.info');
  (await server.accept()).answer('v1.server.info', { name: 'x' });
  await bad;
  assert.deepEqual(await good, { name: 'x' });
});
