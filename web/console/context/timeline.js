// The chart of context tokens over rounds.

import { h, svg } from '../ui/dom.js';
import { cost, count, plural, short } from '../ui/format.js';

const WIDTH = 320;
const HEIGHT = 120;
const TOP = 10; // room for what would touch the edge
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
  const rounds = points.filter((p) => p.kind === 'round');
  if (rounds.length === 0) return h('p', { class: 'dim' }, 'After the first answer the course of the context is drawn here.');
  const compactions = points.filter((p) => p.kind === 'compaction');
  const total = rounds[rounds.length - 1].cost;
  const text = [plural(rounds.length, 'round'), plural(compactions.length, 'compaction'), total ? cost(total) : 'no cost'].join(' · ');
  return h('figure', { class: 'timeline' },
    svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': `Context tokens over ${text}` }, ...drawing(points, threshold, total)),
    h('figcaption', { class: 'dim' }, text));
}

/**
 * @param {Point[]} points
 * @param {number} threshold
 * @param {number} total
 */
function drawing(points, threshold, total) {
  const top = Math.max(threshold * 1.1, ...points.map((p) => (p.kind === 'round' ? p.tokens : p.before)));
  const y = (/** @type {number} */ tokens) => HEIGHT - BOTTOM - (tokens / top) * (HEIGHT - BOTTOM - TOP);
  const x = (/** @type {number} */ i) => (points.length === 1 ? WIDTH / 2 : 4 + (i / (points.length - 1)) * (WIDTH - 8));
  /** @type {Place[]} */
  const line = points.flatMap((p, i) => (p.kind === 'round' ? [{ x: x(i), y: y(p.tokens) }] : [{ x: x(i), y: y(p.before) }, { x: x(i), y: y(p.after) }]));
  const costs = points.flatMap((p, i) => (p.kind === 'round' && total ? [{ x: x(i), y: HEIGHT - BOTTOM - (p.cost / total) * (HEIGHT - BOTTOM - TOP) }] : []));
  const base = HEIGHT - BOTTOM;
  return [
    svg('path', { class: 'area', d: `${path(line)}L${line[line.length - 1].x} ${base}L${line[0].x} ${base}Z` }),
    svg('path', { class: 'tokens', d: path(line) }),
    costs.length > 1 && svg('path', { class: 'cost', d: path(costs) }),
    svg('line', { class: 'threshold', x1: 0, x2: WIDTH, y1: y(threshold), y2: y(threshold) }),
    svg('text', { class: 'label', x: WIDTH, y: y(threshold) - 3, 'text-anchor': 'end' }, `compaction at ${short(threshold)}`),
    ...points.map((p, i) => dot(p, x(i), y)),
    svg('text', { class: 'label', x: 0, y: HEIGHT - 3 }, '1'),
    svg('text', { class: 'label', x: WIDTH, y: HEIGHT - 3, 'text-anchor': 'end' }, `round ${points.filter((p) => p.kind === 'round').length}`),
  ];
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
    return svg('circle', { class: 'dot', cx, cy: y(point.tokens), r: 2.5 }, svg('title', {}, `${count(point.tokens)} tokens · ${cost(point.cost)}`));
  }
  return svg('rect', { class: point.undone ? 'drop undone' : 'drop', x: cx - 3.5, y: y(point.after) - 3.5, width: 7, height: 7, transform: `rotate(45 ${cx} ${y(point.after)})` },
    svg('title', {}, `${point.undone ? 'Compaction undone' : 'Compaction'}: ${count(point.before)} → ${count(point.after)} tokens`));
}
