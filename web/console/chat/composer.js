// Where messages are written and sent, and answers stopped.

import { byId, h } from '../ui/dom.js';
import { Attachments } from './attachments.js';

const MAX_HEIGHT_SHARE = 0.4; // of the window

/**
 * @typedef {{ text: string, names: string[], attachments: Promise<import('./attachments.js').Attachment[]> }} Outgoing
 *   names: of the files, whose contents are still read
 * @typedef {{ text: string, files: File[] }} Draft
 */

/** The form below the conversation. It keeps what was begun in each session. */
export class Composer {
  #text = /** @type {HTMLTextAreaElement} */ (byId('text'));
  #send = /** @type {HTMLButtonElement} */ (byId('send'));
  #stop = /** @type {HTMLButtonElement} */ (byId('stop'));
  #attach = /** @type {HTMLButtonElement} */ (byId('attach'));
  #attachments = new Attachments(byId('attachments'), () => this.focusUnasked());
  #deliver;
  #session = ''; // that is written in; empty for the one that does not exist yet
  /** @type {Map<string, Draft>} what was begun elsewhere */
  #drafts = new Map();
  /** @type {Set<string>} sessions that are no more */
  #gone = new Set();

  /**
   * @param {(outgoing: Outgoing) => Promise<{ refusedIn?: string }>} deliver sends, and says
   *   what goes wrong itself; refusedIn is the session then
   * @param {() => void} stop
   */
  constructor(deliver, stop) {
    this.#deliver = deliver;
    byId('composer').addEventListener('submit', (event) => { event.preventDefault(); this.#submit(); });
    this.#stop.addEventListener('click', stop);
    this.#text.addEventListener('input', () => this.#fit());
    this.#text.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.#submit();
    });
    this.#takeFiles();
  }

  focus() { this.#text.focus(); }

  /** Puts the focus where writing goes on, unless that calls up a keyboard on the screen. */
  focusUnasked() { if (!matchMedia('(pointer: coarse)').matches) this.focus(); }

  /** @param {string} text */
  fill(text) {
    this.#text.value = text;
    this.#fit();
    this.focus();
  }

  /**
   * Goes on with what was begun in another session.
   * @param {string} session
   */
  open(session) {
    if (session === this.#session) return;
    this.#keep(this.#session, this.#text.value, this.#attachments.take().files);
    this.#session = session;
    const draft = this.#drafts.get(session);
    this.#drafts.delete(session);
    this.#text.value = draft?.text ?? '';
    this.#attachments.add(draft?.files ?? []);
    this.#fit();
  }

  /**
   * The session that did not exist yet has become this one; what was begun goes along.
   * @param {string} session
   */
  begun(session) {
    if (this.#session === '') this.#session = session;
  }

  /**
   * A session is no more: what was begun in it, and what of it comes back, goes to a new one.
   * @param {string} session
   * @returns whether there is something
   */
  gone(session) {
    this.#gone.add(session);
    const draft = session === this.#session ? { text: this.#text.value, files: this.#attachments.take().files } : this.#drafts.get(session);
    if (session === this.#session) this.#text.value = '';
    this.#drafts.delete(session);
    if (draft) this.#keep('', draft.text, draft.files);
    return this.#drafts.has('');
  }

  /** @param {{ busy: boolean, closed: boolean }} state */
  show({ busy, closed }) {
    if (this.#stop.contains(document.activeElement) && !busy) this.focus(); // it goes away
    this.#stop.hidden = !busy;
    this.#text.disabled = this.#send.disabled = this.#attach.disabled = closed;
    const name = busy ? 'Queue' : 'Send';
    this.#send.title = busy ? 'Send after this answer' : 'Send';
    this.#send.setAttribute('aria-label', name);
    byId('composer').classList.toggle('closed', closed);
    this.#text.placeholder = closed ? 'This session is closed' : 'Write a message, or /compact';
  }

  async #submit() {
    const text = this.#text.value;
    if ((!text.trim() && this.#attachments.empty) || this.#text.disabled) return;
    this.#text.value = '';
    this.#fit();
    const { files, attachments } = this.#attachments.take();
    const { refusedIn } = await this.#deliver({ text, names: files.map((f) => f.name), attachments });
    if (refusedIn !== undefined) this.#giveBack(refusedIn, text, files);
  }

  /**
   * What was refused comes back where it was written, below what was written since.
   * @param {string} origin the session it was written in
   * @param {string} text
   * @param {File[]} files
   */
  #giveBack(origin, text, files) {
    const session = this.#gone.has(origin) ? '' : origin;
    if (session !== this.#session) return this.#keep(session, text, files);
    this.#text.value = [this.#text.value, text].filter((t) => t.trim()).join('\n');
    this.#attachments.add(files);
    this.#fit();
  }

  /**
   * @param {string} session
   * @param {string} text
   * @param {File[]} files
   */
  #keep(session, text, files) {
    const { text: before = '', files: others = [] } = this.#drafts.get(session) ?? {};
    const draft = { text: [before, text].filter((t) => t.trim()).join('\n'), files: [...others, ...files] };
    if (draft.text || draft.files.length) this.#drafts.set(session, draft);
  }

  #fit() {
    this.#text.style.height = 'auto';
    this.#text.style.height = `${Math.min(this.#text.scrollHeight + 2, innerHeight * MAX_HEIGHT_SHARE)}px`;
  }

  #takeFiles() {
    const input = h('input', { type: 'file', multiple: true, hidden: true, 'aria-label': 'Files to attach', onchange: () => {
      this.#attachments.add(input.files ?? []);
      input.value = '';
      this.focus();
    } });
    byId('composer').append(input);
    this.#attach.addEventListener('click', () => input.click());
    this.#text.addEventListener('paste', (event) => {
      const files = [...event.clipboardData?.files ?? []];
      if (files.length === 0) return;
      event.preventDefault();
      this.#attachments.add(files);
    });
    this.#takeDropped();
  }

  /** Files are dropped anywhere on the page; where none are taken, they must not replace it. */
  #takeDropped() {
    const page = document.documentElement;
    const hasFiles = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes('Files') ?? false;
    addEventListener('dragover', (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      page.classList.toggle('dropping', !this.#text.disabled);
    });
    addEventListener('dragleave', (event) => { if (!event.relatedTarget) page.classList.remove('dropping'); });
    addEventListener('drop', (event) => {
      page.classList.remove('dropping');
      if (!hasFiles(event)) return;
      event.preventDefault();
      if (!this.#text.disabled) this.#attachments.add(event.dataTransfer?.files ?? []);
    });
  }
}
