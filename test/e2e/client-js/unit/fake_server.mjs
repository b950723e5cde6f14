// A server made of scripted frames, for tests of the client's logic: no network, and no
// time but what the test lets pass.
import assert from 'node:assert/strict';
import { mock } from 'node:test';

/** settle lets everything happen that waits for no timer. */
export async function settle() { for (let i = 0; i < 3; i++) await new Promise((resolve) => { setImmediate(resolve); }); }

/** pass lets time pass, and then what follows. */
export async function pass(ms) {
  await settle();
  mock.timers.tick(ms);
  await settle();
}

/** useFakeTime is to be called once in a file, beside the tests. */
export function useFakeTime({ beforeEach, afterEach }) {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout', 'setInterval'] }));
  afterEach(() => mock.timers.reset());
}

class FakeSocket {
  #listeners = { open: [], message: [], error: [], close: [] };
  /** what the client sent, parsed */
  sent = [];
  closed = undefined;

  constructor(url, protocols) { Object.assign(this, { url, protocols }); }

  addEventListener(type, listener) { this.#listeners[type].push(listener); }

  send(frame) { this.sent.push(JSON.parse(frame)); }

  close(code = 1005) { this.closed ??= code; }

  #tell(type, event) { for (const listener of this.#listeners[type]) listener(event); }

  // What the server does.

  accept() { this.#tell('open', {}); return this; }

  raw(data) { this.#tell('message', { data }); return this; }

  say(message) { return this.raw(JSON.stringify({ jsonrpc: '2.0', ...message })); }

  notify(method, params) { return this.say({ method, params }); }

  end(code, reason = '') { this.#tell('close', { code, reason }); return this; }

  refuse(message = '') { this.#tell('error', { message }); return this.end(1006); }

  /** request takes the oldest call of a method that was not answered. */
  request(method) {
    const found = this.sent.find((m) => m.method === method && !m.answered);
    assert.ok(found, `the client did not call ${method}; it sent ${JSON.stringify(this.sent)}`);
    found.answered = true;
    return found;
  }

  answer(method, result) { return this.say({ id: this.request(method).id, result }); }

  fail(method, kind, data = {}) {
    return this.say({ id: this.request(method).id, error: { code: -31000, message: kind, data: { kind, retryable: false, ...data } } });
  }

  methods() { return this.sent.map((m) => m.method); }
}

/** A FakeServer makes sockets, all unopened at first. */
export class FakeServer {
  sockets = [];

  socket = (url, protocols) => {
    const made = new FakeSocket(url, protocols);
    this.sockets.push(made);
    return made;
  };

  get last() { return this.sockets.at(-1); }

  /** accept waits for the client to connect, and accepts. */
  async accept() {
    await settle();
    return this.last.accept();
  }
}

/** log makes entries 1 … n of a session. */
export function log(n, from = 1) {
  return Array.from({ length: n }, (_, i) => ({
    seq: from + i, at: '2026-01-01T00:00:00Z', type: 'command', data: { command: `entry ${from + i}` },
  }));
}

/** page is a reply to subscribe. */
export function page(entries, { head = entries.at(-1)?.seq ?? 0, more = false, logId = 'log-1', ...rest } = {}) {
  return {
    session: { id: 's', title: 't', current_context_tokens: 5, compression_threshold: 10, usage: { cost_usd: 1 } },
    head_seq: head, log_id: logId, entries, more, open_items: [], pending_tool_calls: [], ...rest,
  };
}

/** event is an entry as a notification. */
export const event = (entry, sessionId = 's') => ['v1.session.event', { session_id: sessionId, ...entry }];
