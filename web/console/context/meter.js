// The meter in the header: how full the context is.

import { byId, h } from '../ui/dom.js';
import { count, percentage, short } from '../ui/format.js';

const WIDGET = '/assets/rtc-token-usage.js';

/** @typedef {import('../../client/client.d.ts').SessionProgress} Progress */

/** Shows progress by the widget where the server has it, else by a plain meter. */
export class Meter {
  #place = byId('meter');
  /** @type {any} */
  #widget;
  #bar = h('meter', { min: 0, max: 100, low: 50, high: 80, optimum: 0, 'aria-label': 'Context' });
  #text = h('span', { class: 'dim' });
  /** @type {Progress | undefined} */
  #progress;

  #compacting = false;

  /** @param {() => void} compact is called when the widget's button is pressed */
  constructor(compact) {
    this.#place.append(this.#bar, this.#text);
    import(WIDGET).then(() => {
      this.#widget = document.createElement('rtc-token-usage');
      this.#widget.compact = 'show';
      this.#widget.compacting = this.#compacting;
      this.#widget.addEventListener('compact', compact);
      this.#place.replaceChildren(this.#widget);
      this.show(this.#progress);
    }, () => {}); // the plain one stays
  }

  /** @param {Progress | undefined} progress */
  show(progress) {
    this.#progress = progress;
    this.#place.hidden = !progress;
    if (!progress) return;
    const { current_context_tokens: now, compression_threshold: threshold, compression_progress: percent } = progress;
    this.#place.dataset.tokens = String(now);
    this.#bar.value = percent;
    this.#text.textContent = percentage(percent);
    this.#bar.title = `${count(now)} tokens; compaction begins at ${short(threshold)}`;
    if (this.#widget) show(this.#widget, progress);
  }

  /** @param {boolean} compacting */
  busy(compacting) {
    this.#compacting = compacting;
    if (this.#widget) this.#widget.compacting = compacting;
  }
}

/**
 * @param {any} widget
 * @param {Progress} progress
 */
function show(widget, { usage, ...p }) {
  Object.assign(widget, {
    estimatedNext: p.current_context_tokens,
    totalTokens: usage.input + usage.output + usage.cache_read + usage.cache_write_5m + usage.cache_write_1h,
    totalCostUsd: usage.cost_usd,
    compressionThreshold: p.compression_threshold,
    compressionProgress: p.compression_progress,
    roundsUntilCompression: p.rounds_until_compression,
    details: {
      input: usage.input, output: usage.output, cachedRead: usage.cache_read,
      cachedWrite: usage.cache_write_5m + usage.cache_write_1h, reasoning: usage.reasoning,
    },
  });
}
