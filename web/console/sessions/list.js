// The owner's sessions, newest activity first, with a search by title.

import { byId, h } from '../ui/dom.js';
import { since } from '../ui/format.js';
import { notice } from '../ui/notice.js';
import { callError } from '../ui/words.js';

const PAGE = 50;
const MOST_SEARCHED = 1000; // sessions that a search reads
const REFRESH_MS = 20_000; // others may make sessions too

/**
 * @typedef {import('../../client/client.d.ts').Client} Client
 * @typedef {import('../../client/client.d.ts').Session} Session
 */

/** The list in the side panel. */
export class SessionList {
  /** @type {Session[]} */
  #sessions = [];
  /** @type {string | undefined} */
  #cursor;
  /** @type {string | undefined} */
  #current;
  #client;
  #running = 0; // counts readings: an older one that ends later is worthless
  #search = /** @type {HTMLInputElement} */ (byId('search'));

  /** @param {Client} client */
  constructor(client) {
    this.#client = client;
    this.#search.addEventListener('input', () => this.#searched());
    byId('more-sessions').addEventListener('click', () => this.#more().catch(() => {}));
    client.on('state', ({ state }) => { if (state === 'open') this.refresh(); });
    document.addEventListener('visibilitychange', () => { if (!document.hidden) this.refresh(); });
    setInterval(() => { if (!document.hidden && client.state === 'open') this.refresh(); }, REFRESH_MS);
  }

  /** Reads the first page anew. */
  async refresh() {
    const run = ++this.#running;
    try {
      const { sessions, next_cursor: cursor } = await this.#client.call('v1.session.list', { limit: PAGE });
      if (run !== this.#running) return;
      const ids = new Set(sessions.map((s) => s.id));
      const older = sessions.length ? this.#sessions.slice(PAGE).filter((s) => !ids.has(s.id)) : [];
      if (older.length === 0) this.#cursor = cursor;
      this.#sessions = [...sessions, ...older];
      this.#draw();
    } catch (error) {
      if (this.#client.state === 'open') notice(callError(error), { bad: true });
    }
  }

  /** @param {string | undefined} id */
  select(id) {
    this.#current = id;
    this.#draw();
  }

  /** Takes over what is known of one session. @param {Session} session */
  update(session) {
    const at = this.#sessions.findIndex((s) => s.id === session.id);
    if (at < 0) this.#sessions.unshift(session);
    else this.#sessions[at] = session;
    this.#draw();
  }

  /** @param {string} id */
  remove(id) {
    this.#sessions = this.#sessions.filter((s) => s.id !== id);
    this.#draw();
  }

  async #more() {
    if (!this.#cursor) return;
    const { sessions, next_cursor: cursor } = await this.#client.call('v1.session.list', { limit: PAGE, cursor: this.#cursor });
    const ids = new Set(this.#sessions.map((s) => s.id));
    this.#sessions.push(...sessions.filter((s) => !ids.has(s.id)));
    this.#cursor = cursor;
    this.#draw();
  }

  async #searched() {
    this.#draw();
    while (this.#search.value && this.#cursor && this.#sessions.length < MOST_SEARCHED) await this.#more();
  }

  #draw() {
    const wanted = this.#search.value.trim().toLowerCase();
    const found = this.#sessions.filter((s) => titleOf(s).toLowerCase().includes(wanted));
    const list = byId('sessions');
    const focused = list.contains(document.activeElement) ? document.activeElement?.getAttribute('href') : undefined;
    list.replaceChildren(...found.map((s) => this.#row(s)));
    if (focused) /** @type {HTMLElement | null} */ (list.querySelector(`a[href="${focused}"]`))?.focus();
    byId('more-sessions').hidden = !this.#cursor;
    const empty = byId('no-sessions');
    empty.hidden = found.length > 0;
    empty.textContent = wanted ? 'No session has this in its title.' : 'Your sessions will be listed here.';
  }

  /** @param {Session} session */
  #row(session) {
    const isCurrent = session.id === this.#current;
    const state = { running: 'answering', waiting_tool: 'runs tools', compacting: 'compacting', closed: 'closed', idle: '' }[session.status];
    return h('li', {}, h('a', { href: `#${session.id}`, 'aria-current': isCurrent ? 'page' : undefined, class: session.status },
      h('span', { class: 'title' }, titleOf(session)),
      h('span', { class: 'dim' }, [state, since(session.updated_at)].filter(Boolean).join(' · '))));
  }
}

/** @param {Session} session */
export function titleOf({ title }) { return title || 'Untitled session'; }
