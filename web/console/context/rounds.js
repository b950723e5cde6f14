// The course of a conversation: one point for every answered call of the model and for
// every compaction. Read from the log, so it is the same after a reload.

/**
 * @typedef {{ kind: 'round', seq: number, tokens: number, cost: number }} Round cost: all until here, in US dollars
 * @typedef {{ kind: 'compaction', seq: number, before: number, after: number, undone?: boolean }} Compacted
 * @typedef {Round | Compacted} Point
 */

/** Collects the points. */
export class Rounds {
  /** @type {Point[]} */
  points = [];
  #cost = 0;

  reset() {
    this.points = [];
    this.#cost = 0;
  }

  /**
   * Whether the entry made a point.
   * @param {import('../../client/client.d.ts').Event} entry
   */
  add({ type, seq, data }) {
    if (type === 'message.added' && data.message.role === 'assistant' && data.message.usage) this.#round(seq, data.message.usage);
    else if (type === 'compaction.completed') this.#compacted(seq, data, false);
    else if (type === 'compaction.undone') this.#compacted(seq, data, true);
    else return false;
    return true;
  }

  /**
   * @param {number} seq
   * @param {import('../../client/client.d.ts').Usage} usage
   */
  #round(seq, usage) {
    this.#cost += usage.cost_usd;
    const tokens = usage.input + usage.cache_read + usage.cache_write_5m + usage.cache_write_1h + usage.output;
    this.points.push({ kind: 'round', seq, tokens, cost: this.#cost });
  }

  /**
   * @param {number} seq
   * @param {import('../../client/client.d.ts').CompactionResult} result
   * @param {boolean} undone
   */
  #compacted(seq, { tokens_before: before = 0, tokens_after: after = 0, cost_usd: cost = 0 }, undone) {
    this.#cost += cost;
    this.points.push({ kind: 'compaction', seq, before, after, ...(undone && { undone }) });
  }
}
