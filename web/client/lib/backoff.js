// How long to wait before the next try.

/** Delays that double from try to try, each cut by up to a half at random. */
export class Backoff {
  #minMs;
  #maxMs;
  #tries = 0;

  /** @param {{ minMs?: number, maxMs?: number }} [options] */
  constructor({ minMs = 500, maxMs = 15_000 } = {}) {
    this.#minMs = minMs;
    this.#maxMs = maxMs;
  }

  /** How many delays were given since the last reset. */
  get tries() { return this.#tries; }

  /**
   * The next delay in milliseconds, never shorter than what the server asked for.
   * @param {number} [atLeastMs]
   */
  next(atLeastMs = 0) {
    const ceiling = Math.min(this.#maxMs, this.#minMs * 2 ** this.#tries);
    this.#tries++;
    return Math.round(atLeastMs + ceiling * (1 + Math.random()) / 2);
  }

  reset() { this.#tries = 0; }
}
