// What the server says by code, in words for whoever sits in front of the page.

import { ConnectionError, RpcError } from '../../client/client.js';
import { bytes, count } from './format.js';

/** @type {Record<string, string>} */
const TURN_ERRORS = {
  context_overflow: 'This does not fit into the model’s context, whatever is compacted.',
  upstream_failed: 'The model’s provider failed or refused the request.',
  round_limit: 'The turn used all the model calls that one turn may make. Send “go on” to continue.',
  time_limit: 'The turn used all the time that one turn may take. Send “go on” to continue.',
  token_limit: 'The turn used all the tokens that one turn may use. Send “go on” to continue.',
  refused: 'The model declined to answer.',
  quota_exceeded: 'What the server allows you is used up for now.',
  crash: 'The server stopped several times during this turn, so it was given up.',
  internal: 'The server failed. Its log has the details.',
};

/**
 * Why a turn failed.
 * @param {import('../../client/client.d.ts').TurnError} error
 */
export function turnError({ kind, message }) {
  const title = TURN_ERRORS[kind] ?? 'The turn failed.';
  const detail = sentence(message ?? '');
  return { title, detail: bare(detail) === bare(title) ? '' : detail };
}

/** @type {Record<string, string>} */
const CALL_ERRORS = {
  busy: 'That has to wait until the running answer has ended.',
  queue_full: 'Too many messages wait already. Let some be answered first.',
  session_closed: 'This session is closed. Open it again to go on.',
  not_found: 'That is not there any more.',
  forbidden: 'You may not do that.',
  quota_exceeded: 'What the server allows you is used up for now.',
  overloaded: 'The server has no room right now. Try again in a moment.',
  rate_limited: 'Too many calls. Try again in a moment.',
  upstream_failed: 'The model’s provider failed.',
  unauthenticated: 'You are not signed in.',
};

/**
 * Why a call failed.
 * @param {unknown} error
 * @param {string[]} [files] the names of those that it was made with
 */
export function callError(error, files = []) {
  if (error instanceof ConnectionError) return 'There is no connection to the server.';
  if (!(error instanceof RpcError)) return error instanceof Error ? error.message : String(error);
  const { kind, data = {} } = error;
  const subject = subjectOf(data.path, files);
  if (kind === 'content_too_large') {
    if (data.max_tokens) return `${subject || 'That'} is too long: ${count(data.tokens ?? 0)} tokens, and ${count(data.max_tokens)} fit.`;
    if (data.max_bytes) return `${subject || 'That'} is too large: ${bytes(data.bytes ?? 0)}, and ${bytes(data.max_bytes)} are taken.`;
  }
  if (kind === 'context_overflow') return `It would not fit: ${count(data.tokens ?? 0)} tokens, and ${count(data.limit ?? 0)} are allowed.`;
  if (data.reason) return sentence(about(subject, grouped(data.reason)));
  return (kind && CALL_ERRORS[kind]) ?? sentence(error.message);
}

/** What people know the params by. @type {Record<string, string>} */
const SUBJECTS = {
  title: 'The title', model: 'The model', system_prompt: 'The system prompt', custom_instruction: 'The instruction', content: 'The message',
  'settings.context_tokens_limit': 'The context limit', session_id: 'The session', tools: 'The tools',
};

/**
 * What the member of the params at a path is to people: the name of a file, if it is one.
 * @param {string | undefined} path such as attachments[2].data
 * @param {string[]} files
 */
function subjectOf(path, files) {
  if (!path) return '';
  const file = /^attachments\[(\d+)\]/.exec(path);
  const name = file && files[Number(file[1])];
  return name ? `“${name}”` : SUBJECTS[path] ?? '';
}

/**
 * Reasons mostly go on from what they are about: "must be …".
 * @param {string} subject
 * @param {string} reason
 */
function about(subject, reason) {
  if (!subject) return reason;
  return /^(must|is|are|has|have|does|do|can|holds|needs)\b/.test(reason) ? `${subject} ${reason}` : `${subject}: ${reason}`;
}

/** With its large numbers in groups of digits. @param {string} text */
function grouped(text) { return text.replaceAll(/(?<![\w.-])\d{4,}(?![\w-])/g, (digits) => count(Number(digits))); }

/** Without what makes no difference. @param {string} text */
function bare(text) { return text.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, ' ').trim(); }

/** @param {string} text */
function sentence(text) {
  if (!text) return '';
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(capital) ? capital : `${capital}.`;
}

/** @type {Record<string, string>} */
const REASONS = {
  nothing_to_compact: 'there is nothing that could leave',
  not_smaller: 'it would not get smaller',
  over_landing: 'what has to stay is larger than was aimed at',
  cancelled: 'it was stopped',
  superseded: 'something else came first',
  overhead: 'system prompt and tools alone are too large',
  summariser_timeout: 'the summary took too long',
  summariser_rate: 'the model’s service allowed no more calls',
  summariser_overload: 'the model’s service was overloaded',
  summariser_network: 'the model’s service could not be reached',
  summariser_auth: 'the model’s service did not accept the key',
};

/** @param {string | undefined} reason */
export function compactionReason(reason) {
  if (!reason) return '';
  return REASONS[reason] ?? reason.replace(/^summariser_/, 'no usable summary: ').replaceAll('_', ' ');
}

/** @type {Record<string, string>} */
const OUTCOMES = {
  applied: 'Context compacted',
  degraded: 'Context compacted by rule',
  noop: 'Nothing to compact',
  no_progress: 'Compaction would not have helped',
  failed: 'Compaction failed',
  aborted: 'Compaction stopped',
};

/** @param {import('../../client/client.d.ts').CompactionResult} result */
export function compactionOutcome({ outcome = 'applied', trigger }) {
  const how = outcome === 'applied' && trigger === 'auto' ? ' automatically'
    : outcome === 'applied' && trigger === 'overflow' ? ' after a refusal' : '';
  return `${OUTCOMES[outcome]}${how}`;
}

/** @type {Record<string, string>} */
const PARTS = {
  system: 'System prompt', tools: 'Tools', agent_prompt: 'AGENT.md', todo_list: 'Todo list',
  session_memory: 'Session memory', user_memory: 'Your memory', outdated_attachments: 'Outdated attachments',
  summary: 'Summary', pinned_request: 'Pinned request', messages: 'Messages', open_round: 'Open tool round', thinking: 'Thinking',
};

/** @param {string} name */
export function partName(name) { return PARTS[name] ?? name.replaceAll('_', ' '); }

/**
 * What the session is busy with; empty if with nothing out of the ordinary.
 * @param {import('../../client/client.d.ts').Activity | undefined} activity
 * @param {number} [age] how long ago it was told, in milliseconds
 */
export function activityText(activity, age = 0) {
  switch (activity?.activity) {
    case 'compacting': return 'Compacting the context…';
    case 'waiting_tool': return 'Running tools…';
    case 'retrying': return `The model’s service does not answer. ${nextTry(activity.attempt ?? 2, (activity.retry_in_ms ?? 0) - age)}`;
    default: return '';
  }
}

/**
 * @param {number} attempt
 * @param {number} ms until it is made
 */
function nextTry(attempt, ms) { return ms < 500 ? `Try ${attempt}…` : `Try ${attempt} in ${Math.max(1, Math.round(ms / 1000))} s…`; }
