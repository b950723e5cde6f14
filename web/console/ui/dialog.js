// Questions: a text, a yes or no.

import { h } from './dom.js';
import { plural } from './format.js';

const utf8 = new TextEncoder();

/**
 * Asks and resolves with the form's values, or undefined if it is called off.
 * @param {{ title: string, body: Node[], confirm: string, danger?: boolean, mayCancel?: boolean }} options
 * @returns {Promise<Record<string, string> | undefined>}
 */
export function ask({ title, body, confirm, danger = false, mayCancel = true }) {
  return new Promise((resolve) => {
    const form = h('form', { method: 'dialog' },
      h('h2', { id: 'dialog-title' }, title), ...body,
      h('div', { class: 'row end' },
        mayCancel && h('button', { type: 'button', class: 'quiet', onclick: () => dialog.close() }, 'Cancel'),
        h('button', { class: danger ? 'danger' : 'primary', value: 'yes' }, confirm)));
    const dialog = h('dialog', { 'aria-labelledby': 'dialog-title' }, form);
    dialog.addEventListener('cancel', (event) => { if (!mayCancel) event.preventDefault(); });
    dialog.addEventListener('close', () => {
      const values = Object.fromEntries(new FormData(form));
      dialog.remove();
      resolve(dialog.returnValue === 'yes' ? /** @type {Record<string, string>} */ (values) : undefined);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/**
 * Asks for a line of text.
 * @param {{ title: string, label: string, value?: string, confirm: string, type?: string, hint?: string, mayCancel?: boolean, maxBytes?: number }} options
 */
export async function askText({ title, label, value = '', confirm, type = 'text', hint, mayCancel, maxBytes = 4096 }) {
  const input = h('input', { id: 'dialog-text', name: 'text', type, value, maxlength: maxBytes, required: true, autocomplete: 'off' });
  input.addEventListener('input', () => {
    const more = utf8.encode(input.value.trim()).length - maxBytes;
    input.setCustomValidity(more > 0 ? `This is too long by ${plural(more, 'byte')}.` : '');
  });
  const body = [h('label', { for: 'dialog-text' }, label), input, ...(hint ? [h('p', { class: 'dim' }, hint)] : [])];
  const answered = ask({ title, body, confirm, mayCancel });
  input.select();
  return (await answered)?.text.trim();
}

/**
 * @param {{ title: string, text: string, confirm: string }} options
 */
export async function askYes({ title, text, confirm }) {
  return await ask({ title, body: [h('p', {}, text)], confirm, danger: true }) !== undefined;
}
