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
  #searching = false;
  /** @type {Map<string, { says: string, element: HTMLElement }>} what is drawn, by session */
  #rows = new Map();
  #search = /** @type {HTMLInputElement} */ (byId('search'));

  /** @param {Client} client */
  constructor(client) {
    this.#client = client;
    this.#search.addEventListener('input', () => this.#searched());
    byId('more-sessions').addEventListener('click', () => this.#more().catch((error) => notice(callError(error), { bad: true })));
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

  /** What is known of a session. @param {string} id */
  get(id) { return this.#sessions.find((s) => s.id === id); }

  /** Takes over what is known of one session. @param {Session} session */
  update(session) {
    const others = this.#sessions.filter((s) => s.id !== session.id);
    const place = others.findIndex((s) => s.updated_at <= session.updated_at);
    others.splice(place < 0 ? others.length : place, 0, session);
    this.#sessions = others;
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

  /** Reads on while somebody searches, one page at a time. */
  async #searched() {
    this.#draw();
    if (this.#searching) return;
    this.#searching = true;
    try {
      while (this.#search.value && this.#cursor && this.#sessions.length < MOST_SEARCHED) await this.#more();
    } catch (error) {
      notice(callError(error), { bad: true });
    } finally {
      this.#searching = false;
    }
  }

  #draw() {
    const wanted = this.#search.value.trim().toLowerCase();
    const found = this.#sessions.filter((s) => titleOf(s).toLowerCase().includes(wanted));
    this.#drawRows(found);
    byId('more-sessions').hidden = !this.#cursor;
    const empty = byId('no-sessions');
    empty.hidden = found.length > 0;
    empty.textContent = wanted ? 'No session has this in its title.' : 'Your sessions will be listed here.';
  }

  /** Draws what has changed: this is called for every entry of a log. @param {Session[]} found */
  #drawRows(found) {
    const list = byId('sessions');
    const rows = new Map(found.map((s) => [s.id, this.#row(s)]));
    this.#rows = rows;
    const elements = [...rows.values()].map((r) => r.element);
    if (elements.length === list.childElementCount && elements.every((e, i) => e === list.children[i])) return;
    const focused = list.contains(document.activeElement) ? document.activeElement?.getAttribute('href') : undefined;
    list.replaceChildren(...elements);
    if (focused) /** @type {HTMLElement | null} */ (list.querySelector(`a[href="${focused}"]`))?.focus();
  }

  /** @param {Session} session */
  #row(session) {
    const isCurrent = session.id === this.#current;
    const state = { running: 'answering', waiting_tool: 'runs tools', compacting: 'compacting', closed: 'closed', idle: '' }[session.status];
    const title = titleOf(session);
    const more = [state, since(session.updated_at)].filter(Boolean).join(' · ');
    const says = [title, more, session.status, isCurrent].join('\n');
    const drawn = this.#rows.get(session.id);
    if (drawn?.says === says) return drawn;
    return { says, element: h('li', {}, h('a', { href: `#${session.id}`, 'aria-current': isCurrent ? 'page' : undefined, class: session.status, title },
      h('span', { class: 'title' }, title), h('span', { class: 'dim' }, more))) };
  }
}

/** @param {Session} session */
export function titleOf({ title }) { return title || 'Untitled session'; }
