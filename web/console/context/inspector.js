// The side panel about the context: what the model would get now, and what can be done
// about it.

import { byId, h } from '../ui/dom.js';
import { count, percentage, plural, since } from '../ui/format.js';
import { notice } from '../ui/notice.js';
import { callError, compactionOutcome, compactionReason } from '../ui/words.js';
import { partsBar } from './parts_bar.js';
import { timeline } from './timeline.js';
import { showView } from './view_list.js';

/** Entries after which the model is shown something else. */
const ALTERING = new Set(['message.added', 'turn.completed', 'tool.resolved', 'compaction.completed', 'compaction.undone', 'context.cleared', 'context.injected', 'session.updated']);
const PAUSE_MS = 400; // between two readings while much happens
const UNTIL_THEN = 'Once something was said, this shows what the model is given: every part with its size, when the context will be compacted, and what a compaction kept.';

/**
 * @typedef {import('../../client/client.d.ts').Client} Client
 * @typedef {import('../../client/client.d.ts').SessionContextResult} Context
 * @typedef {import('../../client/client.d.ts').CompactionResult} Compaction
 * @typedef {import('../chat/conversation.js').Conversation} Conversation
 * @typedef {{ rounds: import('./rounds.js').Rounds, toolName: (id: string) => string, reveal: (id: string) => void }} Host
 */

/** Reads the context while the panel is open, and again when something has changed. */
export class Inspector {
  #client;
  #host;
  /** @type {Conversation | undefined} */
  #conversation;
  #open = false;
  #usable = true;
  #acting = false;
  #viewed = false; // the messages are shown
  #viewStale = false; // and others are by now
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /**
   * @param {Client} client
   * @param {Host} host
   */
  constructor(client, host) {
    this.#client = client;
    this.#host = host;
    byId('compact').addEventListener('click', () => this.compact());
    byId('compact-form').addEventListener('submit', (event) => {
      event.preventDefault();
      const input = /** @type {HTMLInputElement} */ (byId('instruction'));
      this.compact(input.value.trim()).then(() => { input.value = ''; });
    });
    byId('dry-run').addEventListener('click', () => this.#dryRun());
    byId('undo').addEventListener('click', () => this.#undo());
    byId('show-view').addEventListener('click', () => this.#toggleView());
  }

  /** @param {Conversation | undefined} conversation */
  follow(conversation) {
    this.#conversation = conversation;
    instead(!conversation ? UNTIL_THEN : this.#client.state === 'open' ? 'Reading…' : 'Read as soon as the server can be reached.');
    this.#setViewed(false);
    for (const id of ['context-now', 'context-facts', 'context-summary', 'context-cleared', 'timeline', 'view', 'plan']) byId(id).replaceChildren();
    this.changed();
  }

  /** @param {boolean} open */
  shown(open) {
    this.#open = open;
    if (open) this.changed();
  }

  /** Whether the session takes compactions. @param {boolean} usable */
  usable(usable) {
    this.#usable = usable;
    this.#enable();
  }

  /**
   * Reads and draws again, soon.
   * @param {import('../../client/client.d.ts').Event} [entry] what has happened
   */
  changed(entry) {
    if (entry && ALTERING.has(entry.type)) {
      this.#viewStale = true;
      byId('plan').replaceChildren(); // was made for what was said until then
    }
    if (!this.#open || !this.#conversation) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#read();
    }, PAUSE_MS);
  }

  /** @param {string} [instruction] */
  async compact(instruction) {
    const result = await this.#act('v1.session.compact', instruction ? { custom_instruction: instruction } : {});
    if (result?.outcome === 'noop') notice(`${compactionOutcome(result)}: ${compactionReason(result.reason)}.`);
  }

  async #undo() {
    const result = await this.#act('v1.session.undo_compact', {});
    if (result?.outcome === 'noop') notice('There is no compaction to undo.');
  }

  async #dryRun() {
    const result = await this.#act('v1.session.compact', { dry_run: true });
    if (result) byId('plan').replaceChildren(planText(result));
  }

  #toggleView() {
    this.#setViewed(!this.#viewed);
    if (!this.#viewed) return byId('view').replaceChildren();
    this.#viewStale = true;
    this.#read();
  }

  /** @param {boolean} viewed */
  #setViewed(viewed) {
    this.#viewed = viewed;
    byId('show-view').textContent = viewed ? 'Hide the messages' : 'Show the messages';
    byId('show-view').setAttribute('aria-expanded', String(viewed));
  }

  #enable() {
    const controls = /** @type {NodeListOf<HTMLButtonElement>} */ (byId('context-actions').querySelectorAll('button, input'));
    for (const control of controls) control.disabled = this.#acting || !this.#usable;
  }

  /**
   * @param {'v1.session.compact' | 'v1.session.undo_compact'} method
   * @param {object} params
   * @returns {Promise<Compaction | undefined>}
   */
  async #act(method, params) {
    const conversation = this.#conversation;
    if (!conversation) return undefined;
    const focused = document.activeElement;
    this.#acting = true;
    this.#enable();
    byId('plan').replaceChildren();
    try {
      return await this.#client.call(method, { session_id: conversation.id, ...params });
    } catch (error) {
      notice(callError(error), { bad: true });
      return undefined;
    } finally {
      this.#acting = false;
      this.#enable();
      if (document.activeElement === document.body && focused instanceof HTMLElement) focused.focus(); // it was disabled
      this.changed();
    }
  }

  async #read() {
    const conversation = this.#conversation;
    if (!conversation || !this.#open) return;
    const withView = this.#viewed && this.#viewStale;
    if (withView) this.#viewStale = false;
    try {
      const context = await this.#client.call('v1.session.context', { session_id: conversation.id, ...(withView && { include_view: true }) });
      if (conversation !== this.#conversation) return;
      this.#draw(conversation, context);
      if (withView && this.#viewed) showView(byId('view'), context.view ?? []);
    } catch (error) {
      this.#viewStale ||= withView;
      if (conversation === this.#conversation && this.#client.state === 'open') instead(callError(error));
    }
  }

  /**
   * @param {Conversation} conversation
   * @param {Context} context
   */
  #draw(conversation, context) {
    const { context_tokens: tokens, compression_progress: percent, estimated } = context;
    byId('context-body').hidden = false;
    byId('context-empty').hidden = true;
    byId('context-now').replaceChildren(
      h('p', { class: 'headline' }, h('strong', { id: 'context-tokens' }, count(tokens)), ` tokens${estimated ? ', estimated' : ''}`,
        h('span', { class: 'dim' }, `${percentage(percent)} of the way to compaction`)),
      partsBar(context));
    byId('context-facts').replaceChildren(...facts(context));
    byId('timeline').replaceChildren(timeline(this.#host.rounds.points, context.threshold));
    byId('context-summary').replaceChildren(...summary(conversation.compactions.at(-1)));
    byId('context-cleared').replaceChildren(...this.#cleared(context.cleared));
    /** @type {HTMLButtonElement} */ (byId('undo')).hidden = conversation.compactions.length === 0;
  }

  /** @param {string[]} ids */
  #cleared(ids) {
    if (ids.length === 0) return [];
    return [h('h3', {}, 'Cleared results'), h('p', { class: 'dim' }, 'The model is shown a line in place of these. The log has them.'),
      h('ul', { class: 'chips' }, ...ids.map((id) => h('li', {}, h('button', { type: 'button', class: 'quiet small', onclick: () => this.#host.reveal(id) }, this.#host.toolName(id)))))];
  }
}

/** Shows a text in place of the numbers. @param {string} text */
function instead(text) {
  byId('context-body').hidden = true;
  byId('context-empty').hidden = false;
  byId('context-empty').textContent = text;
}

/** @param {Context} c */
function facts(c) {
  const list = [
    ['Model', c.model], ['Limit', count(c.context_tokens_limit)], ['Cannot shrink', count(c.overhead)],
    ['Level', c.level ? `${c.level} of 3` : '0, relaxed'], ['Generation', count(c.generation)],
    ['Counted by', `${c.encoding} × ${c.ratio.toFixed(2)}`],
    ['Verbatim from', c.boundary_seq ? `entry ${c.boundary_seq}` : 'the beginning'],
    ...(c.compaction_paused ? [['Paused', c.compaction_paused.reason === 'no_progress' ? 'it did not help' : `no summary; tried again ${c.compaction_paused.until ? since(c.compaction_paused.until) : 'later'}`]] : []),
  ];
  return list.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value)));
}

/** The files that a summary message shows again. @param {Compaction} result */
function filesIn({ summary: text = '', survived }) {
  const found = [...text.matchAll(/^<file path="([^"]*)" note="([^"]*)">$/gm)].map(([, path, note]) => ({ path, note }));
  return survived?.files ? found.slice(-survived.files) : [];
}

/** @param {Compaction | undefined} last */
function summary(last) {
  if (!last?.summary) return [];
  const files = filesIn(last);
  return [h('h3', {}, 'Summary'),
    h('p', { class: 'dim' }, `Word for word in it: ${plural(last.survived?.user_messages ?? 0, 'message')} of yours${files.length ? ', and these files' : ''}.`),
    files.length > 0 && h('ul', { class: 'recovered', 'aria-label': 'Files shown again' }, ...files.map(({ path, note }) => h('li', {}, h('code', {}, path), h('span', { class: 'dim' }, ` ${note}`)))),
    h('details', { class: 'fold' }, h('summary', {}, 'Read it'), h('div', { class: 'pre', tabindex: 0 }, last.summary))].filter((e) => e !== false);
}

/**
 * A summary's length is known at most: where that is no less than there is now, it may be
 * that nothing is done.
 * @param {Compaction} result
 */
function planText({ plan, tokens_before: before = 0, tokens_after: after = 0, writer, ...result }) {
  if (!plan) return h('p', { class: 'dim' }, `${compactionOutcome(result)}: ${compactionReason(result.reason)}.`);
  const what = `${plural(plan.messages, 'message')} would leave (entries ${plan.from_seq}–${plan.through_seq}), written up by ${writer === 'model' ? 'the model' : writer}: `;
  if (after >= before) {
    return h('p', {}, what, h('strong', {}, `at most ${plural(after, 'token')}`),
      `, and ${count(before)} are shown now, so it may not get smaller. What does not get smaller is left as it is.`);
  }
  return h('p', {}, what, h('strong', {}, `${count(before)} → ${count(after)} tokens`), ` or less; the aim is ${count(plan.landing)}${plan.lands ? '' : ', which this misses'}.`);
}
