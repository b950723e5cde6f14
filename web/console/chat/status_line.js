// The line above the composer: what goes on, and what waits.

import { byId, h } from '../ui/dom.js';
import { plural } from '../ui/format.js';
import { activityText } from '../ui/words.js';

/**
 * @param {import('./conversation.js').Conversation | undefined} conversation
 * @param {string[]} sending what was sent and is not acknowledged yet
 * @param {() => void} clearQueue
 */
export function showStatus(conversation, sending, clearQueue) {
  const activity = conversation && (activityText(conversation.activity) || (conversation.turn ? 'Answering…' : ''));
  const status = byId('activity');
  if (status.textContent !== (activity ?? '')) status.textContent = activity ?? '';
  byId('activity-line').hidden = !activity;

  const waiting = conversation?.queue ?? [];
  const queue = byId('queue');
  queue.hidden = waiting.length + sending.length === 0;
  queue.replaceChildren(
    ...(waiting.length ? [h('div', { class: 'row' }, h('strong', {}, plural(waiting.length, 'message'), ' in the queue'),
      h('button', { type: 'button', class: 'quiet small', onclick: clearQueue }, 'Stop and clear'))] : []),
    h('ol', {}, ...waiting.map((m) => h('li', {}, m.text || '(files)')),
      ...sending.map((text) => h('li', { class: 'dim' }, `Sending… ${text}`))));
}
