// Files that are to be sent with the next message.

import { h, iconButton } from '../ui/dom.js';
import { bytes, count } from '../ui/format.js';
import { notice } from '../ui/notice.js';

const MAX_TOTAL_BYTES = 5_500_000; // base64 adds a third, and a message has 8 MiB
const IMAGE_PATCH_PX = 28;
const MAX_IMAGE_TOKENS = 4784;
const BYTES_PER_TOKEN = 4;

/**
 * @typedef {{ name: string, mime_type: string, data: string }} Attachment
 * @typedef {{ file: File, element: HTMLElement }} Chosen
 */

/** The list of chosen files, filled by a button, by dropping and by pasting. */
export class Attachments {
  /** @type {Chosen[]} */
  #chosen = [];
  #list;
  #emptied;
  /** @type {Promise<unknown>} the files that were taken last are read */
  #last = Promise.resolve();

  /**
   * @param {HTMLElement} list
   * @param {() => void} emptied somebody has removed the last one, and the focus has lost its place
   */
  constructor(list, emptied) {
    this.#list = list;
    this.#emptied = emptied;
  }

  get empty() { return this.#chosen.length === 0; }

  /** @param {Iterable<File>} files */
  add(files) {
    for (const file of files) {
      if (this.#chosen.reduce((n, c) => n + c.file.size, file.size) > MAX_TOTAL_BYTES) {
        notice(`${file.name} is too large: a message takes ${bytes(MAX_TOTAL_BYTES)} of files together.`, { bad: true });
        continue;
      }
      const size = h('span', { class: 'size dim' }, bytes(file.size));
      /** @type {Chosen} */
      const chosen = { file, element: h('li', { class: 'chip' }, h('span', { class: 'name', title: file.name }, file.name), size,
        iconButton('close', `Remove ${file.name}`, () => this.#remove(chosen))) };
      this.#chosen.push(chosen);
      this.#list.append(chosen.element);
      estimate(file).then((tokens) => { if (tokens) size.textContent += ` · ≈ ${count(tokens)} tokens`; }, () => {});
    }
  }

  /**
   * Takes them away at once, so that nothing is sent twice. They are read after those that
   * were taken before: messages leave in the order in which they were written.
   * @returns {{ files: File[], attachments: Promise<Attachment[]> }}
   */
  take() {
    const files = this.#chosen.map((c) => c.file);
    this.#chosen = [];
    this.#list.replaceChildren();
    const attachments = Promise.all([Promise.all(files.map(encode)), this.#last]).then(([read]) => read);
    this.#last = attachments.catch(() => {});
    return { files, attachments };
  }

  /** @param {Chosen} chosen */
  #remove(chosen) {
    this.#chosen = this.#chosen.filter((c) => c !== chosen);
    const beside = chosen.element.nextElementSibling ?? chosen.element.previousElementSibling;
    const hadFocus = chosen.element.contains(document.activeElement);
    chosen.element.remove();
    if (!hadFocus) return;
    if (beside) beside.querySelector('button')?.focus();
    else this.#emptied();
  }
}

/**
 * @param {File} file
 * @returns {Promise<Attachment>}
 */
function encode(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onerror = () => reject(new Error(`${file.name} can’t be read.`));
    reader.onload = () => {
      const url = /** @type {string} */ (reader.result);
      resolve({ name: file.name || 'file', mime_type: file.type || 'application/octet-stream', data: url.slice(url.indexOf(',') + 1) });
    };
    reader.readAsDataURL(file);
  });
}

/** About what a file will cost; the server tells exactly when it has it. @param {File} file */
async function estimate(file) {
  if (/^image\/(png|jpeg|gif|webp)$/.test(file.type)) {
    const { width, height } = await createImageBitmap(file);
    return Math.min(MAX_IMAGE_TOKENS, Math.ceil(width / IMAGE_PATCH_PX) * Math.ceil(height / IMAGE_PATCH_PX));
  }
  const isText = file.type.startsWith('text/') || /json|xml|javascript|yaml/.test(file.type);
  return isText ? Math.ceil(file.size / BYTES_PER_TOKEN) : 0;
}
