// The messages as the model would be shown them.

import { h } from '../ui/dom.js';
import { short } from '../ui/format.js';

const GIST_CHARS = 80;

/**
 * Shows the messages in place of others; what was unfolded stays so.
 * @param {HTMLElement} place
 * @param {import('../../client/client.d.ts').ViewMessage[]} view
 */
export function showView(place, view) {
  const open = new Set([...place.querySelectorAll('details[open]')].map((d) => /** @type {HTMLElement} */ (d).dataset.message));
  place.replaceChildren(viewList(view));
  for (const details of place.querySelectorAll('details')) details.open = open.has(details.dataset.message);
}

/** @param {import('../../client/client.d.ts').ViewMessage[]} view */
function viewList(view) {
  if (view.length === 0) return h('p', { class: 'dim' }, 'No messages yet.');
  return h('ol', { class: 'view' }, ...view.map((m) => {
    const text = m.content.map(blockText).join('\n');
    const who = m.id === undefined ? 'summary' : m.role;
    return h('li', {}, h('details', { class: 'fold', 'data-message': m.id ?? 'summary' },
      h('summary', {}, h('span', { class: `tag ${who}` }, who), h('span', { class: 'gist' }, text.slice(0, GIST_CHARS)), h('span', { class: 'dim' }, `${short(text.length)} chars`)),
      h('div', { class: 'pre', tabindex: 0 }, text)));
  }));
}

/**
 * @param {import('../../client/client.d.ts').Block} block
 * @returns {string}
 */
function blockText(block) {
  switch (block.type) {
    case 'text': return block.text ?? '(left out)';
    case 'thinking': return `[thinking] ${block.text ?? ''}`;
    case 'image': return `[picture ${block.mime_type}]`;
    case 'tool_use': return `[call ${block.name}] ${JSON.stringify(block.input ?? {})}`;
    case 'tool_result': return `[result${block.is_error ? ', an error' : ''}] ${block.content.map(blockText).join('\n')}`;
  }
}
