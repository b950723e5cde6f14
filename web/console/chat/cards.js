// What happened between the messages: lines and cards of the log.

import { h } from '../ui/dom.js';
import { cost, count, duration, plural } from '../ui/format.js';
import { compactionOutcome, compactionReason, turnError } from '../ui/words.js';

/**
 * @typedef {import('../../client/client.d.ts').Event} Entry
 * @typedef {import('../../client/client.d.ts').CompactionResult} Compaction
 */

const SUMMARY_NAMES = { now: 'Summary that the model reads now', replaced: 'Summary that a later one replaced', undone: 'Summary that was undone' };

/**
 * Names the summary on the card of a compaction by what has become of it.
 * @param {HTMLElement | undefined} card
 * @param {keyof typeof SUMMARY_NAMES} state
 */
export function nameSummary(card, state) {
  const name = card?.querySelector('.summary-name');
  if (name) name.textContent = SUMMARY_NAMES[state];
}

/**
 * The element for an entry that is no message and no tool call; undefined if it has none.
 * @param {Entry} entry
 * @returns {HTMLElement | undefined}
 */
export function cardFor({ type, data }) {
  switch (type) {
    case 'session.created': return data.forked_from && line(`Forked at entry ${data.forked_from.seq} of another session`);
    case 'turn.completed': return turnEnd(data);
    case 'command': return h('article', { class: 'user command' }, h('code', { class: 'bubble' }, `/${data.command}${data.text ? ` ${data.text}` : ''}`));
    case 'compaction.completed': return compaction(data);
    case 'compaction.failed': return compactionFailed(data);
    case 'compaction.undone': return line(`Compaction undone · ${change(data)}`);
    case 'context.cleared': return line(`${plural(data.ids.length, 'old tool result')} cleared from the model’s view · ${count(data.tokens_before)} → ${count(data.tokens_after)} tokens`);
    case 'context.injected': return injected(data);
    case 'context.warning': return line(data.message ?? '', 'warning');
    case 'memory.changed': return line(`Memory ${data.change}${data.memory ? `: ${data.memory.title}` : ''}`);
    case 'message.dropped': return line('A queued message was dropped');
    default: return undefined;
  }
}

/**
 * @param {string} text
 * @param {string} [more]
 */
function line(text, more = '') { return h('p', { class: `line ${more}` }, h('span', {}, text)); }

/** @param {Compaction} data */
function change({ tokens_before: before = 0, tokens_after: after = 0 }) { return `${count(before)} → ${count(after)} tokens`; }

/** @param {import('../../client/client.d.ts').TurnCompletedData} data */
function turnEnd({ status, error, stop_reason: reason, usage, cost_usd: usd }) {
  const used = usage.input + usage.cache_read + usage.cache_write_5m + usage.cache_write_1h;
  const parts = [`${count(used)} in`, `${count(usage.output)} out`, ...(usd ? [cost(usd)] : [])];
  const foot = h('p', { class: 'foot dim' }, parts.join(' · '));
  if (error) {
    const { title, detail } = turnError(error);
    return h('div', { class: 'card bad turn-error', role: 'group', 'aria-label': 'Error' }, h('strong', {}, title), detail && h('p', {}, detail));
  }
  if (status === 'stopped') return line('You stopped this answer');
  if (status === 'interrupted') return line('This answer was interrupted');
  if (reason) foot.prepend(h('span', { class: 'tag' }, 'cut off by length'), ' ');
  return foot;
}

/** @param {Compaction} data */
function compaction(data) {
  const { tokens_before: before = 0, tokens_after: after = 0, survived, reason, summary } = data;
  const kept = survived ? [
    `${plural(survived.user_messages, 'message')} of yours word for word`,
    ...(survived.files ? [plural(survived.files, 'file')] : []),
  ] : [];
  const facts = [
    data.writer && data.writer !== 'none' && `written by ${{ model: 'the model', memory: 'the session’s memory', digest: 'rule' }[data.writer]}`,
    data.level ? `level ${data.level}` : '', data.duration_ms !== undefined && duration(data.duration_ms),
    data.cost_usd ? cost(data.cost_usd) : '', reason && compactionReason(reason),
  ].filter(Boolean);
  return h('section', { class: 'card compaction', 'aria-label': 'Compaction' },
    h('div', { class: 'row' }, h('strong', {}, compactionOutcome(data)),
      h('span', { class: 'numbers' }, `${count(before)} → ${count(after)} tokens`), saved(before, after)),
    h('p', { class: 'dim' }, [kept.length ? `Kept ${kept.join(', ')}` : '', ...facts].filter(Boolean).join(' · ')),
    summary && h('details', { class: 'fold' }, h('summary', { class: 'summary-name' }, SUMMARY_NAMES.now), h('div', { class: 'pre', tabindex: 0 }, summary)));
}

/**
 * @param {number} before
 * @param {number} after
 */
function saved(before, after) {
  return before > after && h('span', { class: 'tag good' }, `−${Math.round((1 - after / before) * 100)}%`);
}

/** @param {Compaction} data */
function compactionFailed(data) {
  const reason = compactionReason(data.reason);
  return h('section', { class: 'card compaction warning', 'aria-label': 'Compaction' }, h('strong', {}, compactionOutcome(data)),
    h('p', { class: 'dim' }, `Nothing changed${reason ? `: ${reason}` : ''}.`));
}

/** @param {import('../../client/client.d.ts').ContextInjectedData} data */
function injected({ kind, tokens, text }) {
  const what = { agent_prompt: 'AGENT.md', todo_list: 'The todo list', session_memory: 'The session’s memory', user_memory: 'Your memory' }[kind];
  return h('details', { class: 'fold injected' },
    h('summary', {}, `${what} is shown to the model`, h('span', { class: 'dim' }, ` ${plural(tokens, 'token')}`)), h('div', { class: 'pre' }, text ?? ''));
}
