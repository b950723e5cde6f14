// The chart of context tokens over rounds.

import { h, svg } from '../ui/dom.js';
import { cost, count, plural, short } from '../ui/format.js';

const WIDTH = 320;
const HEIGHT = 120;
const TOP = 6; // room for what would touch the edge
const BOTTOM = 16; // for the numbers of rounds

/**
 * @typedef {import('./rounds.js').Point} Point
 * @typedef {{ x: number, y: number }} Place
 */

/**
 * @param {Point[]} points
 * @param {number} threshold
 */
export function timeline(points, threshold) {
  const rounds = points.filter((p) => p.kind === 'round').length;
  if (rounds === 0) return h('p', { class: 'dim' }, 'After the first answer the course of the context is drawn here.');
  const undone = points.filter((p) => p.kind === 'compaction' && p.undone).length;
  const compactions = points.length - rounds - undone;
  const total = points.findLast((p) => p.kind === 'round')?.cost ?? 0;
  const text = [plural(rounds, 'round'), plural(compactions, 'compaction') + (undone ? `, ${undone} undone` : ''), total ? cost(total) : 'no cost'].join(' · ');
  return h('figure', { class: 'timeline' },
    svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': `Context tokens over ${text}` }, ...drawing(points, threshold, total)),
    h('figcaption', { class: 'dim' }, h('p', {}, text), h('ul', { class: 'keys' },
      h('li', { class: 'key-tokens' }, 'tokens'),
      h('li', { class: 'key-threshold' }, `compaction at ${short(threshold)}`),
      total > 0 && h('li', { class: 'key-cost' }, `cost, up to ${cost(total)}`))));
}

/**
 * @param {Point[]} points
 * @param {number} threshold
 * @param {number} total
 */
function drawing(points, threshold, total) {
  const top = Math.max(threshold * 1.1, ...points.map((p) => (p.kind === 'round' ? p.tokens : Math.max(p.before, p.after))));
  const base = HEIGHT - BOTTOM;
  const y = (/** @type {number} */ tokens) => base - (tokens / top) * (base - TOP);
  const x = (/** @type {number} */ i) => (points.length === 1 ? WIDTH / 2 : 4 + (i / (points.length - 1)) * (WIDTH - 8));
  /** @type {Place[]} */
  const line = points.flatMap((p, i) => (p.kind === 'round' ? [{ x: x(i), y: y(p.tokens) }] : [{ x: x(i), y: y(p.before) }, { x: x(i), y: y(p.after) }]));
  const costs = points.flatMap((p, i) => (p.kind === 'round' && total ? [{ x: x(i), y: base - (p.cost / total) * (base - TOP) }] : []));
  return [
    svg('path', { class: 'area', d: `${path(line)}L${line[line.length - 1].x} ${base}L${line[0].x} ${base}Z` }),
    svg('path', { class: 'tokens', d: path(line) }),
    costs.length > 1 && svg('path', { class: 'cost', d: path(costs) }),
    svg('line', { class: 'threshold', x1: 0, x2: WIDTH, y1: y(threshold), y2: y(threshold) }),
    svg('line', { class: 'base', x1: 0, x2: WIDTH, y1: base, y2: base }),
    ...points.map((p, i) => dot(p, x(i), y)),
    ...roundLabels(points, x),
  ];
}

/**
 * The numbers of the first round and the last, below them.
 * @param {Point[]} points
 * @param {(i: number) => number} x
 */
function roundLabels(points, x) {
  const rounds = points.flatMap((p, i) => (p.kind === 'round' ? [i] : []));
  const label = (/** @type {number} */ i, /** @type {string} */ text, /** @type {string} */ anchor) => (
    svg('text', { class: 'label', x: x(i), y: HEIGHT - 3, 'text-anchor': anchor }, text));
  if (rounds.length === 1) return [label(rounds[0], 'round 1', points.length === 1 ? 'middle' : 'start')];
  return [label(rounds[0], 'round 1', 'start'), label(rounds[rounds.length - 1], `round ${rounds.length}`, 'end')];
}

/** @param {Place[]} places */
function path(places) { return places.map((p, i) => `${i ? 'L' : 'M'}${p.x.toFixed(1)} ${p.y.toFixed(1)}`).join(''); }

/**
 * @param {Point} point
 * @param {number} cx
 * @param {(tokens: number) => number} y
 */
function dot(point, cx, y) {
  if (point.kind === 'round') {
    return svg('circle', { class: 'dot', cx, cy: y(point.tokens), r: 2.5 }, svg('title', {}, `${count(point.tokens)} tokens · ${cost(point.cost)} until here`));
  }
  return svg('rect', { class: point.undone ? 'drop undone' : 'drop', x: cx - 3.5, y: y(point.after) - 3.5, width: 7, height: 7, transform: `rotate(45 ${cx} ${y(point.after)})` },
    svg('title', {}, `${point.undone ? 'Compaction undone' : 'Compaction'}: ${count(point.before)} → ${count(point.after)} tokens`));
}
