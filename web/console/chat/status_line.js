// The line above the composer: what goes on, and what waits.

import { byId, h } from '../ui/dom.js';
import { plural } from '../ui/format.js';
import { activityText } from '../ui/words.js';

/** @type {ReturnType<typeof setInterval> | undefined} counts down to the next try */
let countdown;

/**
 * @param {import('./conversation.js').Conversation | undefined} conversation
 * @param {string[]} sending what was sent and is not acknowledged yet
 * @param {() => void} clearQueue
 */
export function showStatus(conversation, sending, clearQueue) {
  clearInterval(countdown);
  const activity = conversation?.activity;
  if (conversation?.live && activity?.activity === 'retrying') countdown = setInterval(() => showActivity(conversation), 1000);
  showActivity(conversation);

  const waiting = conversation?.queue ?? [];
  const queue = byId('queue');
  queue.hidden = waiting.length + sending.length === 0;
  queue.replaceChildren(
    ...(waiting.length ? [h('div', { class: 'row' }, h('strong', {}, plural(waiting.length, 'message'), ' in the queue'),
      h('button', { type: 'button', class: 'quiet small', onclick: clearQueue }, 'Stop and clear'))] : []),
    h('ol', {}, ...waiting.map((m) => h('li', {}, m.text || '(files)')),
      ...sending.map((text) => h('li', { class: 'dim' }, `Sending… ${text}`))));
}

/** @param {import('./conversation.js').Conversation | undefined} conversation */
function showActivity(conversation) {
  const text = conversation ? textFor(conversation) : '';
  const status = byId('activity');
  if (status.textContent !== text) status.textContent = text;
  byId('activity-line').hidden = !text;
  byId('activity-line').classList.toggle('away', conversation?.live === false);
}

/** @param {import('./conversation.js').Conversation} conversation */
function textFor({ activity, activityAt, turn, live }) {
  if (!live) return turn ? 'An answer was under way. The rest is shown once there is a connection.' : '';
  return activityText(activity, performance.now() - activityAt) || (turn ? 'Answering…' : '');
}
