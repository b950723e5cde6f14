// The panel with the details.

import { html, write } from './dom.js';
import { hitRate, isNear, segments } from './meter.js';

/**
 * @typedef {import('./words.js').Speech} Speech
 * @typedef {import('./view.js').Shown} Shown
 * @typedef {import('../rtc-token-usage.d.ts').Band} Band
 * @typedef {{ name: string, value: string, kind?: string }} Row
 */

/** Builds it. Returns its elements and the function that brings them up to date. */
export function details() {
  const title = html('span', { class: 'title', part: 'title' });
  const kind = html('span', { class: 'kind' });
  const percent = html('b');
  const used = html('span');
  const bar = parts();
  const next = table();
  const soFar = html('div', { class: 'heading' });
  const rows = table();
  const footer = html('p', { class: 'footer', part: 'footer' });
  const note = html('p', { class: 'note', part: 'note' });
  const compact = html('button', { class: 'compact', part: 'compact', type: 'button' });
  const element = html(
    'div', { id: 'panel', class: 'panel', part: 'panel', role: 'group', popover: 'manual' },
    html('div', { class: 'head' }, title, kind), html('div', { class: 'used' }, percent, used),
    bar.bar, bar.legend, next.element, soFar, rows.element, footer, note, compact,
  );

  /**
   * @param {Shown} shown
   * @param {Speech} speech
   * @param {Band} band
   */
  function render(shown, speech, band) {
    const { words, number } = speech;
    element.dataset.band = band;
    element.lang = speech.language;
    element.setAttribute('aria-label', words.details);
    write(title, words.label);
    write(kind, kindOf(shown, speech));
    write(percent, speech.progress(shown.compressionProgress));
    write(used, shown.compressionThreshold > 0 ? words.tokens(number(shown.contextTokens), number(shown.compressionThreshold)) : '');
    bar.render(shown, speech);
    next.render([{ name: words.nextRound, value: number(shown.estimatedNext) }]);
    write(soFar, words.soFar);
    rows.render(usedRows(shown, speech));
    write(footer, footerOf(shown, speech));
    footer.hidden = footer.textContent === '';
    write(note, shown.note);
    note.hidden = shown.note === '';
    write(compact, shown.compacting ? words.compacting : words.compact);
    compact.hidden = !shown.compactable;
    // Not disabled: whoever has pressed it keeps the focus.
    compact.setAttribute('aria-disabled', String(shown.compacting || (shown.state !== 'live' && shown.state !== 'none')));
  }

  return { element, compact, render };
}

/**
 * Where the numbers come from, or why they may be old.
 * @param {Shown} shown
 * @param {Speech} speech
 */
function kindOf({ state, estimated }, { words }) {
  if (state !== 'live' && state !== 'none') return words[state];
  if (estimated === undefined) return '';
  return estimated ? words.estimated : words.measured;
}

/**
 * What is announced: a compaction that is near, or overdue.
 * @param {Shown} shown
 * @param {Speech} speech
 */
function footerOf({ compacting, compressionProgress, roundsUntilCompression }, { words }) {
  if (compacting) return '';
  if (isNear(roundsUntilCompression)) return words.rounds(roundsUntilCompression);
  return compressionProgress > 100 ? words.exceeded : '';
}

/** The stacked bar of the parts of the context, and its legend. */
function parts() {
  const stack = html('div', { class: 'segments' });
  const mark = html('span', { class: 'mark' });
  const bar = html('div', { class: 'bar', part: 'bar', 'aria-hidden': 'true' }, stack, mark);
  const legend = html('ul', { class: 'legend', part: 'legend' });

  /**
   * @param {Shown} shown
   * @param {Speech} speech
   */
  function render({ parts: known, compressionThreshold }, speech) {
    const { segments: list, mark: at } = segments(known, compressionThreshold);
    bar.hidden = legend.hidden = list.length === 0;
    mark.hidden = at === undefined;
    mark.style.insetInlineStart = `${at ?? 0}%`;
    fit(stack, list.length, () => html('span', { class: 'segment', part: 'segment' }));
    fit(legend, list.length, () => html('li', {}, html('span', { class: 'swatch' }), html('span', { class: 'name' }), html('span', { class: 'value' })));
    list.forEach(({ name, tokens, width }, i) => {
      const [segment, item] = [/** @type {HTMLElement} */ (stack.children[i]), /** @type {HTMLElement} */ (legend.children[i])];
      segment.dataset.part = item.dataset.part = name;
      segment.style.inlineSize = `${width}%`;
      write(item.children[1], speech.part(name));
      write(item.children[2], speech.number(tokens));
    });
  }
  return { bar, legend, render };
}

/**
 * Makes a parent have n children.
 * @param {Element} parent
 * @param {number} n
 * @param {() => Element} make
 */
function fit(parent, n, make) {
  while (parent.children.length > n) parent.lastElementChild?.remove();
  while (parent.children.length < n) parent.append(make());
}

/** A table of names and values. */
function table() {
  const element = html('dl', { class: 'rows', part: 'rows' });

  /** @param {Row[]} list */
  function render(list) {
    fit(element, list.length, () => html('div', {}, html('dt'), html('dd')));
    list.forEach(({ name, value, kind = '' }, i) => {
      const row = element.children[i];
      row.className = kind;
      write(row.children[0], name);
      write(row.children[1], value);
    });
  }
  return { element, render };
}

/**
 * What the session used.
 * @param {Shown} shown
 * @param {Speech} speech
 * @returns {Row[]}
 */
function usedRows({ totalTokens, totalCostUsd, details: used }, { words, number, percent, money }) {
  /** @type {Row[]} */
  const rows = [];
  for (const name of /** @type {const} */ (['input', 'cachedRead', 'cachedWrite', 'output', 'reasoning'])) {
    const tokens = used?.[name];
    if (tokens === undefined) continue;
    rows.push({ name: words[name], value: number(tokens), kind: name === 'reasoning' ? 'sub' : '' });
  }
  const rate = hitRate(used);
  if (rate !== undefined) rows.push({ name: words.hitRate, value: percent(rate) });
  rows.push(
    { name: words.total, value: number(totalTokens), kind: 'strong' },
    { name: words.cost, value: money(totalCostUsd), kind: 'strong' },
  );
  return rows;
}
