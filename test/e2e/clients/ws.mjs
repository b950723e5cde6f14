// npm ws, with JSON-RPC spelled out: also the batch that the libraries do not make.
import assert from 'node:assert/strict';
import WebSocket from 'ws';
import { Conversation } from './conversation.mjs';

const conversation = new Conversation();
const socket = new WebSocket(process.argv[2], 'sessiond.v1');
const waiting = new Map();
let nextID = 1;
let batch;

socket.on('message', (data) => {
  const message = JSON.parse(data);
  if (Array.isArray(message)) { batch(message); return; }
  if (message.method) { conversation.notify(message.method, message.params); return; }
  const { resolve, reject } = waiting.get(message.id);
  waiting.delete(message.id);
  if (message.error) reject(message.error); else resolve(message.result);
});

const call = (method, params) => new Promise((resolve, reject) => {
  const id = nextID++;
  waiting.set(id, { resolve, reject });
  socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
});

await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
assert.equal(socket.protocol, 'sessiond.v1');
assert.equal(socket.extensions, '');
await conversation.hold(call, (e) => e);

const replies = new Promise((resolve) => { batch = resolve; });
socket.send(JSON.stringify([
  { jsonrpc: '2.0', id: 'a', method: 'v1.server.info' },
  { jsonrpc: '2.0', method: 'v1.server.info' },
  { jsonrpc: '2.0', id: -1.5, method: 'v1.no.such' },
  1,
]));
assert.deepEqual((await replies).map((r) => [r.id, r.result?.name ?? r.error.code]), [['a', 'sessiond'], [-1.5, -32601], [null, -32600]]);

const closed = new Promise((resolve) => socket.once('close', resolve));
socket.close(1000);
assert.equal(await closed, 1000);
console.log('ok');
