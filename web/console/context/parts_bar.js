// What a request is made of, as one bar with a list.

import { h } from '../ui/dom.js';
import { count, short } from '../ui/format.js';
import { partName } from '../ui/words.js';

/** @typedef {import('../../client/client.d.ts').SessionContextResult} Context */

/**
 * The parts drawn to the scale of what a request may hold, with the landing and the
 * threshold marked, and each part named with its size.
 * @param {Context} context
 */
export function partsBar({ parts, input_limit: limit, threshold, landing, context_tokens: total }) {
  const scale = Math.max(limit, total, 1);
  const shown = parts.filter((p) => p.tokens > 0);
  const bar = h('div', { class: 'parts', role: 'img', 'aria-label': `${count(total)} of ${count(limit)} tokens; compaction begins at ${count(threshold)}` },
    ...shown.map((p) => wide(h('span', { class: `part ${p.name}`, title: `${partName(p.name)}: ${count(p.tokens)}` }), 'width', p.tokens / scale)),
    wide(h('span', { class: 'mark landing', title: `A compaction aims at ${count(landing)}` }), 'left', landing / scale),
    wide(h('span', { class: 'mark threshold', title: `Compaction begins at ${count(threshold)}` }), 'left', threshold / scale));
  return h('div', {}, bar,
    h('p', { class: 'scale dim' }, h('span', {}, '0'), h('span', { class: 'key landing' }, `aim ${short(landing)}`),
      h('span', { class: 'key threshold' }, `compaction ${short(threshold)}`), h('span', {}, `limit ${short(limit)}`)),
    h('ul', { class: 'legend', 'aria-label': 'Parts of the next request' }, ...shown.map((p) => h('li', {},
      h('span', { class: `swatch ${p.name}` }), h('span', {}, partName(p.name)), h('span', { class: 'numbers' }, count(p.tokens))))));
}

/**
 * @param {HTMLElement} element
 * @param {'width' | 'left'} side
 * @param {number} share
 */
function wide(element, side, share) {
  element.style[side] = `${Math.min(100, share * 100)}%`;
  return element;
}
