// The client against the built server. Argument: where it listens.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import WebSocket from 'ws';
import { Client } from '../../../web/client/client.js';

const address = process.argv[2];
let client;

before(() => { client = connected(); });
after(() => client.close());

function connected(options) {
  return new Client({ url: `http://${address}`, socket: (url, protocols) => new WebSocket(url, protocols), ...options });
}

/** until resolves with the first entry of a type. */
function until(subscription, type) {
  return new Promise((resolve) => {
    const off = subscription.on('entry', (entry) => { if (entry.type === type) { off(); resolve(entry); } });
  });
}

test('a conversation', async () => {
  assert.equal((await client.call('v1.server.info')).protocol, 'sessiond.v1');
  const { session } = await client.call('v1.session.create', { title: 'é 😀' });
  const subscription = client.subscribe(session.id, { afterSeq: 0 });
  const types = [];
  subscription.on('entry', ({ seq, type }) => types.push(`${seq} ${type}`));
  assert.equal((await subscription.ready).title, 'é 😀');

  let streamed = '';
  subscription.on('item', ({ item, added }) => { streamed = item.text; assert.notEqual(added, undefined); });
  const ends = [];
  subscription.on('itemend', ({ item, reason }) => ends.push([item.text, reason]));
  const progress = [];
  subscription.on('progress', (p) => progress.push(p));
  const done = until(subscription, 'turn.completed');
  const sent = await client.call('v1.message.send', { session_id: session.id, content: 'count to 50' });
  assert.equal((await done).turn_id, sent.turn_id);
  assert.match(streamed, / 49 50$/);
  assert.deepEqual(ends, [[streamed, 'stored']]);
  assert.deepEqual(types, ['1 session.created', '2 message.added', '3 turn.started', '4 message.added', '5 turn.completed']);
  const { messages } = await client.call('v1.message.list', { session_id: session.id });
  assert.equal(messages.at(-1).content[0].text, streamed);
  assert.equal(progress[0].session_id, session.id);
  subscription.close();

  // All of it once more, from the log.
  const again = client.subscribe(session.id, { afterSeq: 0 });
  const replay = [];
  again.on('entry', ({ seq, type }) => replay.push(`${seq} ${type}`));
  await again.ready;
  assert.deepEqual(replay, types);
});

test('tools', async () => {
  const contexts = [];
  client.tool('look', { type: 'object', description: 'Looks.', properties: { at: { type: 'string' } } }, ({ at }, context) => {
    contexts.push(context);
    return `the ${at} is blue`;
  });
  client.tool('break', { type: 'object' }, () => { throw new Error('broken for good'); });
  const { session } = await client.call('v1.session.create', { tools: client.tools() });
  const subscription = client.subscribe(session.id);
  for (const content of ['call look {"at":"sea"}', 'call break {}']) {
    const done = until(subscription, 'turn.completed');
    await client.call('v1.message.send', { session_id: session.id, content });
    assert.equal((await done).data.status, 'completed');
  }
  const { messages } = await client.call('v1.message.list', { session_id: session.id });
  const results = messages.flatMap((m) => m.content).filter((b) => b.type === 'tool_result').map((b) => [b.content[0].text, b.is_error]);
  assert.deepEqual(results, [['the sea is blue', false], ['broken for good', true]]);
  assert.equal(contexts[0].sessionId, session.id);
  assert.ok(contexts[0].deadline > new Date());
});

test('two clients with the same tool run a call once', async () => {
  const other = connected();
  const ran = [];
  for (const [name, one] of [['a', client], ['b', other]]) one.tool('once', { type: 'object' }, () => { ran.push(name); return name; });
  const { session } = await client.call('v1.session.create', { tools: other.tools() });
  const done = until(client.subscribe(session.id), 'turn.completed');
  await other.subscribe(session.id).ready;
  await client.call('v1.message.send', { session_id: session.id, content: 'call once 5 times' });
  assert.equal((await done).data.status, 'completed');
  assert.equal(ran.length, 5);
  other.close();
});

test('stopping a turn stops a tool', async () => {
  let began;
  const begun = new Promise((resolve) => { began = resolve; });
  const stopped = new Promise((resolve) => {
    client.tool('endless', { type: 'object' }, (_, { signal }) => {
      began();
      return new Promise(() => { signal.addEventListener('abort', resolve); });
    });
  });
  const { session } = await client.call('v1.session.create', { tools: client.tools() });
  const done = until(client.subscribe(session.id), 'turn.completed');
  await client.call('v1.message.send', { session_id: session.id, content: 'call endless' });
  await begun;
  assert.equal((await client.call('v1.turn.stop', { session_id: session.id })).stopped, true);
  await stopped;
  assert.equal((await done).data.status, 'stopped');
});

test('errors', async () => {
  const missing = '0197f0d0-0000-7000-8000-000000000001';
  await assert.rejects(client.call('v1.session.get', { session_id: missing }), (e) => e.kind === 'not_found' && e.data.what === 'session');
  await assert.rejects(client.call('v1.session.create', { title: 7 }), (e) => e.code === -32602 && e.kind === undefined && e.data.path === 'title');
  await assert.rejects(client.subscribe(missing).ready, (e) => e.kind === 'not_found');
});

test('progress only', async () => {
  const { session } = await client.call('v1.session.create', {});
  const subscription = client.subscribe(session.id, { events: 'progress' });
  const [progress, entries] = [[], []];
  subscription.on('progress', (p) => progress.push(p.current_context_tokens));
  subscription.on('entry', ({ type }) => entries.push(type));
  await subscription.ready;
  await client.call('v1.message.send', { session_id: session.id, content: 'write 300 words' });
  await client.call('v1.session.compact', { session_id: session.id });
  const { current_context_tokens: now } = await client.call('v1.session.context', { session_id: session.id });
  while (progress.at(-1) !== now) await new Promise((resolve) => { subscription.once('progress', resolve); });
  assert.ok(entries.every((type) => type.startsWith('compaction.')), `${entries}`);
});
