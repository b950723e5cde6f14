import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { Client } from '../../../../web/client/client.js';
import { event, FakeServer, log, page, pass, settle, useFakeTime } from './fake_server.mjs';

useFakeTime({ beforeEach, afterEach });

const SUBSCRIBE = 'v1.session.subscribe';

async function world(options) {
  const server = new FakeServer();
  const client = new Client({ url: 'http://h/', socket: server.socket });
  const subscription = client.subscribe('s', options);
  const seen = [];
  subscription.on('entry', ({ seq }) => seen.push(seq));
  for (const name of ['ready', 'reset', 'end']) subscription.on(name, () => seen.push(name));
  const socket = await server.accept();
  return { server, client, subscription, seen, socket };
}

const seqs = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

test('from now on', async () => {
  const { subscription, seen, socket } = await world();
  assert.deepEqual(socket.sent[0].params, { session_id: 's', deltas: true, events: 'all' });
  socket.answer(SUBSCRIBE, page([], { head: 7 }));
  assert.equal((await subscription.ready).title, 't');
  assert.ok(subscription.live);
  socket.notify(...event(log(1, 8)[0])).notify(...event(log(1, 8)[0])).notify(...event(log(1, 9)[0])).notify(...event(log(1, 9)[0], 'other'));
  assert.deepEqual(seen, ['ready', 8, 9]);
  assert.equal(subscription.lastSeq, 9);
});

test('the whole log, page by page', async () => {
  const { seen, socket } = await world({ afterSeq: 0, deltas: false });
  assert.deepEqual(socket.sent[0].params, { session_id: 's', deltas: false, events: 'all', after_seq: 0 });
  socket.answer(SUBSCRIBE, page(log(500), { more: true, head: 900 }));
  assert.deepEqual(socket.sent[1].params, { session_id: 's', deltas: false, events: 'all', after_seq: 500, log_id: 'log-1' });
  socket.answer(SUBSCRIBE, page(log(400, 501)));
  assert.deepEqual(seen, [...seqs(1, 900), 'ready']);
});

test('what comes in the same moment as the reply is not lost', async () => {
  const { seen, socket } = await world({ afterSeq: 0 });
  socket.answer(SUBSCRIBE, page(log(2))).notify(...event(log(1, 3)[0])); // no promise can run in between
  assert.deepEqual(seen, [1, 2, 'ready', 3]);
});

test('after a lost connection it goes on', async () => {
  const { server, subscription, seen, socket } = await world({ afterSeq: 0 });
  socket.answer(SUBSCRIBE, page(log(2)));
  socket.end(1006);
  assert.ok(!subscription.live);
  await pass(1000);
  const second = await server.accept();
  assert.deepEqual(second.sent[0].params, { session_id: 's', deltas: true, events: 'all', after_seq: 2, log_id: 'log-1' });
  second.answer(SUBSCRIBE, page(log(3, 3)));
  assert.deepEqual(seen, [1, 2, 'ready', 3, 4, 5, 'ready']);
});

test('subscriptions go before what waited, which goes once', async () => {
  const { server, client, socket } = await world();
  client.call('v1.message.send', { session_id: 's', content: 'x' });
  socket.end(1006);
  await pass(1000);
  assert.deepEqual((await server.accept()).methods(), [SUBSCRIBE, 'v1.message.send']);
});

test('an answer that belongs to a lost connection changes nothing', async () => {
  const { server, seen, socket } = await world({ afterSeq: 0 });
  socket.end(1006).answer(SUBSCRIBE, page(log(5))).notify(...event(log(1)[0]));
  assert.deepEqual(seen, []);
  await pass(1000);
  assert.equal((await server.accept()).sent[0].params.after_seq, 0);
});

test('a gap is filled, once', async () => {
  const { subscription, seen, socket } = await world({ afterSeq: 0 });
  socket.answer(SUBSCRIBE, page(log(2)));
  socket.notify(...event(log(1, 5)[0])).notify(...event(log(1, 6)[0])); // 3 and 4 never came
  assert.equal(socket.methods().length, 2);
  assert.ok(!subscription.live);
  socket.notify(...event(log(1, 3)[0])); // the old subscription is still there
  socket.answer(SUBSCRIBE, page(log(4, 3)));
  assert.deepEqual(seen, [1, 2, 'ready', 3, 4, 5, 6, 'ready']);
});

test('another log is read from the start', async () => {
  const { seen, subscription, socket } = await world({ afterSeq: 9, logId: 'old' });
  assert.deepEqual(socket.sent[0].params, { session_id: 's', deltas: true, events: 'all', after_seq: 9, log_id: 'old' });
  socket.fail(SUBSCRIBE, 'log_reset', { head_seq: 2, log_id: 'log-1' });
  assert.deepEqual(socket.sent[1].params, { session_id: 's', deltas: true, events: 'all', after_seq: 0 });
  socket.answer(SUBSCRIBE, page(log(2)));
  assert.deepEqual(seen, ['reset', 1, 2, 'ready']);
  assert.equal(subscription.logId, 'log-1');
});

test('a log that can not be read from the start either is the end', async () => {
  const { seen, socket } = await world({ afterSeq: 0 });
  socket.fail(SUBSCRIBE, 'log_reset');
  assert.deepEqual(seen, ['end']);
});

test('progress only: gaps are normal, nothing is caught up on', async () => {
  const { server, subscription, seen, socket } = await world({ events: 'progress', afterSeq: 3 });
  assert.deepEqual(socket.sent[0].params, { session_id: 's', deltas: true, events: 'progress' });
  const progress = [];
  subscription.on('progress', (p) => progress.push(p));
  socket.answer(SUBSCRIBE, page([], { head: 50 }));
  assert.deepEqual([progress[0].session_id, progress[0].current_context_tokens, progress[0].usage], ['s', 5, { cost_usd: 1 }]);
  socket.notify(...event({ ...log(1, 60)[0], type: 'compaction.completed', data: {} })).notify(...event(log(1, 70)[0]));
  socket.notify('v1.session.progress', { session_id: 's', current_context_tokens: 9 });
  assert.deepEqual(seen, ['ready', 60, 70]);
  assert.equal(progress[1].current_context_tokens, 9);
  assert.equal(subscription.progress, progress[1]);
  socket.end(1006);
  await pass(1000);
  assert.deepEqual((await server.accept()).sent[0].params, { session_id: 's', deltas: true, events: 'progress' });
});

test('credentials that may only read are no reason to ask for ever', async () => {
  const { seen, socket } = await world();
  socket.answer(SUBSCRIBE, page([], { head: 5 }));
  socket.notify(...event(log(1, 9)[0]));
  socket.answer(SUBSCRIBE, page([], { head: 9 }));
  socket.notify(...event(log(1, 20)[0]));
  assert.equal(socket.methods().length, 2);
  assert.deepEqual(seen, ['ready', 'ready', 20]);
});

test('a server without room is asked again, one that refuses is not', async () => {
  const { subscription, client, seen, socket } = await world();
  socket.fail(SUBSCRIBE, 'rate_limited', { retryable: true, retry_after_ms: 4000 });
  await pass(4000 - 1);
  assert.equal(socket.methods().length, 1);
  await pass(1001);
  socket.fail(SUBSCRIBE, 'not_found', { what: 'session' });
  await assert.rejects(subscription.ready, (e) => e.kind === 'not_found');
  assert.deepEqual(seen, ['end']);
  assert.ok(subscription.ended);
  assert.equal(client.subscription('s'), undefined);
  client.subscribe('s'); // a new one is allowed
  assert.equal(socket.methods().length, 3);
});

test('one subscription to a session', async () => {
  const { client, subscription } = await world();
  assert.throws(() => client.subscribe('s'), TypeError);
  assert.equal(client.subscription('s'), subscription);
});

test('closed and opened again: the server takes it in that order', async () => {
  const { client, subscription, seen, socket } = await world();
  socket.answer(SUBSCRIBE, page([]));
  subscription.close();
  subscription.close();
  assert.deepEqual(seen, ['ready', 'end']);
  const next = client.subscribe('s', { afterSeq: 0 });
  assert.deepEqual(socket.methods(), [SUBSCRIBE, 'v1.session.unsubscribe']);
  socket.answer('v1.session.unsubscribe', {});
  assert.deepEqual(socket.methods(), [SUBSCRIBE, 'v1.session.unsubscribe', SUBSCRIBE]);
  socket.answer(SUBSCRIBE, page(log(1)));
  await next.ready;
});

test('closed before the reply came: nothing is told', async () => {
  const { subscription, seen, socket } = await world({ afterSeq: 0 });
  subscription.close();
  await assert.rejects(subscription.ready, /closed/);
  socket.answer(SUBSCRIBE, page(log(2)));
  assert.deepEqual(seen, ['end']);
  assert.ok(!subscription.live);
});

test('an unsubscription that was lost with its connection holds nobody up', async () => {
  const { server, client, subscription, socket } = await world();
  subscription.close();
  socket.end(1006);
  await pass(1000);
  const second = await server.accept();
  client.subscribe('s');
  assert.deepEqual(second.methods(), [SUBSCRIBE]);
});

test('closing among entries stops them', async () => {
  const { subscription, seen, socket } = await world({ afterSeq: 0 });
  subscription.on('entry', ({ seq }) => { if (seq === 2) subscription.close(); });
  socket.answer(SUBSCRIBE, page(log(5)));
  assert.deepEqual(seen, [1, 2, 'end']);
});

test('a deleted session is the end', async () => {
  const { client, seen, socket } = await world({ afterSeq: 0 });
  socket.answer(SUBSCRIBE, page(log(1)));
  socket.notify(...event({ seq: 2, type: 'session.deleted', data: {} }));
  assert.deepEqual(seen, [1, 'ready', 2, 'end']);
  socket.end(1006);
  await pass(1000);
  assert.equal(client.subscription('s'), undefined);
});

// The server's side of a log under every mischief of a network: what is handed out is
// still every entry once, in order.
test('any drops, repeats and gaps', async () => {
  for (let seed = 1; seed <= 150; seed++) {
    const random = generator(seed);
    const server = new FakeServer();
    const client = new Client({ url: 'http://h/', socket: server.socket });
    const entries = log(60);
    const seen = [];
    client.subscribe('s', { afterSeq: 0 }).on('entry', ({ seq }) => seen.push(seq));
    let head = 0;
    let socket = await server.accept();
    while (seen.length < entries.length) {
      socket = await step({ random, server, socket, entries, append: () => { head = Math.min(entries.length, head + 1); return head; }, head: () => head });
    }
    assert.deepEqual(seen, seqs(1, entries.length), `seed ${seed}`);
    client.close();
  }
});

async function step({ random, server, socket, entries, append, head }) {
  const what = random();
  const asked = socket.sent.find((m) => m.method === SUBSCRIBE && !m.answered);
  if (what < 0.1) {
    socket.end(1006);
    await pass(20_000);
    return server.accept();
  }
  if (asked && what < 0.6) {
    const after = asked.params.after_seq;
    const size = 1 + Math.floor(random() * 5);
    const list = entries.slice(after, Math.min(head(), after + size));
    socket.answer(SUBSCRIBE, page(list, { more: after + list.length < head(), head: head() }));
  } else if (what < 0.9) {
    const seq = append();
    if (random() < 0.7) socket.notify(...event(entries[seq - 1]));
  } else if (head() > 0) {
    socket.notify(...event(entries[Math.floor(random() * head())]));
  }
  return socket;
}

/** A small generator of numbers (mulberry32), so that a seed names a case. */
function generator(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
