import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { Client } from '../../../../web/client/client.js';
import { event, FakeServer, page, pass, useFakeTime } from './fake_server.mjs';

useFakeTime({ beforeEach, afterEach });

const SUBSCRIBE = 'v1.session.subscribe';

async function world(rest) {
  const server = new FakeServer();
  const client = new Client({ url: 'http://h/', socket: server.socket });
  const subscription = client.subscribe('s', { afterSeq: 0 });
  const seen = [];
  subscription.on('item', ({ item, added }) => seen.push([item.itemId, item.text, added, item.whole]));
  subscription.on('itemend', ({ item, reason }) => seen.push([item.itemId, item.text, reason]));
  const socket = await server.accept();
  socket.answer(SUBSCRIBE, page([], rest));
  const delta = (itemId, from, text, kind = 'text') => socket.notify('v1.session.delta', {
    session_id: 's', turn_id: 't', item_id: itemId, kind, from, to: from + text.length, text,
  });
  const take = () => seen.splice(0);
  return { server, subscription, socket, delta, take };
}

const added = (seq, id) => event({ seq, type: 'message.added', data: { message: { id, content: [] } } });

test('pieces are put together, and end with the stored message', async () => {
  const { subscription, socket, delta, take } = await world();
  delta('m1/0', 0, 'hm', 'thinking');
  delta('m1/1', 0, 'Hel');
  delta('m1/1', 3, 'lo');
  assert.deepEqual(take(), [['m1/0', 'hm', 'hm', true], ['m1/1', 'Hel', 'Hel', true], ['m1/1', 'Hello', 'lo', true]]);
  const [first, second] = subscription.items;
  assert.deepEqual([first.kind, first.block, second.messageId, second.turnId], ['thinking', 0, 'm1', 't']);
  socket.notify(...added(1, 'm1'));
  assert.deepEqual(take(), [['m1/0', 'hm', 'stored'], ['m1/1', 'Hello', 'stored']]);
  assert.deepEqual(subscription.items, []);
});

test('what is there already is ignored, after a gap everything', async () => {
  const { delta, take } = await world();
  delta('m/0', 0, 'abc');
  delta('m/0', 1, 'bc');
  delta('m/0', 3, 'd');
  delta('m/0', 6, 'g');
  delta('m/0', 7, 'h');
  assert.deepEqual(take(), [['m/0', 'abc', 'abc', true], ['m/0', 'abcd', 'd', true], ['m/0', 'abcd', '', false]]);
});

test('a piece that overlaps can not be cut, and is a gap', async () => {
  const { delta, take } = await world();
  delta('m/0', 0, 'abc');
  delta('m/0', 2, 'cd');
  delta('m/0', 3, 'd');
  assert.deepEqual(take().at(-1), ['m/0', 'abc', '', false]);
});

test('an item whose beginning is missing is told as not whole', async () => {
  const { delta, take } = await world();
  delta('m/0', 5, 'x');
  assert.deepEqual(take(), [['m/0', '', '', false]]);
});

test('a repeated round replaces what was shown', async () => {
  const { delta, take } = await world();
  delta('m1/0', 0, 'Once');
  delta('m2/0', 0, 'Twice');
  assert.deepEqual(take(), [['m1/0', 'Once', 'Once', true], ['m1/0', 'Once', 'replaced'], ['m2/0', 'Twice', 'Twice', true]]);
});

test('the end of the turn, another message, and the end of the subscription end items', async () => {
  const { subscription, socket, delta, take } = await world();
  delta('m1/0', 0, 'a');
  socket.notify(...event({ seq: 1, type: 'turn.completed', data: { status: 'stopped' } }));
  delta('m2/0', 0, 'b');
  socket.notify(...added(2, 'm3'));
  delta('m4/0', 0, 'c');
  subscription.close();
  assert.deepEqual(take().filter((seen) => seen.length === 3), [['m1/0', 'a', 'turn_completed'], ['m2/0', 'b', 'replaced'], ['m4/0', 'c', 'ended']]);
});

test('a message that waits ends nothing', async () => {
  const { subscription, socket, delta } = await world();
  delta('m1/0', 0, 'a');
  socket.notify(...event({ seq: 1, type: 'message.queued', data: { message: { id: 'q', content: [] } } }));
  assert.equal(subscription.items.length, 1);
});

test('after a lost connection the server says what is open', async () => {
  const { server, subscription, socket, delta, take } = await world();
  delta('m1/0', 0, 'Hello');
  delta('m1/1', 0, 'x');
  socket.end(1006);
  assert.equal(subscription.items.length, 2, 'stays to be seen');
  take();
  await pass(1000);
  const second = await server.accept();
  second.answer(SUBSCRIBE, page([], { open_items: [
    { item_id: 'm1/0', turn_id: 't', kind: 'text', next: 12, text: 'Hello, world' },
    { item_id: 'm1/2', turn_id: 't', kind: 'tool_input', next: 1, text: '{' },
  ] }));
  assert.deepEqual(take(), [['m1/1', 'x', 'replaced'], ['m1/0', 'Hello, world', ', world', true], ['m1/2', '{', '{', true]]);
  second.notify('v1.session.delta', { session_id: 's', turn_id: 't', item_id: 'm1/0', kind: 'text', from: 12, to: 13, text: '!' });
  assert.deepEqual(take(), [['m1/0', 'Hello, world!', '!', true]]);
});

test('what was lost comes back whole, and is to be read anew', async () => {
  const { server, socket, delta, take } = await world();
  delta('m1/0', 5, 'x');
  delta('m2/0', 0, 'wrong');
  socket.end(1006);
  take();
  await pass(1000);
  (await server.accept()).answer(SUBSCRIBE, page([], { open_items: [{ item_id: 'm2/0', turn_id: 't', kind: 'text', next: 5, text: 'right' }] }));
  assert.deepEqual(take(), [['m2/0', 'right', undefined, true]]);
});
