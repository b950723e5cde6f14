// The client: it keeps a connection, and what lives longer than one.

import { socketAddress } from './address.js';
import { Backoff } from './backoff.js';
import { Calls } from './calls.js';
import { CUT_OFF, mayReconnect, TOO_LARGE } from './close_codes.js';
import { Emitter, emit } from './emitter.js';
import { ConnectionError, RpcError } from './errors.js';
import { Heartbeat } from './heartbeat.js';
import { newKey } from './key.js';
import { Link } from './link.js';
import { WRITES } from './methods.js';
import { openLink } from './open_link.js';
import { Subscription } from './subscription.js';
import { Tools } from './tools.js';
import { onWakeup } from './wakeup.js';

/**
 * @typedef {import('../client.d.ts').ClientOptions} ClientOptions
 * @typedef {import('../client.d.ts').ClientState} ClientState
 * @typedef {import('../client.d.ts').SubscribeOptions} SubscribeOptions
 * @typedef {import('../protocol.d.ts').Methods} Methods
 */

/** A connection that held this long was a good one: the next is tried soon. */
const STEADY_MS = 10_000;

/** See client.d.ts for what it does; README.md for how to use it. */
export class Client extends Emitter {
  #address;
  #options;
  /** @type {ClientState} */
  #state = 'idle';
  #calls;
  #tools = new Tools((...call) => this.call(...call), (error) => emit(this, 'error', error));
  /** @type {Map<string, Subscription>} by session */
  #subscriptions = new Map();
  /** @type {Set<string>} sessions whose unsubscribe call is not answered */
  #leaving = new Set();

  /** The newest try to connect, aborted when it is given up and when the client is closed. */
  #opening = new AbortController();
  #dialing = false; // whether that waits for the server
  /** @type {Link | undefined} */
  #link;
  /** @type {Heartbeat | undefined} */
  #heartbeat;
  #backoff;
  #retryAfterMs = 0; // what the server asked for before it went away
  /** @type {ConnectionError | undefined} why there will be no connection */
  #closed;
  /** @type {ReturnType<typeof setTimeout> | undefined} until the next try, or until the connection is steady */
  #timer;
  #stopWatching = () => {};

  /** @param {ClientOptions} [options] */
  constructor(options = {}) {
    super();
    const { maxInFlight = 32, maxFrameBytes = 8 << 20 } = options;
    this.#address = socketAddress(options.url);
    this.#options = options;
    this.#calls = new Calls({ maxInFlight, maxFrameBytes });
    this.#backoff = new Backoff(options.backoff);
  }

  get state() { return this.#state; }

  /** @returns {Promise<void>} */
  connect() {
    if (this.#state === 'open') return Promise.resolve();
    return new Promise((resolve, reject) => {
      const off = this.on('state', ({ state, error }) => {
        if (state === 'open') resolve();
        else if (state === 'closed') reject(error);
        else return;
        off();
      });
      if (this.#state === 'idle' || this.#state === 'closed') this.#begin();
    });
  }

  close() { this.#finish(new ConnectionError('the client was closed')); }

  /**
   * @template {keyof Methods} M
   * @param {M} method
   * @param {any} [given]
   * @param {{ signal?: AbortSignal } | null} [options]
   * @returns {Promise<any>}
   */
  call(method, given, options) {
    if (method === 'v1.session.subscribe' || method === 'v1.session.unsubscribe') {
      throw new TypeError(`${method} is made by subscribe() and the subscription's close()`);
    }
    const params = paramsOf(method, given);
    const signal = options?.signal;
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      this.#wake();
      let giveUp = () => {};
      const aborted = () => { giveUp(); reject(signal?.reason); };
      signal?.addEventListener('abort', aborted, { once: true });
      giveUp = this.#calls.add({
        method,
        params,
        settle: (error, result) => {
          signal?.removeEventListener('abort', aborted);
          if (error) reject(error); else resolve(result);
        },
      });
    });
  }

  /**
   * @param {string} sessionId
   * @param {SubscribeOptions} [options]
   */
  subscribe(sessionId, options = {}) {
    if (this.#subscriptions.has(sessionId)) throw new TypeError(`there is a subscription to session ${sessionId} already`);
    this.#wake();
    const subscription = new Subscription(sessionId, options, {
      calls: this.#calls, close: () => this.#leave(subscription),
    });
    this.#subscriptions.set(sessionId, subscription);
    subscription.once('end', () => {
      if (this.#subscriptions.get(sessionId) === subscription) this.#subscriptions.delete(sessionId);
    });
    if (options.tools !== false && options.events !== 'progress') this.#tools.watch(subscription);
    if (this.#state === 'open' && !this.#leaving.has(sessionId)) subscription.start();
    return subscription;
  }

  /** @param {string} sessionId */
  subscription(sessionId) { return this.#subscriptions.get(sessionId); }

  /**
   * @param {string} name
   * @param {import('../client.d.ts').ToolSchema} schema
   * @param {import('../client.d.ts').ToolFunction} run
   * @param {import('../client.d.ts').ToolOptions} [options]
   */
  tool(name, schema, run, options = {}) { return this.#tools.add(name, schema, run, options); }

  tools() { return this.#tools.list(); }

  /**
   * Ends a subscription. The server may answer calls in any order: until it has answered
   * this one, the session is not subscribed to again.
   * @param {Subscription} subscription
   */
  #leave(subscription) {
    const { sessionId } = subscription;
    subscription.end();
    if (this.#state !== 'open') return;
    this.#leaving.add(sessionId);
    this.#calls.add({
      method: 'v1.session.unsubscribe',
      params: { session_id: sessionId },
      once: true,
      settle: () => {
        if (this.#leaving.delete(sessionId)) this.#subscriptions.get(sessionId)?.start();
      },
    });
  }

  /** Connects if that was not begun yet. Throws if it is over. */
  #wake() {
    if (this.#closed) throw this.#closed;
    if (this.#state === 'idle') this.#begin();
  }

  #begin() {
    this.#closed = undefined;
    this.#backoff.reset();
    this.#stopWatching = onWakeup((isOnline) => this.#woken(isOnline));
    this.#open();
  }

  /** @param {boolean} isOnline whether the network came back: what was sent before is lost */
  #woken(isOnline) {
    if (this.#state === 'waiting' || (isOnline && this.#dialing)) this.#open();
    else this.#heartbeat?.probe();
  }

  #open() {
    clearTimeout(this.#timer);
    this.#opening.abort();
    const { signal } = this.#opening = new AbortController();
    this.#dialing = false;
    this.#setState('connecting', { attempt: this.#backoff.tries });
    if (signal.aborted) return; // a listener has closed the client
    openLink(this.#address, this.#options, signal, {
      dialing: () => { this.#dialing = true; },
      opened: (link) => this.#opened(link),
      message: (message) => this.#message(message),
      ended: (code, reason) => this.#lost(code, reason),
    }).catch((error) => { if (!signal.aborted) this.#failed(error); });
  }

  /** @param {Link} link */
  #opened(link) {
    this.#link = link;
    this.#dialing = false;
    this.#retryAfterMs = 0;
    this.#timer = setTimeout(() => this.#backoff.reset(), STEADY_MS);
    const { idleMs = 30_000, answerMs = 10_000 } = this.#options.heartbeat ?? {};
    this.#heartbeat = new Heartbeat({
      idleMs,
      answerMs,
      ask: () => this.#calls.add({ method: 'v1.server.info', params: {}, once: true, settle: () => {} }),
      dead: () => link.drop(CUT_OFF, 'the server does not answer'),
    });
    this.#setState('open', {});
    if (this.#link !== link) return; // a listener has closed the client
    for (const subscription of this.#subscriptions.values()) subscription.start();
    this.#calls.attach((frame) => link.send(frame));
  }

  /** @param {import('./link.js').Message} message */
  #message(message) {
    this.#heartbeat?.heard();
    if (message.method === undefined) this.#answered(message);
    else this.#notified(message.method, message.params ?? {});
  }

  /** @param {import('./link.js').Message} message */
  #answered(message) {
    if (message.id != null) this.#calls.answer(message);
    else emit(this, 'error', new RpcError('a message', message.error)); // the server can't tell which
  }

  /**
   * @param {string} method
   * @param {any} params
   */
  #notified(method, params) {
    const { signal } = this.#opening;
    emit(this, 'notification', { method, params });
    if (signal.aborted) return; // a listener has closed the client
    if (method === 'v1.server.notice') this.#noticed(params);
    else this.#subscriptions.get(params.session_id)?.receive(method, params);
  }

  /** @param {import('../protocol.d.ts').ServerNotice} notice */
  #noticed({ kind, retry_after_ms }) {
    if (kind === 'shutting_down') this.#retryAfterMs = retry_after_ms ?? 0;
    if (kind !== 'auth_expiring') return;
    const { signal } = this.#opening;
    this.#letGo()?.close();
    if (!signal.aborted) this.#open(); // with a new ticket all goes on
  }

  /** Forgets the connection, and returns it. */
  #letGo() {
    const link = this.#link;
    this.#link = undefined;
    clearTimeout(this.#timer);
    this.#heartbeat?.stop();
    this.#heartbeat = undefined;
    this.#calls.detach();
    this.#leaving.clear();
    for (const subscription of this.#subscriptions.values()) subscription.stop();
    return link;
  }

  /**
   * The connection ended.
   * @param {number} code
   * @param {string} reason
   */
  #lost(code, reason) {
    const { signal } = this.#opening;
    if (code === TOO_LARGE) this.#calls.refuseLargest();
    this.#letGo();
    if (signal.aborted) return; // a listener has closed the client
    this.#failed(new ConnectionError(reason || 'the connection was lost', { code }));
  }

  /**
   * There is no connection: another is made later, unless that can't help.
   * @param {any} error
   */
  #failed(error) {
    this.#dialing = false;
    const { code } = error;
    if (error.retry === false || (code !== undefined && !mayReconnect(code))) {
      this.#finish(error instanceof ConnectionError ? error : new ConnectionError(error.message, { cause: error }));
      return;
    }
    const retryInMs = this.#backoff.next(this.#retryAfterMs);
    this.#timer = setTimeout(() => this.#open(), retryInMs);
    this.#setState('waiting', { attempt: this.#backoff.tries, retryInMs, code, error });
  }

  /** @param {ConnectionError} error */
  #finish(error) {
    if (this.#closed) return;
    this.#closed = error;
    this.#opening.abort();
    this.#stopWatching();
    this.#letGo()?.close();
    // A listener may connect again: what it asks for then is not ended with this.
    const fail = this.#calls.takeAll();
    const subscriptions = [...this.#subscriptions.values()];
    this.#subscriptions.clear();
    this.#setState('closed', { code: error.code, error });
    fail(error);
    for (const subscription of subscriptions) subscription.end(error);
  }

  /**
   * @param {ClientState} state
   * @param {object} more
   */
  #setState(state, more) {
    this.#state = state;
    emit(this, 'state', { state, ...more });
  }
}

/**
 * Params as they are sent: what changes something has a key.
 * @param {string} method
 * @param {any} given nothing, or an object
 */
function paramsOf(method, given) {
  const params = given ?? {};
  if (typeof params !== 'object' || Array.isArray(params)) throw new TypeError(`${method}: the params are no object`);
  return WRITES.has(method) && params.key === undefined ? { ...params, key: newKey() } : params;
}
