// One tool call: what was called, and what came of it. Folded.

import { h } from '../ui/dom.js';
import { count } from '../ui/format.js';
import { imageCard, isCut, missingCard } from './file_block.js';

const SHOWN_CHARS = 20_000; // of a result: more is of no use to eyes

/** @typedef {import('../../client/client.d.ts').Block} Block */

/** A call, from the first piece of its input to its result. */
export class ToolCard {
  #name = h('code', { class: 'name' });
  #gist = h('span', { class: 'gist dim' });
  #status = h('span', { class: 'status dim' }, 'called');
  #input = h('pre', { class: 'input' });
  #result = h('div', { class: 'result' });

  /** @param {string} [name] */
  constructor(name = 'tool') {
    this.#name.textContent = name;
    this.element = h('details', { class: 'fold tool' },
      h('summary', {}, this.#name, this.#gist, this.#status),
      h('h3', {}, 'Input'), this.#input, this.#result);
  }

  /**
   * @param {string} name
   * @param {unknown} input
   */
  called(name, input) {
    this.#name.textContent = name;
    this.#gist.textContent = gist(input);
    this.#input.textContent = input === undefined ? '(left out)' : JSON.stringify(input, undefined, 2);
  }

  /** The input as far as it is written. @param {string} text */
  writing(text) {
    this.#status.textContent = 'writing…';
    this.#input.textContent = text;
  }

  /** @param {string} word */
  status(word) { this.#status.textContent = word; }

  /** @param {import('../../client/client.d.ts').ToolResolvedData} data */
  resolved({ content, is_error: isError, by }) {
    const how = { client: '', builtin: '', timeout: ' (no answer in time)', stop: ' (stopped)', crash: ' (cut off)' }[by];
    this.#status.textContent = (isError ? 'failed' : 'done') + how;
    this.element.classList.toggle('failed', isError);
    this.element.classList.add('done');
    this.#show(content);
  }

  /**
   * The result came without what is large in it: that is read when somebody looks.
   * @param {() => Promise<Block[]>} read
   */
  cut(read) {
    const load = () => {
      if (!this.element.open) return;
      this.element.removeEventListener('toggle', load);
      read().then((content) => this.#show(content), () => this.element.addEventListener('toggle', load));
    };
    this.element.addEventListener('toggle', load);
    load();
  }

  /** @param {Block[]} content */
  #show(content) {
    this.#result.replaceChildren(h('h3', {}, this.element.classList.contains('failed') ? 'Error' : 'Result'), ...content.map(resultBlock));
  }

  /** The model is not shown the result any more. */
  cleared() {
    if (this.element.querySelector('.tag')) return;
    this.#status.before(h('span', { class: 'tag', title: 'The model is shown a placeholder, or less of it' }, 'cleared'));
  }
}

/** @param {Block} block */
function resultBlock(block) {
  if (isCut(block)) return missingCard(block);
  if (block.type === 'image') return imageCard(block);
  const text = block.type === 'text' ? block.text ?? '' : '';
  const more = text.length - SHOWN_CHARS;
  return h('pre', { tabindex: 0, 'aria-label': 'Result' }, more > 0 ? `${text.slice(0, SHOWN_CHARS)}\n… ${count(more)} characters more` : text);
}

/** The most telling part of an input, for one line. @param {unknown} input */
function gist(input) {
  if (input === null || typeof input !== 'object') return '';
  const values = Object.values(input).filter((v) => typeof v === 'string' || typeof v === 'number');
  return values.join(' · ').replaceAll(/\s+/g, ' ').slice(0, 120);
}
