// The calls that have no answer yet, over as many connections as it takes.

import { frameTooLarge, RpcError } from './errors.js';

/**
 * @typedef {{
 *   method: string,
 *   params: object,
 *   settle: (error: Error | undefined, result?: any) => void,
 *   once?: boolean,
 * }} Request
 *   once: it belongs to the connection it is made on: it is sent at once, before those that
 *   wait, and is forgotten with the connection.
 *   settle is called in the moment the answer comes: what the server sends after it has
 *   not been looked at yet.
 * @typedef {Request & { id: number, tries: number, bytes: number, timer?: ReturnType<typeof setTimeout> }} Call
 */

/** How often a call is repeated that the server had no room for. */
const MAX_TRIES = 8;
/** How long to wait before, if the server does not say. */
const RETRY_MS = 500;

/**
 * What the server has no room for at the moment; it did nothing, and a client can only
 * wait. (Other errors that may pass are for the caller to decide on.)
 */
const NO_ROOM = new Set(['rate_limited', 'overloaded', 'too_many_in_flight']);

/**
 * Keeps calls until they are answered. Those that were sent on a connection that ended
 * are sent again on the next one, in their order: whatever changes something has a key,
 * so the server does it once.
 */
export class Calls {
  /** @type {Map<number, Call>} */
  #sent = new Map();
  /** @type {Call[]} in the order of their ids */
  #queue = [];
  /** @type {((frame: string) => void) | undefined} */
  #write;
  #nextId = 1;
  #maxInFlight;
  #maxFrameBytes;

  /** @param {{ maxInFlight: number, maxFrameBytes: number }} options */
  constructor({ maxInFlight, maxFrameBytes }) {
    this.#maxInFlight = maxInFlight;
    this.#maxFrameBytes = maxFrameBytes;
  }

  /**
   * Makes a call. Returns a function that gives it up.
   * @param {Request} request
   * @returns {() => void}
   */
  add(request) {
    const call = { ...request, id: this.#nextId++, tries: 0, bytes: 0 };
    if (call.once) this.#queue.unshift(call); else this.#queue.push(call);
    this.#flush();
    return () => this.#giveUp(call);
  }

  /**
   * There is a connection.
   * @param {(frame: string) => void} write
   */
  attach(write) {
    this.#write = write;
    this.#flush();
  }

  /** The connection ended. */
  detach() {
    this.#write = undefined;
    const unanswered = [...this.#sent.values(), ...this.#queue].filter((call) => !call.once);
    this.#sent.clear();
    this.#queue = unanswered.sort((a, b) => a.id - b.id);
  }

  /** The connection ended because a frame was too large: the largest, for all we know. */
  refuseLargest() {
    const calls = [...this.#sent.values()];
    if (calls.length === 0) return;
    const largest = calls.reduce((a, b) => (b.bytes > a.bytes ? b : a));
    this.#sent.delete(largest.id);
    largest.settle(frameTooLarge(largest.method, largest.bytes));
  }

  /**
   * Forgets all calls. Returns a function that ends them with an error.
   * @returns {(error: Error) => void}
   */
  takeAll() {
    const calls = [...this.#sent.values(), ...this.#queue];
    this.#sent.clear();
    this.#queue = [];
    for (const call of calls) clearTimeout(call.timer);
    return (error) => { for (const call of calls) call.settle(error); };
  }

  /**
   * An answer came. One to a call that was given up is ignored.
   * @param {{ id?: any, result?: any, error?: any }} message
   */
  answer({ id, result, error }) {
    const call = this.#sent.get(id);
    if (!call) return;
    this.#sent.delete(id);
    if (!error) call.settle(undefined, result);
    else if (!this.#again(call, error)) call.settle(new RpcError(call.method, error));
    this.#flush();
  }

  /**
   * Puts a call back that is to be repeated, and says whether it is.
   * @param {Call} call
   * @param {any} error
   */
  #again(call, error) {
    const kind = error.data?.kind;
    if (call.once) return false;
    if (kind === 'shutting_down') { // goes to the next connection
      this.#sent.set(call.id, call);
      return true;
    }
    if (!NO_ROOM.has(kind) || ++call.tries > MAX_TRIES) return false;
    const wait = (error.data.retry_after_ms ?? RETRY_MS * call.tries) * (1 + Math.random() / 2);
    call.timer = setTimeout(() => { call.timer = undefined; this.#flush(); }, wait);
    this.#queue.push(call);
    return true;
  }

  /** @param {Call} call */
  #giveUp(call) {
    clearTimeout(call.timer);
    this.#queue = this.#queue.filter((other) => other !== call);
    if (!this.#sent.delete(call.id)) return;
    this.#write?.(JSON.stringify({ jsonrpc: '2.0', method: '$/cancelRequest', params: { id: call.id } }));
    this.#flush();
  }

  /** Sends what may be sent. */
  #flush() {
    if (!this.#write) return;
    for (const call of this.#queue) {
      if (call.timer !== undefined) continue;
      if (call.once || this.#sent.size < this.#maxInFlight) this.#send(call);
    }
  }

  /** @param {Call} call */
  #send(call) {
    this.#queue = this.#queue.filter((other) => other !== call);
    const { id, method, params } = call;
    let frame;
    try {
      frame = JSON.stringify({ jsonrpc: '2.0', id, method, params });
    } catch (error) { // what can't be written must not keep the others from being sent
      call.settle(new TypeError(`${method}: the params can't be written as JSON`, { cause: error }));
      return;
    }
    call.bytes = byteLength(frame);
    if (call.bytes > this.#maxFrameBytes) {
      call.settle(frameTooLarge(method, call.bytes, this.#maxFrameBytes));
      return;
    }
    this.#sent.set(id, call);
    this.#write?.(frame);
  }
}

const encoder = new TextEncoder();

/**
 * The size of a text in UTF-8. Small ones are not worth counting.
 * @param {string} text
 */
function byteLength(text) {
  return text.length < 1024 ? text.length : encoder.encode(text).length;
}
