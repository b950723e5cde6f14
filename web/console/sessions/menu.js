// What can be done with a whole session: rename, fork, close, open, delete.

import { byId, h } from '../ui/dom.js';
import { askText, askYes } from '../ui/dialog.js';
import { titleOf } from './list.js';

const MAX_TITLE_BYTES = 256;

/**
 * @typedef {import('../../client/client.d.ts').Client} Client
 * @typedef {import('../../client/client.d.ts').Session} Session
 * @typedef {{
 *   session: () => Session | undefined,
 *   changed: (session: Session) => void,
 *   fork: () => Promise<void>,
 *   compact: () => Promise<void>,
 *   remove: (session: Session) => Promise<void>,
 *   guard: (work: Promise<unknown>) => void,
 * }} Host guard shows what goes wrong
 */

/**
 * @param {Client} client
 * @param {Host} host
 */
export function sessionMenu(client, host) {
  const menu = /** @type {HTMLDetailsElement} */ (byId('session-menu'));
  const items = byId('session-menu-items');
  const close = () => { menu.open = false; };
  const item = (/** @type {string} */ name, /** @type {(session: Session) => Promise<unknown>} */ run, more = '', disabled = false) =>
    h('button', { type: 'button', class: `quiet ${more}`, disabled, onclick: () => {
      const session = host.session();
      close();
      summary?.focus(); // where a question gives the focus back to
      if (session) host.guard(run(session));
    } }, name);

  const summary = menu.querySelector('summary');
  // By the click, which the keyboard makes too, and not by the toggle that it leads to: that
  // comes later, and who is quick with the Tab key would find nothing in the menu.
  summary?.addEventListener('click', () => {
    const session = host.session();
    if (menu.open || !session) return;
    items.replaceChildren(
      item('Rename…', (s) => rename(client, host, s)),
      item('Fork', () => host.fork()),
      item('Compact now', () => host.compact(), '', session.status === 'closed'),
      session.status === 'closed'
        ? item('Open again', async (s) => host.changed((await client.call('v1.session.open', { session_id: s.id })).session))
        : item('Close', async (s) => host.changed((await client.call('v1.session.close', { session_id: s.id })).session)),
      item('Delete…', (s) => remove(host, s), 'bad'));
  });
  menu.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !menu.open) return;
    close();
    summary?.focus();
  });
  menu.addEventListener('focusout', ({ relatedTarget }) => { if (relatedTarget && !menu.contains(/** @type {Node} */ (relatedTarget))) close(); });
  addEventListener('pointerdown', (event) => { if (menu.open && !menu.contains(/** @type {Node} */ (event.target))) close(); });
}

/**
 * @param {Client} client
 * @param {Host} host
 * @param {Session} session
 */
async function rename(client, host, session) {
  const title = await askText({ title: 'Rename session', label: 'Title', value: session.title, confirm: 'Rename', maxBytes: MAX_TITLE_BYTES });
  if (title) host.changed((await client.call('v1.session.update', { session_id: session.id, title })).session);
}

/**
 * @param {Host} host
 * @param {Session} session
 */
async function remove(host, session) {
  const sure = await askYes({ title: 'Delete session?', text: `“${titleOf(session)}” and all that was said in it will be gone for good.`, confirm: 'Delete' });
  if (sure) await host.remove(session);
}
