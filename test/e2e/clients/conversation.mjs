// The conversation that every client of this folder holds with the server. It is written
// against the least that a JSON-RPC library has: call, which rejects with what the library
// makes of an error reply, and notifications, which reach notify in the order they come.
import assert from 'node:assert/strict';

export class Conversation {
  #seen = [];
  #waiting = [];

  // notify is to be given every notification.
  notify = (method, params) => {
    this.#seen.push({ method, params });
    for (const check of this.#waiting.splice(0)) check();
  };

  // until returns the first notification, old or new, that matches.
  until(matches) {
    return new Promise((resolve) => {
      const check = () => {
        const found = this.#seen.find(({ method, params }) => matches(method, params));
        if (found) resolve(found.params); else this.#waiting.push(check);
      };
      check();
    });
  }

  event(type) { return this.until((method, p) => method === 'v1.session.event' && p.type === type); }

  // hold holds the conversation; errorOf reads code and data off a rejection.
  async hold(call, errorOf) {
    const info = await call('v1.server.info', {});
    assert.equal(info.protocol, 'sessiond.v1');

    const { session } = await call('v1.session.create', {
      title: 'é 😀 \u2028', metadata: { from: 'a client' },
      tools: [{ name: 'look', description: 'looks', input_schema: { type: 'object', properties: { at: { type: 'string' } } } }],
    });
    assert.equal(session.title, 'é 😀 \u2028');
    const page = await call('v1.session.subscribe', { session_id: session.id, after_seq: 0 });
    assert.equal(page.entries[0].type, 'session.created');

    const sent = await call('v1.message.send', { session_id: session.id, content: 'call look {"at":"the sea"}', key: 'k' });
    assert.equal(sent.queued, false);
    const called = await this.event('tool.called');
    assert.deepEqual(called.data.input, { at: 'the sea' });
    const answered = await call('v1.tool.submit_result', { session_id: session.id, tool_use_id: called.data.tool_use_id, content: 'blue' });
    assert.equal(answered.accepted, true);
    const done = await this.event('turn.completed');
    assert.equal(done.data.status, 'completed');

    await this.checkStream(call, session.id, done.seq);
    await this.checkErrors(call, errorOf, session.id);
  }

  // checkStream compares what was streamed with what was stored.
  async checkStream(call, id, head) {
    const events = this.#seen.filter(({ method }) => method === 'v1.session.event').map(({ params }) => params.seq);
    assert.deepEqual(events, Array.from({ length: head - 1 }, (_, i) => i + 2), 'events without a gap');
    const { messages } = await call('v1.message.list', { session_id: id });
    assert.deepEqual(messages.map((m) => m.role), ['user', 'assistant', 'user', 'assistant']);
    const last = messages.at(-1);
    const streamed = this.#seen
      .filter(({ method, params }) => method === 'v1.session.delta' && params.item_id === `${last.id}/0`)
      .map(({ params }) => params.text).join('');
    assert.equal(streamed, last.content[0].text);
    assert.match(streamed, /blue/);
  }

  async checkErrors(call, errorOf, id) {
    const failure = async (method, params) => {
      try { await call(method, params); } catch (e) { return errorOf(e); }
      assert.fail(`${method} did not fail`);
    };
    const missing = await failure('v1.session.get', { session_id: '0197f0d0-0000-7000-8000-000000000001' });
    assert.equal(missing.code, -31020);
    assert.equal(missing.data.kind, 'not_found');
    const wrong = await failure('v1.session.update', { session_id: id, title: 7 });
    assert.equal(wrong.code, -32602);
    assert.equal(wrong.data.path, 'title');
    assert.equal((await failure('v1.no.such', {})).code, -32601);
  }
}
