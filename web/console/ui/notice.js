// Short notices, shown for a while and read out by screen readers.

import { byId, h, iconButton } from './dom.js';

const SHOWN_MS = 6000;
const BAD_SHOWN_MS = 20_000;
const MOST = 3; // at once

/**
 * @param {string} text
 * @param {{ bad?: boolean }} [options] bad: something went wrong; it is shown for longer
 */
export function notice(text, { bad = false } = {}) {
  const place = byId('notices');
  for (const same of [...place.children].filter((n) => n.textContent === text)) same.remove();
  while (place.childElementCount >= MOST) place.firstElementChild?.remove();
  const element = h('div', { class: bad ? 'notice bad' : 'notice' }, h('span', {}, text), iconButton('close', 'Close this notice', () => element.remove()));
  place.append(element);
  leave(element, bad ? BAD_SHOWN_MS : SHOWN_MS);
}

/** Takes all away: they were about what is not shown any more. */
export function clearNotices() { byId('notices').replaceChildren(); }

/** Has them stand above what is at the bottom of the page, however high that is. */
export function placeNotices() {
  const bottom = byId('bottom');
  new ResizeObserver(() => byId('notices').style.setProperty('--below', `${bottom.offsetHeight}px`)).observe(bottom);
}

/**
 * Takes a notice away after a time, in which nobody points at it and nothing in it has the focus.
 * @param {HTMLElement} element
 * @param {number} ms
 */
function leave(element, ms) {
  const start = () => setTimeout(() => element.remove(), ms);
  let timer = start();
  for (const name of ['pointerenter', 'focusin']) element.addEventListener(name, () => clearTimeout(timer));
  for (const name of ['pointerleave', 'focusout']) element.addEventListener(name, () => { clearTimeout(timer); timer = start(); });
}

/**
 * Says something to screen readers only.
 * @param {string} text
 */
export function announce(text) { byId('announcer').textContent = text; }
