// One session's log, complete over many connections.

import { Emitter, emit } from './emitter.js';
import { ConnectionError, RpcError } from './errors.js';
import { Backoff } from './backoff.js';
import { Items } from './items.js';

/**
 * @typedef {import('../protocol.d.ts').Entry} Entry
 * @typedef {import('../protocol.d.ts').Event} Event
 * @typedef {import('../protocol.d.ts').Session} Session
 * @typedef {import('../protocol.d.ts').SessionProgress} SessionProgress
 * @typedef {import('../protocol.d.ts').SubscribeResult} SubscribeResult
 * @typedef {import('../protocol.d.ts').PendingToolCall} PendingToolCall
 * @typedef {import('../client.d.ts').SubscribeOptions} SubscribeOptions
 * @typedef {import('./calls.js').Calls} Calls
 */

/**
 * Hands out every entry after a position exactly once and in order, whatever becomes of
 * connections. The client starts it on every connection, stops it with that, and passes
 * on what the server sends; start, stop, end and receive are not for others.
 */
export class Subscription extends Emitter {
  /** @type {Session | undefined} as of the last time it went live */
  session;
  /** @type {string | undefined} */
  logId;
  /** @type {number | undefined} the last entry that was handed out */
  lastSeq;
  /** @type {PendingToolCall[]} as of the last time it went live */
  pendingToolCalls = [];
  /** @type {SessionProgress | undefined} the newest */
  progress;

  #calls;
  #close;
  #options;
  #items = new Items(
    (item, added) => emit(this, 'item', { item, added }),
    (item, reason) => emit(this, 'itemend', { item, reason }),
  );

  #live = false;
  #ended = false;
  #asking = false;
  #gapless;
  #run = 0; // counts starts and stops: an answer to an older one is worthless
  #backoff = new Backoff();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {(session: Session) => void} */
  #resolve = () => {};
  /** @type {(error: Error) => void} */
  #reject = () => {};

  /**
   * @param {string} sessionId
   * @param {SubscribeOptions} options
   * @param {{ calls: Calls, close: () => void }} client
   */
  constructor(sessionId, options, { calls, close }) {
    super();
    this.sessionId = sessionId;
    this.lastSeq = options.afterSeq;
    this.logId = options.logId;
    this.#options = options;
    this.#gapless = options.events !== 'progress';
    this.#calls = calls;
    this.#close = close;
    /** @type {Promise<Session>} */
    this.ready = new Promise((resolve, reject) => { this.#resolve = resolve; this.#reject = reject; });
    this.ready.catch(() => {}); // who does not wait for it listens to end
  }

  /** Whether it has caught up and hears everything new. */
  get live() { return this.#live; }

  /** Whether it is over. */
  get ended() { return this.#ended; }

  /** The blocks that are being written right now. */
  get items() { return this.#items.list(); }

  /** Ends it. */
  close() { if (!this.#ended) this.#close(); }

  start() {
    this.#run++;
    this.#ask();
  }

  stop() {
    this.#run++;
    this.#asking = false;
    clearTimeout(this.#timer);
    this.#setLive(false);
  }

  /** @param {Error} [error] */
  end(error) {
    if (this.#ended) return;
    this.stop();
    this.#ended = true;
    this.#items.end('ended');
    this.#reject(error ?? new ConnectionError('the subscription was closed'));
    emit(this, 'end', { error });
  }

  /**
   * @param {string} method
   * @param {any} params
   */
  receive(method, params) {
    if (method === 'v1.session.event') this.#apply(params);
    if (method === 'v1.session.delta') this.#items.delta(params);
    if (method === 'v1.session.activity') emit(this, 'activity', params);
    if (method === 'v1.session.progress') this.#progressed(params);
  }

  /** Asks for what is missing. */
  #ask() {
    this.#asking = true;
    this.#setLive(false);
    const { deltas = true, events = 'all' } = this.#options;
    const after = this.#gapless && this.lastSeq !== undefined
      ? { after_seq: this.lastSeq, ...(this.logId && { log_id: this.logId }) } : {};
    const run = this.#run;
    this.#calls.add({
      method: 'v1.session.subscribe',
      params: { session_id: this.sessionId, deltas, events, ...after },
      once: true,
      settle: (error, page) => {
        if (run !== this.#run) return;
        this.#asking = false;
        if (error) this.#failed(error); else this.#caughtUp(page);
      },
    });
  }

  /** @param {SubscribeResult} page */
  #caughtUp(page) {
    const from = this.lastSeq ?? page.head_seq;
    this.logId = page.log_id;
    this.lastSeq ??= page.head_seq;
    // Credentials that may only read are not told entries, and have no gaps to fill.
    if (!page.more && page.entries.length === 0 && page.head_seq > from) this.#gapless = false;
    const run = this.#run;
    for (const entry of page.entries) this.#apply({ session_id: this.sessionId, ...entry });
    if (run !== this.#run) return;
    if (page.more) this.#ask(); else this.#goLive(page);
  }

  /** @param {SubscribeResult} page */
  #goLive(page) {
    this.#backoff.reset();
    this.session = page.session;
    this.pendingToolCalls = page.pending_tool_calls;
    this.#items.replace(page.open_items ?? []);
    this.#setLive(true);
    this.#resolve(page.session);
    emit(this, 'ready', { session: page.session, headSeq: page.head_seq, pendingToolCalls: page.pending_tool_calls });
    this.#progressed(progressOf(page.session));
  }

  /** @param {SessionProgress} progress */
  #progressed(progress) {
    this.progress = progress;
    emit(this, 'progress', progress);
  }

  /** @param {Event} event */
  #apply(event) {
    if (this.#ended) return;
    if (this.#gapless && this.lastSeq !== undefined) {
      if (event.seq <= this.lastSeq) return;
      if (event.seq > this.lastSeq + 1) {
        if (!this.#asking) this.#ask();
        return;
      }
    }
    this.lastSeq = event.seq;
    emit(this, 'entry', event);
    this.#items.entry(event);
    if (event.type === 'session.deleted') this.close();
  }

  /** @param {Error} error */
  #failed(error) {
    if (!(error instanceof RpcError)) return this.end(error);
    if (error.kind === 'log_reset' && (this.lastSeq || this.logId)) return this.#startOver();
    if (error.kind === 'shutting_down') return; // goes on with the next connection
    if (!error.retryable) return this.end(error);
    this.#timer = setTimeout(() => this.#ask(), this.#backoff.next(error.retryAfterMs));
  }

  #startOver() {
    this.lastSeq = 0;
    this.logId = undefined;
    this.#items.end('replaced');
    emit(this, 'reset', undefined);
    if (!this.#ended) this.#ask();
  }

  /** @param {boolean} live */
  #setLive(live) {
    if (live === this.#live) return;
    this.#live = live;
    emit(this, 'live', live);
  }
}

/**
 * A session's progress in the form in which the server sends it.
 * @param {Session} session
 * @returns {SessionProgress}
 */
function progressOf(session) {
  return {
    session_id: session.id,
    current_context_tokens: session.current_context_tokens,
    compression_threshold: session.compression_threshold,
    compression_progress: session.compression_progress,
    estimated_next_round_tokens: session.estimated_next_round_tokens,
    rounds_until_compression: session.rounds_until_compression,
    estimated: session.estimated,
    usage: session.usage,
  };
}
