import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { Client } from '../../../../web/client/client.js';
import { toContent } from '../../../../web/client/lib/tool_content.js';
import { event, FakeServer, page, pass, settle, useFakeTime } from './fake_server.mjs';

useFakeTime({ beforeEach, afterEach });

const SUBSCRIBE = 'v1.session.subscribe';
const CLAIM = 'v1.tool.claim';
const SUBMIT = 'v1.tool.submit_result';
const schema = { type: 'object', description: 'Looks.', properties: { at: { type: 'string' } } };

async function world({ tool = () => 'seen', pending = [], subscribe = {} } = {}) {
  const server = new FakeServer();
  const client = new Client({ url: 'http://h/', socket: server.socket });
  const ran = [];
  client.tool('look', schema, (input, context) => { ran.push({ input, context }); return tool(input, context); });
  const errors = [];
  client.on('error', (e) => errors.push(e));
  const subscription = client.subscribe('s', { afterSeq: 0, ...subscribe });
  const socket = await server.accept();
  socket.answer(SUBSCRIBE, page([], { pending_tool_calls: pending }));
  return { server, client, subscription, socket, ran, errors };
}

const call = (id, more) => ({ tool_use_id: id, name: 'look', input: { at: 'sea' }, deadline: '2026-01-01T00:00:09Z', ...more });
const called = (seq, id, more) => event({ seq, type: 'tool.called', turn_id: 't', data: call(id, more) });
const claimed = (socket) => socket.answer(CLAIM, { claim_token: 'token', lease_until: '2026-01-01T00:00:00Z' });

/** A tool that ends when the test says. */
function patient() {
  const calls = [];
  return { calls, tool: (_, { signal }) => new Promise((resolve, reject) => { calls.push({ resolve, reject, signal }); }) };
}

test('a call is claimed, run and answered', async () => {
  const { socket, ran } = await world({ tool: ({ at }) => `${at}: blue` });
  socket.notify(...called(1, 'c1'));
  await settle();
  const { key, ...claim } = socket.request(CLAIM).params;
  assert.deepEqual(claim, { session_id: 's', tool_use_id: 'c1', lease_ms: 20_000 });
  assert.equal(ran.length, 0, 'not before it is ours');
  socket.say({ id: socket.sent.at(-1).id, result: { claim_token: 'token', lease_until: 'x' } });
  await settle();
  const { key: _, ...result } = socket.request(SUBMIT).params;
  assert.deepEqual(result, { session_id: 's', tool_use_id: 'c1', claim_token: 'token', content: 'sea: blue' });
  assert.deepEqual(ran[0].input, { at: 'sea' });
  const { signal, ...context } = ran[0].context;
  assert.deepEqual(context, { sessionId: 's', turnId: 't', toolUseId: 'c1', name: 'look', deadline: new Date('2026-01-01T00:00:09Z') });
  assert.ok(!signal.aborted);
});

test('what was called before and is pending still, is run; the past is not', async () => {
  const server = new FakeServer();
  const client = new Client({ url: 'http://h/', socket: server.socket });
  client.tool('look', schema, () => '');
  client.subscribe('s', { afterSeq: 0 });
  const socket = await server.accept();
  const entry = (seq, id) => ({ seq, type: 'tool.called', turn_id: 't', data: call(id) });
  socket.answer(SUBSCRIBE, page([entry(1, 'old'), entry(2, 'new')], { pending_tool_calls: [call('new', { turn_id: 't', status: 'pending' })] }));
  await settle();
  assert.deepEqual(socket.sent.slice(1).map((m) => m.params.tool_use_id), ['new']);
});

test('other tools, and sessions that do without, are left alone', async () => {
  const one = await world();
  one.socket.notify(...called(1, 'c1', { name: 'other' }));
  const two = await world({ subscribe: { tools: false } });
  two.socket.notify(...called(1, 'c1'));
  await settle();
  assert.deepEqual([...one.socket.methods(), ...two.socket.methods()], [SUBSCRIBE, SUBSCRIBE]);
});

test('what a tool throws is told to the model', async () => {
  for (const [thrown, content] of [[new Error('no such place'), 'no such place'], ['words', 'words'], [new Error(''), 'the tool failed']]) {
    const { socket } = await world({ tool: () => { throw thrown; } });
    socket.notify(...called(1, 'c1'));
    await settle();
    claimed(socket);
    await settle();
    const { params } = socket.request(SUBMIT);
    assert.deepEqual([params.content, params.is_error], [content, true]);
  }
});

test('results', () => {
  const image = { type: 'image', mime_type: 'image/png', data: 'AA==' };
  for (const [value, want] of [
    ['text', 'text'], [[image, { type: 'text', text: 'x' }], [image, { type: 'text', text: 'x' }]], [undefined, ''], [null, 'null'],
    [{ a: 1 }, '{"a":1}'], [[], '[]'], [[1, 2], '[1,2]'], [7, '7'], [[{ type: 'thinking' }], '[{"type":"thinking"}]'],
  ]) assert.deepEqual(toContent(value), want);
});

test('the claim is kept while the tool runs', async () => {
  const { calls, tool } = patient();
  const { socket } = await world({ tool });
  socket.notify(...called(1, 'c1'));
  await settle();
  claimed(socket);
  await pass(12_000);
  assert.equal(socket.request(CLAIM).params.claim_token, 'token');
  await pass(12_000); // no answer yet: not asked again
  assert.equal(socket.methods().filter((m) => m === CLAIM).length, 2);
  calls[0].resolve('late');
  await settle();
  assert.equal(socket.request(SUBMIT).params.content, 'late');
  socket.say({ id: socket.sent.at(-1).id, result: { accepted: true } });
  await pass(60_000);
  assert.equal(socket.methods().filter((m) => m === CLAIM).length, 2);
});

test('a claim that went to another client ends the run', async () => {
  const { calls, tool } = patient();
  const { socket, errors } = await world({ tool });
  socket.notify(...called(1, 'c1'));
  await settle();
  claimed(socket);
  await pass(12_000);
  socket.fail(CLAIM, 'tool_call_claimed', { retryable: true });
  await settle();
  assert.ok(calls[0].signal.aborted);
  calls[0].resolve('nobody wants it');
  await settle();
  assert.ok(!socket.methods().includes(SUBMIT));
  assert.deepEqual(errors, []);
});

test('another client\'s claim is waited for', async () => {
  const { socket, ran } = await world();
  socket.notify(...called(1, 'c1'));
  await settle();
  socket.fail(CLAIM, 'tool_call_claimed', { retryable: true, lease_until: new Date(Date.now() + 5000).toISOString() });
  await pass(3000);
  assert.equal(socket.methods().filter((m) => m === CLAIM).length, 1);
  await pass(3000);
  claimed(socket);
  await settle();
  assert.equal(ran.length, 1);
});

test('and not any longer once it is resolved', async () => {
  const { socket, ran } = await world();
  socket.notify(...called(1, 'c1'));
  await settle();
  socket.fail(CLAIM, 'tool_call_claimed', { retryable: true, lease_until: new Date(Date.now() + 5000).toISOString() });
  await settle();
  socket.notify(...event({ seq: 2, type: 'tool.resolved', data: { tool_use_id: 'c1' } }));
  await pass(60_000);
  assert.equal(socket.methods().filter((m) => m === CLAIM).length, 1);
  assert.equal(ran.length, 0);
});

test('a call that is stopped aborts the tool', async () => {
  const { calls, tool } = patient();
  const { socket, errors } = await world({ tool });
  socket.notify(...called(1, 'c1'));
  await settle();
  claimed(socket);
  await settle();
  socket.notify(...event({ seq: 2, type: 'tool.resolved', data: { tool_use_id: 'c1', by: 'stop' } }));
  assert.ok(calls[0].signal.aborted);
  calls[0].reject(new Error('aborted'));
  await settle();
  assert.ok(!socket.methods().includes(SUBMIT));
  assert.deepEqual(errors, []);
});

test('a tool that does not care is left to itself', async () => {
  const { socket, subscription } = await world({ tool: () => new Promise(() => {}) });
  socket.notify(...called(1, 'c1'));
  await settle();
  claimed(socket);
  await settle();
  subscription.close();
  await pass(60_000);
  assert.equal(socket.methods().filter((m) => m === CLAIM).length, 1, 'its claim is not kept');
});

test('a lost connection does not disturb a tool that runs', async () => {
  const { calls, tool } = patient();
  const { server, socket, ran } = await world({ tool });
  socket.notify(...called(1, 'c1'));
  await settle();
  claimed(socket);
  await settle();
  socket.end(1006);
  calls[0].resolve('done meanwhile');
  await pass(1000);
  const second = await server.accept();
  second.answer(SUBSCRIBE, page([], { head: 1, pending_tool_calls: [call('c1', { turn_id: 't', status: 'claimed' })] }));
  await settle();
  assert.equal(second.request(SUBMIT).params.content, 'done meanwhile');
  assert.equal(ran.length, 1);
});

test('what is not pending any more after a lost connection is over', async () => {
  const { calls, tool } = patient();
  const { server, socket } = await world({ tool });
  socket.notify(...called(1, 'c1'));
  await settle();
  claimed(socket);
  await settle();
  socket.end(1006);
  await pass(1000);
  (await server.accept()).answer(SUBSCRIBE, page([], { head: 1 }));
  assert.ok(calls[0].signal.aborted);
});

test('a result that the server does not take is told to the model as that', async () => {
  const { socket, errors } = await world();
  socket.notify(...called(1, 'c1'));
  await settle();
  claimed(socket);
  await settle();
  socket.fail(SUBMIT, 'unsupported_media', { reason: 'is no picture' });
  await settle();
  const { params, id } = socket.request(SUBMIT);
  assert.match(params.content, /is no picture/);
  assert.equal(params.is_error, true);
  socket.say({ id, error: { code: -32603, message: 'internal error', data: { incident: 'x' } } });
  await settle();
  assert.equal(errors.length, 1);
});

test('a result that the server has no time for is handed in again', async () => {
  const { socket, errors } = await world();
  socket.notify(...called(1, 'c1'));
  await settle();
  claimed(socket);
  await settle();
  for (let n = 0; n < 12; n++) {
    const { id, params } = socket.request(SUBMIT);
    assert.equal(params.content, 'seen');
    socket.say({ id, error: { code: -31006, message: 'slow down', data: { kind: 'rate_limited', retryable: true, retry_after_ms: 100 } } });
    await settle();
    await pass(2000);
  }
  const { id, params } = socket.request(SUBMIT);
  assert.equal(params.content, 'seen');
  socket.say({ id, result: { accepted: true } });
  await settle();
  assert.deepEqual(errors, []);
});

test('a result that comes too late is nobody\'s problem', async () => {
  const { socket, errors } = await world();
  socket.notify(...called(1, 'c1'));
  await settle();
  claimed(socket);
  await settle();
  socket.fail(SUBMIT, 'tool_call_resolved');
  await settle();
  assert.deepEqual(errors, []);
});

test('tools as sessions take them', async () => {
  const client = new Client({ url: 'http://h/' });
  const remove = client.tool('look', schema, () => '', { reads: 'at', cleanable: false, timeoutMs: 5 });
  client.tool('say', { type: 'object' }, () => '', { description: 'Says.' });
  assert.deepEqual(client.tools(), [
    { name: 'look', description: 'Looks.', input_schema: { type: 'object', properties: schema.properties }, cleanable: false, reads: 'at', timeout_ms: 5 },
    { name: 'say', description: 'Says.', input_schema: { type: 'object' } },
  ]);
  assert.throws(() => client.tool('look', schema, () => ''), TypeError);
  remove();
  assert.deepEqual(client.tools().map((t) => t.name), ['say']);
});

test('closing the client aborts what runs', async () => {
  const { calls, tool } = patient();
  const { client, socket, errors } = await world({ tool });
  socket.notify(...called(1, 'c1'));
  await settle();
  claimed(socket);
  await settle();
  client.close();
  assert.ok(calls[0].signal.aborted);
  calls[0].resolve('');
  await settle();
  assert.deepEqual(errors, []);
});

test('a tool that is registered late picks up what waits for it', async () => {
  const late = (id) => call(id, { name: 'late', turn_id: 't', status: 'pending' });
  const { client, socket } = await world({ pending: [late('c1'), late('c2'), call('c3')] });
  socket.notify(...called(1, 'c4', { name: 'late' }));
  socket.notify(...event({ seq: 2, type: 'tool.resolved', data: { tool_use_id: 'c2' } }));
  await settle();
  const asked = () => socket.sent.filter((m) => m.method === CLAIM).map((m) => m.params.tool_use_id);
  assert.deepEqual(asked(), ['c3']);
  client.tool('late', schema, () => 'here');
  await settle();
  assert.deepEqual(asked(), ['c3', 'c1', 'c4'], 'not what is resolved, nor what runs');
  client.tool('later', schema, () => '');
  await settle();
  assert.equal(asked().length, 3);
});

test('a tool that is registered after the subscription ended runs nothing', async () => {
  const { client, subscription, socket } = await world({ pending: [call('c1', { name: 'late' })] });
  subscription.close();
  client.tool('late', schema, () => 'here');
  await settle();
  assert.equal(socket.methods().filter((m) => m === CLAIM).length, 0);
});

test('a tool is taken back once: not the next one of its name', async () => {
  const { client } = await world();
  const takeBack = client.tool('other', schema, () => 'old');
  takeBack();
  client.tool('other', schema, () => 'new');
  takeBack();
  assert.deepEqual(client.tools().map((tool) => tool.name), ['look', 'other']);
});
