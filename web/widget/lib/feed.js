// What a server says about one session's context.

import { Client } from '../../client/client.js';

/**
 * @typedef {import('../../client/client.d.ts').Client} DeclaredClient
 * @typedef {import('../../client/client.d.ts').Subscription} DeclaredSubscription
 * @typedef {import('../../client/client.d.ts').SessionProgress} SessionProgress
 * @typedef {import('../../client/client.d.ts').CompactionResult} CompactionResult
 * @typedef {import('../rtc-token-usage.d.ts').ContextPart} ContextPart
 * @typedef {import('../rtc-token-usage.d.ts').CompactionDetail} CompactionDetail
 * @typedef {{
 *   progress: (progress: SessionProgress) => void,
 *   compacting: (busy: boolean) => void,
 *   compaction: (detail: CompactionDetail) => void,
 *   state: (state: 'connecting' | 'live' | 'waiting' | 'closed') => void,
 * }} Watcher
 */

/** Follows a session, on a connection of its own or on the page's. */
export class Feed {
  #client;
  #subscription;
  #owned;
  #watcher;
  /** @type {(() => void)[]} */
  #offs = [];

  /**
   * @param {{ client: DeclaredClient, subscription: DeclaredSubscription, owned: boolean }} source
   * @param {Watcher} watcher
   */
  constructor({ client, subscription, owned }, watcher) {
    this.#client = client;
    this.#subscription = subscription;
    this.#owned = owned;
    this.#watcher = watcher;
    this.#offs.push(
      subscription.on('progress', (progress) => watcher.progress(progress)),
      subscription.on('activity', ({ activity }) => watcher.compacting(activity === 'compacting')),
      subscription.on('ready', ({ session }) => watcher.compacting(session.status === 'compacting')),
      subscription.on('entry', (entry) => this.#entry(entry)),
      subscription.on('live', () => this.#tellState()),
      subscription.on('end', () => this.#tellState()),
      client.on('state', () => this.#tellState()),
    );
    if (subscription.progress) watcher.progress(subscription.progress);
    this.#tellState();
  }

  /**
   * A feed on a connection of its own, which asks for no more than credentials to read allow.
   * @param {{ endpoint: string, sessionId: string, ticket: () => string | undefined | Promise<string | undefined> }} where
   * @param {Watcher} watcher
   */
  static open({ endpoint, sessionId, ticket }, watcher) {
    const client = new Client({ url: endpoint, ticket });
    const subscription = client.subscribe(sessionId, { events: 'progress' });
    return new Feed({ client, subscription, owned: true }, watcher);
  }

  /** @returns {Promise<ContextPart[]>} */
  async parts() {
    const { parts } = await this.#client.call('v1.session.context', { session_id: this.#subscription.sessionId });
    return parts;
  }

  /** @returns {Promise<CompactionResult>} */
  compact() { return this.#client.call('v1.session.compact', { session_id: this.#subscription.sessionId }); }

  close() {
    for (const off of this.#offs) off();
    if (this.#owned) this.#client.close();
  }

  /** @param {import('../../client/client.d.ts').Event} entry */
  #entry({ type, data }) {
    // Of the past, which comes first, a meter shows nothing.
    if (!this.#subscription.live) return;
    if (type !== 'compaction.completed' && type !== 'compaction.failed' && type !== 'compaction.undone') return;
    this.#watcher.compacting(false);
    this.#watcher.compaction({
      kind: type === 'compaction.completed' ? 'completed' : type === 'compaction.failed' ? 'failed' : 'undone',
      outcome: data.outcome, tokensBefore: data.tokens_before, tokensAfter: data.tokens_after, data,
    });
  }

  #tellState() {
    const { state } = this.#client;
    if (this.#subscription.ended || state === 'closed') this.#watcher.state('closed');
    else if (this.#subscription.live) this.#watcher.state('live');
    else this.#watcher.state(state === 'waiting' ? 'waiting' : 'connecting');
  }
}
