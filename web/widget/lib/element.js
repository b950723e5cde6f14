// The element: its properties, its attributes, and what becomes of them.

import { RpcError } from '../../client/client.js';
import { Feed } from './feed.js';
import { amount, contextParts, text, usageDetails } from './given.js';
import { languageOf, watchLanguage } from './language.js';
import { bandOf } from './meter.js';
import { Panel } from './panel.js';
import { build } from './view.js';
import { speak } from './words.js';

/**
 * @typedef {import('../rtc-token-usage.d.ts').Messages} Messages
 * @typedef {import('../rtc-token-usage.d.ts').UsageDetails} UsageDetails
 * @typedef {import('../rtc-token-usage.d.ts').ContextPart} ContextPart
 * @typedef {import('../rtc-token-usage.d.ts').Band} Band
 * @typedef {import('../rtc-token-usage.d.ts').CompactionDetail} CompactionDetail
 * @typedef {string | (() => string | undefined | Promise<string | undefined>) | undefined} Ticket
 */

/** Properties that only change what is shown: their values when nothing is known. */
const NUMBERS = /** @type {const} */ ({
  estimatedNext: 0, totalTokens: 0, totalCostUsd: 0, compressionThreshold: 0, compressionProgress: 0, roundsUntilCompression: -1,
});

/** Properties that may have been set before the element was defined. */
const PROPERTIES = [
  ...Object.keys(NUMBERS), 'details', 'parts', 'compacting', 'theme', 'endpoint', 'sessionId', 'ticket', 'compact', 'messages',
];

export class RtcTokenUsage extends HTMLElement {
  static observedAttributes = ['theme', 'lang', 'endpoint', 'session-id', 'ticket', 'compact'];

  #view;
  #panel;
  /** @type {Record<keyof typeof NUMBERS, number>} */
  #numbers = { ...NUMBERS };
  /** @type {UsageDetails | undefined} */
  #details;
  /** @type {ContextPart[]} */
  #parts = [];
  #compacting = false;
  /** @type {Partial<Messages> | undefined} */
  #messages;
  /** @type {Ticket} */
  #ticket;
  /** @type {string | undefined} */
  #usedTicket;

  /** @type {number | undefined} */
  #contextTokens;
  /** @type {boolean | undefined} */
  #estimated;
  /** @type {'none' | 'connecting' | 'live' | 'waiting' | 'closed'} */
  #state = 'none';
  #forbidden = false;
  /** @type {(speech: import('./words.js').Speech) => string} */
  #note = () => '';

  /** @type {Feed | undefined} */
  #feed;
  /** @type {{ client: any, subscription: any } | undefined} what the page follows itself */
  #given;
  #asking = false; // for the parts
  #stale = false; // they changed since they were asked for
  #known = false; // whether there is a progress
  /** @type {Band | undefined} */
  #band;
  #due = new Set();
  /** @type {string | undefined} the session that is followed */
  #source;
  #fed = false; // whether what is shown is of a session that is or was followed
  #stopWatching = () => {};

  constructor() {
    super();
    this.#view = build(this.attachShadow({ mode: 'open' }));
    const { ring: anchor, open: button, panel, compact } = this.#view;
    this.#panel = new Panel({ host: this, anchor, button, panel }, (open) => { if (open) this.#askForParts(); });
    compact.addEventListener('click', () => this.#compactPressed());
    for (const name of PROPERTIES) this.#upgrade(name);
  }

  connectedCallback() {
    this.#stopWatching = watchLanguage(this, () => this.#soon('render'));
    this.#soon('feed');
    this.#soon('render');
  }

  disconnectedCallback() {
    this.#stopWatching();
    this.#panel.close();
    this.#soon('feed'); // unless it only moves to another place
  }

  /**
   * @param {string} name
   * @param {string | null} old
   * @param {string | null} value
   */
  attributeChangedCallback(name, old, value) {
    if (old === value) return;
    if (name === 'ticket') this.#ticket = value ?? undefined;
    if (name === 'endpoint' || name === 'session-id' || name === 'ticket') this.#again();
    this.#soon('render');
  }

  get estimatedNext() { return this.#numbers.estimatedNext; }

  set estimatedNext(value) { this.#setNumber('estimatedNext', value); }

  get totalTokens() { return this.#numbers.totalTokens; }

  set totalTokens(value) { this.#setNumber('totalTokens', value); }

  get totalCostUsd() { return this.#numbers.totalCostUsd; }

  set totalCostUsd(value) { this.#setNumber('totalCostUsd', value); }

  get compressionThreshold() { return this.#numbers.compressionThreshold; }

  set compressionThreshold(value) { this.#setNumber('compressionThreshold', value); }

  get compressionProgress() { return this.#numbers.compressionProgress; }

  set compressionProgress(value) { this.#setNumber('compressionProgress', value); }

  get roundsUntilCompression() { return this.#numbers.roundsUntilCompression; }

  set roundsUntilCompression(value) { this.#setNumber('roundsUntilCompression', value); }

  get details() { return this.#details; }

  set details(value) { this.#details = usageDetails(value); this.#soon('render'); }

  get parts() { return this.#parts; }

  set parts(value) { this.#parts = contextParts(value); this.#soon('render'); }

  get compacting() { return this.#compacting; }

  set compacting(value) { this.#compacting = Boolean(value); this.#soon('render'); }

  get messages() { return this.#messages; }

  set messages(value) { this.#messages = value; this.#soon('render'); }

  get theme() {
    const value = this.getAttribute('theme');
    return value === 'light' || value === 'dark' ? value : 'system';
  }

  set theme(value) { this.setAttribute('theme', text(value)); }

  get compact() {
    const value = this.getAttribute('compact');
    return value === 'show' || value === 'hidden' ? value : 'auto';
  }

  set compact(value) { this.setAttribute('compact', text(value)); }

  get endpoint() { return this.getAttribute('endpoint') ?? undefined; }

  set endpoint(value) { this.#setAttribute('endpoint', value); }

  get sessionId() { return this.getAttribute('session-id') ?? undefined; }

  set sessionId(value) { this.#setAttribute('session-id', value); }

  get ticket() { return this.#ticket; }

  set ticket(value) {
    this.#ticket = typeof value === 'string' || typeof value === 'function' ? value : undefined;
    this.#again();
  }

  get state() { return this.#state; }

  /**
   * @param {any} [client]
   * @param {any} [subscription]
   */
  connect(client, subscription) {
    this.#given = client && subscription ? { client, subscription } : undefined;
    this.#again();
  }

  /**
   * Puts the focus where the keyboard goes on from.
   * @param {FocusOptions} [options]
   */
  focus(options) { this.#view.open.focus(options); }

  /**
   * Properties that were set on the plain element hide the accessors: they are set anew.
   * @param {string} name
   */
  #upgrade(name) {
    if (!Object.hasOwn(this, name)) return;
    const self = /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (this));
    const value = self[name];
    delete self[name];
    queueMicrotask(() => { self[name] = value; }); // a constructor must not add attributes
  }

  /**
   * @param {string} name
   * @param {string | undefined} value
   */
  #setAttribute(name, value) { if (value === undefined || value === null) this.removeAttribute(name); else this.setAttribute(name, text(value)); }

  /**
   * @param {keyof typeof NUMBERS} name
   * @param {unknown} value
   */
  #setNumber(name, value) {
    const number = amount(value, NUMBERS[name]);
    this.#numbers[name] = name === 'roundsUntilCompression' ? Math.ceil(number) : number;
    this.#known ||= name === 'compressionProgress';
    this.#soon('render');
  }

  /**
   * Does something when the page has said all it has to say.
   * @param {'feed' | 'render'} what
   */
  #soon(what) {
    if (this.#due.has(what)) return;
    this.#due.add(what);
    queueMicrotask(() => {
      this.#due.delete(what);
      if (what === 'feed') this.#follow(); else this.#render();
    });
  }

  /** Follows another session, or with other credentials. */
  #again() {
    this.#feed?.close();
    this.#feed = undefined;
    const source = this.#sourceNow();
    if (source !== this.#source) this.#forget();
    this.#source = source;
    this.#soon('feed');
  }

  /** What tells the session that is to be followed from others. */
  #sourceNow() {
    const { endpoint, sessionId } = this;
    if (this.#given) return JSON.stringify([text(this.#given.subscription.sessionId)]);
    return endpoint === undefined || !sessionId ? undefined : JSON.stringify([endpoint, sessionId]);
  }

  /** Forgets what was known of a session: the next one's first numbers are no news. */
  #forget() {
    this.#band = undefined;
    this.#known = false;
    if (!this.#fed) return; // what the page gave stays until something is known
    this.#fed = false;
    this.#numbers = { ...NUMBERS };
    this.#contextTokens = this.#estimated = this.#details = undefined;
    this.#parts = [];
    this.#compacting = false;
    this.#note = () => '';
    this.#soon('render');
  }

  #follow() {
    if (!this.isConnected) {
      this.#feed?.close();
      this.#feed = undefined;
      return;
    }
    if (this.#feed) return;
    this.#forbidden = false;
    this.#note = () => '';
    try {
      this.#feed = this.#newFeed();
      if (!this.#feed) this.#setState('none');
    } catch (error) { // an endpoint that is no address
      console.warn('rtc-token-usage:', error);
      this.#setState('closed');
    }
  }

  #newFeed() {
    const { endpoint, sessionId } = this;
    if (this.#given) return new Feed({ ...this.#given, owned: false }, this.#watcher());
    if (endpoint === undefined || !sessionId) return undefined;
    return Feed.open({ endpoint, sessionId, ticket: this.#ticketSource() }, this.#watcher());
  }

  /** Tickets serve once: one that was given as a text is good for one connection. */
  #ticketSource() {
    const ticket = this.#ticket;
    if (typeof ticket === 'function') return ticket;
    return () => {
      if (ticket && ticket === this.#usedTicket) throw Object.assign(new Error('the ticket was used'), { retry: false });
      return this.#usedTicket = ticket;
    };
  }

  /** @returns {import('./feed.js').Watcher} */
  #watcher() {
    return {
      progress: (progress) => this.#progressed(progress),
      compacting: (busy) => { this.compacting = busy; },
      compaction: (detail) => this.#compacted(detail),
      state: (state) => this.#setState(state),
    };
  }

  /** @param {import('../../client/client.d.ts').SessionProgress} progress */
  #progressed({ usage, ...progress }) {
    const cachedWrite = usage.cache_write_5m + usage.cache_write_1h;
    this.#fed = true;
    this.#contextTokens = progress.current_context_tokens;
    this.#estimated = progress.estimated;
    this.estimatedNext = progress.estimated_next_round_tokens;
    this.compressionThreshold = progress.compression_threshold;
    this.compressionProgress = progress.compression_progress;
    // Before anything was said there is no threshold, and no round to count from.
    this.roundsUntilCompression = progress.compression_threshold > 0 ? progress.rounds_until_compression : -1;
    this.totalTokens = usage.input + usage.output + usage.cache_read + cachedWrite;
    this.totalCostUsd = usage.cost_usd;
    this.details = { input: usage.input, output: usage.output, cachedRead: usage.cache_read, cachedWrite, reasoning: usage.reasoning };
    this.#askForParts();
  }

  /** @param {CompactionDetail} detail */
  #compacted(detail) {
    const { kind, tokensBefore, tokensAfter } = detail;
    this.#note = ({ words, number }) => (kind === 'failed' ? words.failed : words[kind](number(tokensBefore), number(tokensAfter)));
    this.#soon('render');
    this.#askForParts();
    this.#tell('compaction', detail);
  }

  /** @param {'none' | 'connecting' | 'live' | 'waiting' | 'closed'} state */
  #setState(state) {
    this.#state = state;
    if (state !== 'live' && state !== 'none') this.#compacting = false;
    if (state === 'live') this.#askForParts();
    this.#soon('render');
  }

  /** The parts are asked for only while they are seen, one question at a time. */
  async #askForParts() {
    const feed = this.#feed;
    if (!feed || !this.#panel.isOpen || this.#state !== 'live') return;
    this.#stale = true;
    if (this.#asking) return;
    this.#asking = true;
    try {
      while (this.#stale && feed === this.#feed) {
        this.#stale = false;
        const parts = await feed.parts();
        if (feed === this.#feed) this.parts = parts;
      }
    } catch {
      // What is shown stays; the next change asks again.
    } finally {
      this.#asking = false;
    }
    if (this.#stale && feed !== this.#feed) this.#askForParts();
  }

  async #compactPressed() {
    const feed = this.#feed;
    if (this.#compacting || !this.#tell('compact', undefined, true) || !feed) return;
    this.#note = () => '';
    this.compacting = true;
    try {
      const { outcome } = await feed.compact();
      if (feed === this.#feed && outcome === 'noop') this.#note = ({ words }) => words.noop;
    } catch (error) {
      if (feed !== this.#feed) return;
      this.#forbidden = error instanceof RpcError && error.kind === 'forbidden';
      this.#note = this.#forbidden ? ({ words }) => words.forbidden : ({ words }) => words.unavailable;
    } finally {
      if (feed === this.#feed) this.compacting = false;
    }
  }

  /**
   * @param {string} type
   * @param {unknown} detail
   * @param {boolean} [cancelable]
   */
  #tell(type, detail, cancelable = false) {
    return this.dispatchEvent(new CustomEvent(type, { detail, cancelable, bubbles: true, composed: true }));
  }

  #render() {
    if (!this.isConnected) return;
    const speech = speak(languageOf(this), this.#messages);
    const connected = this.#feed !== undefined;
    this.#view.render({
      ...this.#numbers,
      details: this.#details,
      contextTokens: this.#contextTokens ?? this.#numbers.compressionProgress / 100 * this.#numbers.compressionThreshold,
      estimated: this.#estimated,
      parts: this.#parts,
      compacting: this.#compacting,
      compactable: this.compact === 'show' || (this.compact === 'auto' && connected && !this.#forbidden),
      state: this.#state,
      note: this.#note(speech),
    }, speech);
    this.#tellBand();
  }

  /** Tells when the progress came into another band; the first one is no news. */
  #tellBand() {
    if (!this.#known) return;
    const progress = this.#numbers.compressionProgress;
    const [previous, band] = [this.#band, bandOf(progress)];
    this.#band = band;
    if (previous !== undefined && previous !== band) this.#tell('threshold', { band, previous, progress });
  }
}
