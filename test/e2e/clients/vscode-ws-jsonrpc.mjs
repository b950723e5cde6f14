// npm vscode-ws-jsonrpc: how editors speak JSON-RPC; it also cancels calls.
import assert from 'node:assert/strict';
import { createWebSocketConnection, toSocket } from 'vscode-ws-jsonrpc';
import WebSocket from 'ws';
import { Conversation } from './conversation.mjs';

const conversation = new Conversation();
const socket = new WebSocket(process.argv[2], 'sessiond.v1');
await new Promise((resolve, reject) => { socket.onopen = resolve; socket.onerror = reject; });
const quiet = { error: console.error, warn: console.error, info() {}, log() {} };
const connection = createWebSocketConnection(toSocket(socket), quiet);
connection.onNotification((method, params) => conversation.notify(method, params));
connection.onError(([error]) => { throw error; });
connection.listen();

await conversation.hold((method, params) => connection.sendRequest(method, params), ({ code, data }) => ({ code, data }));

// A cancelled call is answered once, with its result or as cancelled.
const token = { isCancellationRequested: false, onCancellationRequested: (cancel) => { queueMicrotask(cancel); return { dispose() {} }; } };
const outcome = await connection.sendRequest('v1.server.info', {}, token).then(() => 'result', (e) => e.code);
assert.ok(outcome === 'result' || outcome === -32800, `cancelled: ${outcome}`);
assert.equal((await connection.sendRequest('v1.server.info', {})).name, 'sessiond');
connection.dispose();
socket.close();
console.log('ok');
