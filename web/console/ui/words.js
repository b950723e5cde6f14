// What the server says by code, in words for whoever sits in front of the page.

import { ConnectionError, RpcError } from '../../client/client.js';
import { bytes, count, duration } from './format.js';

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
  return { title: TURN_ERRORS[kind] ?? 'The turn failed.', detail: message ?? '' };
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
 */
export function callError(error) {
  if (error instanceof ConnectionError) return 'There is no connection to the server.';
  if (!(error instanceof RpcError)) return error instanceof Error ? error.message : String(error);
  const { kind, data = {} } = error;
  if (kind === 'content_too_large') {
    if (data.max_tokens) return `That is too long: ${count(data.tokens ?? 0)} tokens, and ${count(data.max_tokens)} fit.`;
    if (data.max_bytes) return `That is too large: ${bytes(data.bytes ?? 0)}, and ${bytes(data.max_bytes)} are taken.`;
  }
  if (kind === 'context_overflow') return `It would not fit: ${count(data.tokens ?? 0)} tokens, and ${count(data.limit ?? 0)} are allowed.`;
  if (data.reason) return sentence(data.reason);
  return (kind && CALL_ERRORS[kind]) ?? sentence(error.message);
}

/** @param {string} text */
function sentence(text) {
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
 */
export function activityText(activity) {
  switch (activity?.activity) {
    case 'compacting': return 'Compacting the context…';
    case 'waiting_tool': return 'Running tools…';
    case 'retrying': return `The model’s service does not answer. Try ${activity.attempt ?? 2} in ${duration(activity.retry_in_ms ?? 0)}…`;
    default: return '';
  }
}
