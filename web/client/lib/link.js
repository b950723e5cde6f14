// One connection.

import { CUT_OFF } from './close_codes.js';

/**
 * @typedef {import('../client.d.ts').WebSocketLike} WebSocketLike
 * @typedef {{ id?: number | string | null, method?: string, params?: any, result?: any, error?: any }} Message
 * @typedef {{
 *   opened: () => void,
 *   message: (message: Message) => void,
 *   ended: (code: number, reason: string) => void,
 * }} Watcher
 */

/** A WebSocket that speaks JSON-RPC. What comes is told to a watcher, the end once. */
export class Link {
  #socket;
  #watcher;
  #ended = false;
  /** @type {string | undefined} */
  #fault;

  /**
   * @param {WebSocketLike} socket
   * @param {Watcher} watcher
   */
  constructor(socket, watcher) {
    this.#socket = socket;
    this.#watcher = watcher;
    socket.addEventListener('open', () => { if (!this.#ended) watcher.opened(); });
    socket.addEventListener('message', ({ data }) => this.#received(data));
    // In a browser the event says nothing; in Node it has the reason of a refusal.
    socket.addEventListener('error', (event) => { this.#fault = event.message; });
    socket.addEventListener('close', ({ code, reason }) => this.#end(code, String(reason || this.#fault || '')));
  }

  /** @param {string} frame */
  send(frame) { if (!this.#ended) this.#socket.send(frame); }

  /**
   * Ends the connection at once, without waiting for the other side: its word may never
   * come.
   * @param {number} code what the watcher is told
   * @param {string} reason
   */
  drop(code, reason) {
    this.#end(code, reason);
    this.#socket.close();
  }

  /** Ends the connection; the watcher is told nothing any more. */
  close() {
    this.#ended = true;
    this.#socket.close(1000);
  }

  /** @param {unknown} data */
  #received(data) {
    if (this.#ended) return;
    let message;
    try {
      message = JSON.parse(String(data));
    } catch {
      this.drop(CUT_OFF, 'the server sent what is no message');
      return;
    }
    this.#watcher.message(message);
  }

  /**
   * @param {number} code
   * @param {string} reason
   */
  #end(code, reason) {
    if (this.#ended) return;
    this.#ended = true;
    this.#watcher.ended(code, reason);
  }
}
