// One message of the model, while it is written and afterwards.

import { h } from '../ui/dom.js';
import { markdown } from '../ui/markdown.js';
import { isCut, missingCard } from './file_block.js';
import { ToolCard } from './tool_card.js';

const LEAST_PAUSE_MS = 60; // between two times that a growing text is put into the page
const SHARE = 4; // of the time that may go into it: a quarter

/**
 * @typedef {import('../../client/client.d.ts').Item} Item
 * @typedef {import('../../client/client.d.ts').Message} Message
 */

/** Shows the blocks of a message; the stored message takes the place of what was streamed. */
export class Answer {
  element = h('article', { class: 'assistant', 'aria-label': 'Answer' });

  /** @type {Map<string, Growing>} by item */
  #items = new Map();
  #tools;

  /** @param {(id: string, name: string) => ToolCard} tools finds or makes the card of a call */
  constructor(tools) { this.#tools = tools; }

  /** @param {Item} item */
  grow(item) {
    let growing = this.#items.get(item.itemId);
    if (!growing) {
      growing = new Growing(item.kind);
      this.#items.set(item.itemId, growing);
      this.element.append(growing.element);
    }
    this.element.classList.add('growing');
    growing.show(item);
  }

  /** @param {Message} message */
  store({ content }) {
    const openThoughts = [...this.#items.values()].some((g) => g.isOpenThought);
    for (const growing of this.#items.values()) growing.end();
    this.#items.clear();
    this.element.classList.remove('growing');
    const blocks = content.map((block) => this.#block(block, openThoughts)).filter((e) => e !== undefined);
    this.element.replaceChildren(...(blocks.length ? blocks : [h('p', { class: 'dim' }, 'The answer is empty.')]));
  }

  /** The same message, with what was left out. @param {Message} message */
  fill(message) {
    const more = [...this.element.querySelectorAll(':scope > .actions')];
    this.store(message);
    this.element.append(...more);
  }

  /** What was streamed is not going on. */
  stop() {
    for (const growing of this.#items.values()) growing.end();
    this.element.classList.remove('growing');
  }

  /**
   * @param {import('../../client/client.d.ts').Block} block
   * @param {boolean} open
   */
  #block(block, open) {
    if (block.type === 'text') return isCut(block) ? missingCard(block) : block.text?.trim() ? prose(block.text) : undefined;
    if (block.type === 'thinking') return thought(block.text ?? '', open);
    if (block.type !== 'tool_use') return undefined;
    const card = this.#tools(block.id, block.name);
    card.called(block.name, block.input);
    return card.element;
  }
}

/** A block that is being written. */
class Growing {
  element;
  #kind;
  #card;
  #text = '';
  #readyAt = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {Item['kind']} kind */
  constructor(kind) {
    this.#kind = kind;
    this.#card = kind === 'tool_input' ? new ToolCard() : undefined;
    this.element = this.#card?.element ?? (kind === 'thinking' ? thought('') : prose(''));
  }

  get isOpenThought() { return this.element instanceof HTMLDetailsElement && this.#kind === 'thinking' && this.element.open; }

  /** @param {Item} item */
  show({ text }) {
    this.#text = text;
    this.#timer ??= setTimeout(() => this.#draw(), Math.max(0, this.#readyAt - performance.now()));
  }

  end() { clearTimeout(this.#timer); }

  #draw() {
    this.#timer = undefined;
    const begun = performance.now();
    if (this.#kind === 'tool_input') this.#card?.writing(this.#text);
    else if (this.#kind === 'text') this.element.replaceChildren(markdown(this.#text));
    else /** @type {Element} */ (this.element.lastElementChild).textContent = this.#text;
    const now = performance.now();
    this.#readyAt = now + Math.max(LEAST_PAUSE_MS, (now - begun) * SHARE);
  }
}

/** @param {string} text */
function prose(text) {
  const element = h('div', { class: 'prose' });
  element.append(markdown(text));
  return element;
}

/**
 * @param {string} text
 * @param {boolean} [open]
 */
function thought(text, open = false) {
  return h('details', { class: 'fold thinking', open }, h('summary', {}, 'Thinking'), h('div', { class: 'pre' }, text || 'Not shown by the provider.'));
}
