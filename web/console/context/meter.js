// The meter in the header: how full the context is.

import { byId, h } from '../ui/dom.js';
import { count, percentage, short } from '../ui/format.js';

const WIDGET = '/assets/rtc-token-usage.js';

/**
 * @typedef {import('../../client/client.d.ts').SessionProgress} Progress
 * @typedef {import('../../client/client.d.ts').Client} Client
 * @typedef {import('../../client/client.d.ts').Subscription} Subscription
 */

/** Shows progress by the widget where the server has it, else by a plain meter. */
export class Meter {
  #place = byId('meter');
  #compact;
  /** @type {{ client: Client, subscription: Subscription } | undefined} what is followed */
  #source;
  /** @type {any} */
  #widget;
  #hasWidget = false;
  #usable = true;
  #bar = h('meter', { min: 0, max: 100, low: 50, high: 80, optimum: 0, 'aria-label': 'Context' });
  #text = h('span', { class: 'dim' });

  /** @param {() => void} compact is called when the widget's button is pressed */
  constructor(compact) {
    this.#compact = compact;
    this.#place.append(this.#bar, this.#text);
    import(WIDGET).then(() => { this.#hasWidget = true; this.#renew(); }, () => {}); // the plain one stays
  }

  /**
   * @param {Client} client
   * @param {Subscription | undefined} subscription
   */
  follow(client, subscription) {
    this.#source = subscription && { client, subscription };
    this.#place.hidden = true;
    subscription?.on('progress', (progress) => { if (subscription === this.#source?.subscription) this.#show(progress); });
    this.#renew();
  }

  /** Whether the context can be compacted. @param {boolean} usable */
  usable(usable) {
    this.#usable = usable;
    if (this.#widget) this.#widget.compact = usable ? 'auto' : 'hidden';
  }

  /** A new widget for every session: it has nothing of the one before. */
  #renew() {
    if (!this.#hasWidget || !this.#source) return;
    this.#widget = document.createElement('rtc-token-usage');
    this.#widget.connect(this.#source.client, this.#source.subscription);
    this.#widget.addEventListener('compact', (/** @type {Event} */ event) => {
      event.preventDefault(); // the page does it, and says more
      this.#compact();
    });
    this.usable(this.#usable);
    this.#place.replaceChildren(this.#widget);
  }

  /** @param {Progress} progress */
  #show({ current_context_tokens: now, compression_threshold: threshold, compression_progress: percent }) {
    this.#place.hidden = false;
    this.#place.dataset.tokens = String(now);
    this.#bar.value = percent;
    this.#text.textContent = percentage(percent);
    this.#bar.title = `${count(now)} tokens; compaction begins at ${short(threshold)}`;
  }
}
