// The console: what a server does, to be seen and tried in a browser.

import { Client, RpcError } from '../client/client.js';
import { Composer } from './chat/composer.js';
import { Conversation } from './chat/conversation.js';
import { LogView } from './chat/log_view.js';
import { followEnd } from './chat/scroll.js';
import { showStatus } from './chat/status_line.js';
import { Inspector } from './context/inspector.js';
import { Meter } from './context/meter.js';
import { Rounds } from './context/rounds.js';
import { freshParams, showFresh } from './sessions/fresh.js';
import { SessionList, titleOf } from './sessions/list.js';
import { sessionMenu } from './sessions/menu.js';
import { registerTools } from './tools/register.js';
import { showConnection } from './ui/connection.js';
import { byId } from './ui/dom.js';
import { drawer } from './ui/drawers.js';
import { announce, clearNotices, notice, placeNotices } from './ui/notice.js';
import { signedIn, signIn, signOut, ticket } from './ui/sign_in.js';
import { callError, compactionOutcome } from './ui/words.js';

const READ_OUT_CHARS = 300; // of an answer, by a screen reader
const SESSION_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const COMPACT = /^\/compact(?:\s+([\s\S]+))?$/;

/**
 * What is on its way, and in which session; empty: in one to be made. taken ends when the
 * server has it, or refuses it.
 * @typedef {{ line: string, session: string, command: boolean, taken?: Promise<void> }} Letter
 */

class Console {
  #client = new Client({ ticket });
  #rounds = new Rounds();
  #meter = new Meter(() => { this.#inspector.compact(); });
  #log = new LogView(byId('log'), {
    fork: (seq) => this.#guard(this.#fork(seq)), whole: (messageId) => this.#whole(messageId),
  });
  #list = new SessionList(this.#client);
  #inspector = new Inspector(this.#client, {
    rounds: this.#rounds, toolName: (id) => this.#log.toolName(id), reveal: (id) => { this.#log.reveal(id); },
  });
  #composer = new Composer((outgoing) => this.#send(outgoing), () => this.#guard(this.#stop(false)));
  #scroll = followEnd(byId('scroller'), byId('log'), /** @type {HTMLButtonElement} */ (byId('to-end')));
  /** @type {Conversation | undefined} */
  #conversation;
  /** @type {Letter[]} */
  #sending = [];
  /** @type {string | undefined} the session that is being deleted from here */
  #removing;

  async start() {
    registerTools(this.#client);
    showConnection(this.#client);
    placeNotices();
    this.#client.on('state', () => this.#draw());
    this.#client.on('error', (error) => notice(callError(error), { bad: true }));
    const sidebar = drawer({ panel: 'sidebar', button: 'sidebar-button', open: true });
    const panel = drawer({ panel: 'context', button: 'context-button', open: innerWidth >= 1200, shown: (open) => this.#inspector.shown(open) });
    byId('sidebar-close').addEventListener('click', sidebar.close);
    byId('context-close').addEventListener('click', panel.close);
    byId('sessions').addEventListener('click', () => sidebar.closeIfSmall());
    byId('new-session').addEventListener('click', () => {
      sidebar.closeIfSmall();
      location.hash = '';
      this.#composer.focus();
    });
    byId('sign-out').addEventListener('click', () => { signOut(); location.reload(); });
    byId('skip').addEventListener('click', () => this.#composer.focus());
    sessionMenu(this.#client, {
      session: () => this.#conversation?.session,
      changed: (session) => this.#changed(session),
      fork: () => this.#fork(),
      compact: () => this.#inspector.compact(),
      remove: (session) => this.#remove(session),
      guard: (work) => this.#guard(work),
    });
    addEventListener('hashchange', () => this.#route());
    await signIn();
    this.#route();
    if (document.activeElement === document.body) this.#composer.focusUnasked(); // else somebody is somewhere already
    this.#client.call('v1.server.info').then((info) => {
      byId('server').textContent = `${info.name} ${info.version}`;
      byId('sign-out').hidden = !signedIn();
      showFresh(info, (text) => this.#composer.fill(text));
    }, () => {}); // the connection's state tells
  }

  /** Shows the session that the address names, or a new one. */
  #route() {
    const named = location.hash.slice(1);
    const isId = !named || SESSION_ID.test(named);
    if (!isId) history.replaceState(null, '', location.pathname);
    const id = isId ? named : '';
    if (id !== (this.#conversation?.id ?? '') || byId('log').dataset.session !== id) this.#open(id);
    if (!isId) notice('The address of this page names no session.', { bad: true });
  }

  /** @param {string} id empty: a session that does not exist yet */
  #open(id) {
    const previous = this.#conversation;
    this.#conversation = undefined; // its end is no news then
    previous?.close();
    clearNotices();
    this.#log.reset();
    this.#rounds.reset();
    byId('log').dataset.session = id;
    const conversation = id ? new Conversation(this.#client, id) : undefined;
    if (conversation) this.#follow(conversation);
    this.#meter.follow(this.#client, conversation?.subscription);
    this.#composer.open(id);
    this.#list.select(id || undefined);
    this.#inspector.follow(conversation);
    this.#scroll.follow();
    this.#draw();
  }

  /** @param {Conversation} conversation */
  #follow(conversation) {
    this.#conversation = conversation;
    conversation.on('entry', (entry) => this.#entry(conversation, entry));
    conversation.on('item', ({ item }) => this.#log.item(item));
    conversation.on('itemend', (end) => this.#log.itemEnd(end));
    conversation.on('reset', () => { this.#log.reset(); this.#rounds.reset(); });
    conversation.on('state', () => this.#draw());
    conversation.on('progress', () => { if (conversation === this.#conversation) this.#inspector.changed(); });
    conversation.on('end', (error) => {
      if (conversation !== this.#conversation) return;
      if (this.#client.state !== 'closed') this.#ended(conversation, error);
    });
  }

  /**
   * The session that is shown is no more, or can't be followed.
   * @param {Conversation} conversation
   * @param {Error} [error] none: it was deleted
   */
  #ended({ id, session }, error) {
    const isGone = !error || (error instanceof RpcError && error.kind === 'not_found');
    const known = session ?? this.#list.get(id);
    const isBegun = isGone && id !== this.#removing && this.#composer.gone(id);
    if (isGone) this.#list.remove(id);
    this.#show('');
    if (error) notice(callError(error), { bad: true });
    else if (id !== this.#removing) notice(`${known ? `“${titleOf(known)}”` : 'The session'} was deleted elsewhere.${isBegun ? ' What you had begun to write is kept here.' : ''}`);
  }

  /** Deletes a session. @param {import('../client/client.d.ts').Session} session */
  async #remove({ id }) {
    this.#removing = id;
    try {
      await this.#client.call('v1.session.delete', { session_id: id });
    } finally {
      this.#removing = undefined;
    }
    this.#list.remove(id);
    if (this.#conversation?.id === id) this.#show('');
  }

  /** Goes to a session at once; what is noticed then is not about the one before. @param {string} id empty: a new one */
  #show(id) {
    location.hash = id;
    this.#route();
  }

  /**
   * @param {Conversation} conversation
   * @param {import('../client/client.d.ts').Event} entry
   */
  #entry(conversation, entry) {
    this.#log.entry(entry);
    this.#rounds.add(entry);
    if (!conversation.live) return;
    this.#inspector.changed(entry);
    const { type, data } = entry;
    if (type === 'message.added' && data.message.role === 'assistant') {
      announce(data.message.content.map((/** @type {any} */ b) => (b.type === 'text' ? b.text ?? '' : '')).join(' ').slice(0, READ_OUT_CHARS));
    }
    if (type.startsWith('compaction.')) announce(compactionOutcome(/** @type {import('../client/client.d.ts').Compaction} */ (data)));
    if (type === 'turn.completed') this.#guard(conversation.refresh());
  }

  #draw() {
    const conversation = this.#conversation;
    const session = conversation?.session ?? (conversation && this.#list.get(conversation.id));
    const title = conversation ? (session ? titleOf(session) : '…') : 'New session';
    byId('title').textContent = title;
    document.title = `${title} – sessiond`;
    byId('subtitle').textContent = session ? session.model : '';
    byId('session-menu').hidden = !session;
    byId('fresh').hidden = conversation !== undefined;
    byId('log-empty').hidden = !conversation || conversation.known || this.#client.state === 'open';
    const closed = session?.status === 'closed';
    this.#composer.show({ busy: conversation?.busy ?? false, closed });
    this.#inspector.usable(!closed);
    this.#meter.usable(!closed);
    showStatus(conversation, this.#onItsWay(), () => this.#guard(this.#stop(true)));
    byId('log').setAttribute('aria-busy', String(conversation !== undefined && !conversation.live));
    if (session && conversation?.session) this.#list.update({ ...session, status: conversation.turn && session.status === 'idle' ? 'running' : session.status });
  }

  /** What is on its way in the session that is shown. */
  #onItsWay() {
    const id = this.#conversation?.id ?? '';
    const compacting = this.#conversation?.activity?.activity === 'compacting'; // tells by itself what became of a command
    return this.#sending.filter((l) => l.session === id && !(l.command && compacting)).map((l) => l.line);
  }

  /**
   * Sends a message, in a new session if there is none.
   * @param {import('./chat/composer.js').Outgoing} outgoing
   */
  async #send({ text, names, attachments }) {
    const command = names.length === 0 ? COMPACT.exec(text.trim()) : null;
    const session = this.#conversation?.id ?? '';
    const before = this.#sending.findLast((l) => l.session === session && l.taken)?.taken; // calls may overtake each other
    /** @type {Letter} */
    const letter = { line: text.trim() || names.join(', '), session, command: command !== null };
    this.#sending.push(letter);
    this.#scroll.follow();
    this.#draw();
    try {
      const work = command ? this.#compact(command[1]) : Promise.all([attachments, before]).then(([files]) => this.#say(letter, text, files));
      if (!command) letter.taken = work.catch(() => {});
      await work;
      return {};
    } catch (error) {
      notice(callError(error, names), { bad: true });
      return { refusedIn: letter.session };
    } finally {
      this.#sending.splice(this.#sending.indexOf(letter), 1);
      this.#scroll.follow();
      this.#draw();
    }
  }

  /**
   * @param {Letter} letter
   * @param {string} text
   * @param {import('./chat/attachments.js').Attachment[]} attachments
   */
  async #say(letter, text, attachments) {
    const message = { content: text.trim() ? text : 'See the attached files.', ...(attachments.length && { attachments }) };
    const { message_id: messageId, files } = await (letter.session
      ? this.#client.call('v1.message.send', { session_id: letter.session, ...message })
      : this.#begin(letter.line, message));
    if (messageId && files?.length && this.#conversation?.id === letter.session) this.#log.files(messageId, files);
  }

  /**
   * The command, by a call: the message of that name leaves no trace where there is nothing to do.
   * @param {string} [instruction]
   */
  async #compact(instruction) {
    if (this.#conversation) await this.#inspector.compact(instruction);
    else notice('Nothing to compact: nothing was said yet.');
  }

  /**
   * Makes a session with its first message. Where that is refused there is none: the page of
   * the new one stays, and the next try is made with what its settings are then. What is sent
   * meanwhile is for it, too.
   * @param {string} line of which its title is made
   * @param {Omit<import('../client/client.d.ts').MessageSendParams, 'session_id'>} message
   */
  async #begin(line, message) {
    const { session } = await this.#client.call('v1.session.create', freshParams(line, this.#client.tools()));
    const sent = await this.#client.call('v1.message.send', { session_id: session.id, ...message }).catch((error) => {
      if (error instanceof RpcError) this.#guard(this.#remove(session)); // else nobody knows whether it was taken
      throw error;
    });
    for (const letter of this.#sending) letter.session ||= session.id;
    this.#list.update(session);
    if (this.#conversation === undefined) { // else somebody reads another one meanwhile
      this.#composer.begun(session.id);
      this.#show(session.id);
    }
    return sent;
  }

  /**
   * A message with all that its entry leaves out.
   * @param {string} messageId
   */
  async #whole(messageId) {
    const { message } = await this.#client.call('v1.message.get', { session_id: this.#conversation?.id ?? '', message_id: messageId });
    return message;
  }

  /** @param {boolean} clearQueue */
  async #stop(clearQueue) {
    if (this.#conversation) await this.#client.call('v1.turn.stop', { session_id: this.#conversation.id, ...(clearQueue && { clear_queue: true }) });
  }

  /** @param {number} [seq] */
  async #fork(seq) {
    const session = this.#conversation?.session;
    if (!session) return;
    const title = `${titleOf(session)} (fork)`;
    const { session: made } = await this.#client.call('v1.session.fork', { session_id: session.id, title, ...(seq && { at_seq: seq }) });
    this.#list.update(made);
    this.#show(made.id);
    notice('This is a fork. The original is as it was.');
  }

  /** @param {import('../client/client.d.ts').Session} session */
  #changed(session) {
    if (this.#conversation?.id === session.id) this.#conversation.session = session;
    this.#list.update(session);
    this.#draw();
  }

  /** @param {Promise<unknown>} work */
  #guard(work) { work.catch((error) => notice(callError(error), { bad: true })); }
}

await new Console().start();
