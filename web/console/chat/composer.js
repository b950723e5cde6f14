// Where messages are written and sent, and answers stopped.

import { byId, h } from '../ui/dom.js';
import { notice } from '../ui/notice.js';
import { Attachments } from './attachments.js';

const MAX_HEIGHT_SHARE = 0.4; // of the window

/**
 * @typedef {{ text: string, attachments: Array<{ name: string, mime_type: string, data: string }> }} Outgoing
 */

/** The form below the conversation. */
export class Composer {
  #text = /** @type {HTMLTextAreaElement} */ (byId('text'));
  #send = /** @type {HTMLButtonElement} */ (byId('send'));
  #stop = /** @type {HTMLButtonElement} */ (byId('stop'));
  #attachments = new Attachments(byId('attachments'));
  #deliver;

  /**
   * @param {(outgoing: Outgoing) => Promise<boolean>} deliver sends; false: it was refused
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

  /** @param {string} text */
  fill(text) {
    this.#text.value = text;
    this.#fit();
    this.focus();
  }

  /** @param {{ busy: boolean, closed: boolean }} state */
  show({ busy, closed }) {
    this.#stop.hidden = !busy;
    this.#text.disabled = this.#send.disabled = closed;
    const name = busy ? 'Queue' : 'Send';
    this.#send.title = busy ? 'Send after this answer' : 'Send';
    this.#send.setAttribute('aria-label', name);
    this.#text.placeholder = closed ? 'This session is closed' : 'Write a message, or /compact';
  }

  async #submit() {
    const text = this.#text.value;
    if ((!text.trim() && this.#attachments.empty) || this.#text.disabled) return;
    this.#text.value = '';
    this.#fit();
    try {
      const { attachments, files } = await this.#attachments.take();
      if (await this.#deliver({ text, attachments })) return;
      this.#attachments.add(files);
    } catch (error) {
      notice(/** @type {Error} */ (error).message, { bad: true });
    }
    if (!this.#text.value) this.fill(text);
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
    byId('attach').addEventListener('click', () => input.click());
    this.#text.addEventListener('paste', (event) => {
      const files = event.clipboardData?.files;
      if (!files?.length) return;
      event.preventDefault();
      this.#attachments.add(files);
    });
    const page = document.documentElement;
    addEventListener('dragover', (event) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      page.classList.add('dropping');
    });
    addEventListener('dragleave', (event) => { if (!event.relatedTarget) page.classList.remove('dropping'); });
    addEventListener('drop', (event) => {
      page.classList.remove('dropping');
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      this.#attachments.add(event.dataTransfer.files);
    });
  }
}
