// How the client is used, as the compiler sees it. Nothing here runs: what must not
// compile is marked, and the marks are errors where it does.

import { Client, type Entry, newKey, RpcError, type Session } from '../../../../web/client/client.js';

const client = new Client({
  url: 'https://sessions.example',
  ticket: async () => (await fetch('/ticket', { method: 'POST' })).text(),
});

export async function calls(): Promise<Session> {
  await client.call('v1.server.info');
  const { session } = await client.call('v1.session.create', { title: 'x', tools: client.tools(), key: newKey() });
  const sent = await client.call('v1.message.send', {
    session_id: session.id, content: [{ type: 'text', text: 'hello' }], when_busy: 'interrupt',
  }, { signal: AbortSignal.timeout(1000) });
  sent.seq satisfies number;
  sent.turn_id satisfies string | undefined;
  session.status satisfies 'closed' | 'running' | 'waiting_tool' | 'compacting' | 'idle';

  // @ts-expect-error a param is missing
  await client.call('v1.session.get', {});
  // @ts-expect-error all params are missing
  await client.call('v1.session.get');
  // @ts-expect-error there is no such method
  await client.call('v1.session.got', {});
  // @ts-expect-error there is no such param
  await client.call('v1.session.create', { titel: 'x' });
  // @ts-expect-error one of three words is expected
  await client.call('v1.message.send', { session_id: session.id, content: 'x', when_busy: 'drop' });
  // @ts-expect-error tools can't return thoughts
  await client.call('v1.tool.submit_result', { session_id: session.id, tool_use_id: 'x', content: [{ type: 'thinking' }] });
  // @ts-expect-error subscriptions have a function of their own
  await client.call('v1.session.subscribe', { session_id: session.id });
  // @ts-expect-error the result has no such member
  sent.turn;
  return session;
}

/** The type of an entry says what its data is. */
export function textOf(entry: Entry): string | undefined {
  switch (entry.type) {
    case 'message.added':
      for (const block of entry.data.message.content) {
        if (block.type === 'text') return block.text;
        // @ts-expect-error other blocks have other members
        block.text;
      }
      return undefined;
    case 'turn.completed':
      return entry.data.error?.message;
    case 'compaction.completed':
      return `${entry.data.tokens_before} to ${entry.data.tokens_after}`;
    default:
      // @ts-expect-error other entries have no message
      return entry.data.message;
  }
}

export async function subscriptions(id: string) {
  const subscription = client.subscribe(id, { afterSeq: 0 });
  const off: () => void = subscription.on('entry', (entry) => { textOf(entry); entry.session_id satisfies string; });
  subscription.on('item', ({ item, added }) => { (added ?? item.text) satisfies string; });
  subscription.on('progress', (progress) => { progress.usage.cost_usd satisfies number; });
  subscription.on('itemend', ({ reason }) => { reason satisfies 'stored' | 'turn_completed' | 'replaced' | 'ended'; });
  // @ts-expect-error there is no such event
  subscription.on('entries', () => {});
  // @ts-expect-error a subscription is made by a client
  new Subscription();
  off();
  (await subscription.ready).title satisfies string;
  subscription.close();
  client.on('notification', (n) => { if (n.method === 'v1.server.notice') n.params.retry_after_ms satisfies number | undefined; });
  client.on('state', ({ state, retryInMs }) => { if (state === 'waiting') retryInMs satisfies number | undefined; });
}

export function tools() {
  const remove: () => void = client.tool<{ path: string }>(
    'read',
    { type: 'object', description: 'Reads a file.', properties: { path: { type: 'string' } }, required: ['path'] },
    async ({ path }, { signal, deadline }) => `${path} ${signal.aborted} ${deadline.getTime()}`,
    { cleanable: true, reads: 'path' },
  );
  remove();
  // @ts-expect-error a schema is of type object
  client.tool('x', { type: 'string' }, () => '');
}

export function failures(error: unknown) {
  if (error instanceof RpcError && error.kind === 'version_conflict') error.data?.version satisfies number | undefined;
  // @ts-expect-error there is no such kind
  if (error instanceof RpcError && error.kind === 'version') return;
}
