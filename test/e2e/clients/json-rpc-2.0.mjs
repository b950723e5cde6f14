// npm json-rpc-2.0: a library that knows no transport.
import assert from 'node:assert/strict';
import { createJSONRPCRequest, JSONRPCClient, JSONRPCServer, JSONRPCServerAndClient } from 'json-rpc-2.0';
import WebSocket from 'ws';
import { Conversation } from './conversation.mjs';

const conversation = new Conversation();
const socket = new WebSocket(process.argv[2], 'sessiond.v1');
const peer = new JSONRPCServerAndClient(new JSONRPCServer(), new JSONRPCClient((request) => socket.send(JSON.stringify(request))));
for (const method of ['v1.session.event', 'v1.session.delta', 'v1.session.activity', 'v1.session.progress', 'v1.server.notice']) {
  peer.addMethod(method, (params) => conversation.notify(method, params));
}
socket.on('message', (data) => peer.receiveAndSend(JSON.parse(data)));
await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));

await conversation.hold((method, params) => peer.request(method, params), ({ code, data }) => ({ code, data }));

const batch = await peer.client.requestAdvanced([
  createJSONRPCRequest('b1', 'v1.server.info', {}),
  createJSONRPCRequest('b2', 'v1.no.such', {}),
]);
assert.deepEqual(batch.map((r) => [r.id, r.result?.name ?? r.error.code]), [['b1', 'sessiond'], ['b2', -32601]]);
socket.close();
console.log('ok');
