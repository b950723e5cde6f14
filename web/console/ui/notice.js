// Short notices, shown for a while and read out by screen readers.

import { byId, h, iconButton } from './dom.js';

const SHOWN_MS = 6000;

/**
 * @param {string} text
 * @param {{ bad?: boolean }} [options] bad: it stays until it is closed
 */
export function notice(text, { bad = false } = {}) {
  const close = () => element.remove();
  const element = h('div', { class: bad ? 'notice bad' : 'notice' }, h('span', {}, text), iconButton('close', 'Close this notice', close));
  byId('notices').append(element);
  if (!bad) setTimeout(close, SHOWN_MS);
}

/**
 * Says something to screen readers only.
 * @param {string} text
 */
export function announce(text) { byId('announcer').textContent = text; }
