// The two side panels: beside the conversation where there is room, over it on small screens.

import { byId } from './dom.js';

const SMALL = matchMedia('(max-width: 899px)');

/**
 * A panel and the button that shows it.
 * @param {{ panel: string, button: string, open: boolean, shown?: (open: boolean) => void }} options open: where there is room
 */
export function drawer({ panel: panelId, button: buttonId, open: openWhenWide, shown = () => {} }) {
  const panel = byId(panelId);
  const button = byId(buttonId);
  const set = (/** @type {boolean} */ open, { focus = false } = {}) => {
    const inside = panel.contains(document.activeElement); // it would be lost with a panel that closes
    panel.hidden = !open;
    button.setAttribute('aria-expanded', String(open));
    byId('scrim').hidden = !SMALL.matches || [...document.querySelectorAll('.drawer')].every((d) => /** @type {HTMLElement} */ (d).hidden);
    byId('main').inert = !byId('scrim').hidden;
    if (!open && (inside || (focus && SMALL.matches))) button.focus();
    if (open && focus && SMALL.matches) /** @type {HTMLElement | null} */ (panel.querySelector('button, input'))?.focus();
    shown(open);
  };
  const close = () => { if (!panel.hidden) set(false, { focus: true }); };
  button.addEventListener('click', () => set(panel.hidden === true, { focus: true }));
  panel.addEventListener('keydown', (event) => { if (event.key === 'Escape' && SMALL.matches) close(); });
  byId('scrim').addEventListener('click', close);
  SMALL.addEventListener('change', () => set(!SMALL.matches && openWhenWide));
  set(!SMALL.matches && openWhenWide);
  return { close, closeIfSmall: () => { if (SMALL.matches) close(); }, get open() { return !panel.hidden; } };
}
