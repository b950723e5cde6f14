// Clients that send, follow and run tools while their connections are lost at any moment,
// and the server is killed. In the end every client has every log whole, every message was
// sent once, and every tool call was answered.
// Argument: where the server listens. Says "kill the server" to have that done.
import assert from 'node:assert/strict';
import WebSocket from 'ws';
import { Client } from '../../../web/client/client.js';

const address = process.argv[2];
const SESSIONS = 4;
const MESSAGES = 8;
const KILLS = 4;
let drops = 0;

/** A socket that is cut off after some frames, in either direction. */
function fragile(url, protocols) {
  const socket = new WebSocket(url, protocols);
  let left = 3 + Math.floor(Math.random() * 60);
  const count = () => { if (--left === 0) { drops++; socket.terminate(); } };
  socket.on('message', count);
  const send = socket.send.bind(socket);
  // Cut off before or after it left: nobody knows whether it came.
  socket.send = (frame) => { if (Math.random() < 0.5) { count(); send(frame, () => {}); } else { send(frame, () => {}); count(); } };
  return socket;
}

const connected = () => new Client({ url: `http://${address}`, socket: fragile, backoff: { minMs: 20, maxMs: 200 } });
const speakers = Array.from({ length: 2 }, connected);
const follower = connected();

/** follow collects what a client is told of a session. */
function follow(client, id) {
  const seen = { entries: [], done: 0 };
  const subscription = client.subscribe(id, { afterSeq: 0 });
  subscription.on('entry', (entry) => {
    assert.equal(entry.seq, seen.entries.length + 1, 'entries without a gap or a repeat');
    seen.entries.push(entry);
    if (entry.type === 'turn.completed') { seen.done++; seen.told?.(); }
  });
  subscription.on('reset', () => assert.fail('the log was reset'));
  subscription.on('end', ({ error }) => { if (error?.message !== 'the client was closed') assert.fail(`the subscription ended: ${error}`); });
  return seen;
}

const answered = async (seen, n) => { while (seen.done < n) await new Promise((resolve) => { seen.told = resolve; }); };

async function session(n) {
  const client = speakers[n % speakers.length];
  const { session: { id } } = await client.call('v1.session.create', { title: `torture ${n}`, tools: client.tools() });
  const mine = follow(client, id);
  const theirs = follow(follower, id);
  for (let i = 0; i < MESSAGES; i++) {
    const content = i % 3 === 2 ? `call look {"at":"${i}"} 2 times` : `count to ${20 + i}`;
    await client.call('v1.message.send', { session_id: id, content });
    if (Math.random() < 0.5) await answered(mine, i + 1);
    if (n === 0 && i % (MESSAGES / KILLS) === 1) console.log('kill the server');
  }
  await answered(mine, MESSAGES);
  await answered(theirs, MESSAGES);
  return { id, mine, theirs };
}

/** verify compares what clients were told with what the server has. */
async function verify({ id, mine, theirs }) {
  const { entries } = await speakers[0].call('v1.session.log', { session_id: id });
  for (const seen of [mine, theirs]) {
    assert.deepEqual(seen.entries.map(({ session_id, ...entry }) => entry).slice(0, entries.length), entries);
  }
  const said = entries.filter((e) => e.type.startsWith('message.') && e.data.message.content[0].type === 'text' && e.data.message.role === 'user');
  assert.equal(said.length, MESSAGES, 'every message once');
  const called = entries.filter((e) => e.type === 'tool.called').map((e) => e.data.tool_use_id);
  const resolved = entries.filter((e) => e.type === 'tool.resolved');
  assert.deepEqual(resolved.map((e) => e.data.tool_use_id).sort(), called.sort());
  assert.ok(resolved.every((e) => e.data.by === 'client' && e.data.content[0].text === 'seen'), 'tools answered by clients');
  assert.ok(entries.filter((e) => e.type === 'turn.completed').every((e) => e.data.status === 'completed'), 'every turn completed');
  return entries.length;
}

for (const client of speakers) client.tool('look', { type: 'object', properties: { at: { type: 'string' } } }, () => 'seen');
const sessions = await Promise.all(Array.from({ length: SESSIONS }, (_, n) => session(n)));
const sizes = [];
for (const one of sessions) sizes.push(await verify(one));
assert.ok(drops > 20, `only ${drops} connections were lost`);
for (const client of [...speakers, follower]) client.close();
console.log(`${drops} connections lost, logs of ${sizes} entries; ok`);
