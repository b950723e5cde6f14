// The widget's elements, and how they follow what is known.

import { details } from './details.js';
import { html, svg, write } from './dom.js';
import { bandOf, isNear, ringClass, ringPercent, wholePercent } from './meter.js';
import { styles } from './styles.js';

/**
 * @typedef {import('./words.js').Speech} Speech
 * @typedef {import('../rtc-token-usage.d.ts').UsageDetails} UsageDetails
 * @typedef {import('../rtc-token-usage.d.ts').ContextPart} ContextPart
 * @typedef {{
 *   estimatedNext: number, totalTokens: number, totalCostUsd: number,
 *   compressionThreshold: number, compressionProgress: number, roundsUntilCompression: number,
 *   details: UsageDetails | undefined,
 *   contextTokens: number, estimated: boolean | undefined, parts: ContextPart[],
 *   compacting: boolean, compactable: boolean, state: 'none' | 'connecting' | 'live' | 'waiting' | 'closed', note: string,
 * }} Shown what is known; numbers are finite
 */

/**
 * Builds the widget into a shadow root. Returns its elements and the function that brings
 * them up to date.
 * @param {ShadowRoot} root
 */
export function build(root) {
  root.adoptedStyleSheets = styles;
  const fill = svg('circle', { class: 'fill', part: 'ring-fill', cx: '18', cy: '18', r: '15.5', pathLength: '100' });
  const ring = html('span', { class: 'ring', part: 'ring', role: 'progressbar', 'aria-valuemin': '0', 'aria-valuemax': '100' }, svg(
    'svg', { viewBox: '0 0 36 36', 'aria-hidden': 'true' },
    svg('circle', { class: 'track', part: 'ring-track', cx: '18', cy: '18', r: '15.5' }), fill,
  ));
  const near = html('span', { class: 'near', part: 'near', 'aria-hidden': 'true' });
  const percent = html('span', { class: 'percent', part: 'percent', 'aria-hidden': 'true' });
  const open = html('button', { class: 'open', part: 'button', type: 'button', 'aria-expanded': 'false', 'aria-controls': 'panel' });
  const panel = details();
  const spoken = html('span', { class: 'spoken', role: 'status' });
  const meter = html('div', { class: 'meter', part: 'meter' }, ring, percent, open);
  ring.append(near);
  root.append(meter, panel.element, spoken);

  /**
   * @param {Shown} shown
   * @param {Speech} speech
   */
  function render(shown, speech) {
    const filled = ringPercent(shown.estimatedNext, shown.compressionThreshold);
    const band = bandOf(shown.compressionProgress);
    meter.dataset.band = band;
    meter.lang = speech.language;
    meter.classList.toggle('busy', shown.compacting);
    meter.classList.toggle('stale', shown.state === 'waiting' || shown.state === 'closed');
    fill.setAttribute('class', ['fill', ringClass(filled), filled === 0 && 'empty'].filter(Boolean).join(' '));
    fill.style.setProperty('--_ring', String(filled));
    near.hidden = !isNear(shown.roundsUntilCompression);
    write(percent, speech.progress(shown.compressionProgress));
    ring.setAttribute('aria-label', speech.words.label);
    ring.setAttribute('aria-valuenow', String(Math.min(100, wholePercent(shown.compressionProgress)))); // as the text says
    ring.setAttribute('aria-valuetext', valueText(shown, speech));
    open.setAttribute('aria-label', speech.words.details);
    const pressed = panel.compact.matches(':focus');
    panel.render(shown, speech, band);
    if (pressed && panel.compact.hidden) open.focus({ preventScroll: true }); // it holds the panel open
    // Said aloud once, when it begins; numbers that change all the time are not.
    write(spoken, shown.compacting ? speech.words.compacting : shown.note);
  }

  return { ring, open, panel: panel.element, compact: panel.compact, render };
}

/**
 * The meter in words.
 * @param {Shown} shown
 * @param {Speech} speech
 */
function valueText(shown, speech) {
  const { words, number } = speech;
  const text = [speech.progress(shown.compressionProgress)];
  if (shown.compressionThreshold > 0) text.push(words.tokens(number(shown.contextTokens), number(shown.compressionThreshold)));
  if (shown.compacting) text.push(words.compacting);
  else if (isNear(shown.roundsUntilCompression)) text.push(words.rounds(shown.roundsUntilCompression));
  if (shown.state === 'waiting' || shown.state === 'closed') text.push(words[shown.state]);
  return text.join(', ');
}
