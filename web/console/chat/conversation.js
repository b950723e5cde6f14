// What is known of the session that is open, from its log and what the server pushes.

import { Emitter, emit } from '../../client/lib/emitter.js';

/**
 * @typedef {import('../../client/client.d.ts').Client} Client
 * @typedef {import('../../client/client.d.ts').Session} Session
 * @typedef {import('../../client/client.d.ts').Event} Entry
 * @typedef {import('../../client/client.d.ts').Activity} Activity
 * @typedef {import('../../client/client.d.ts').CompactionResult} Compaction
 * @typedef {{ messageId: string, text: string }} Waiting
 */

/**
 * Follows one session. Events: entry and item, itemend, reset, progress as of the
 * subscription; state when anything below has changed; end with an error.
 */
export class Conversation extends Emitter {
  /** @type {Session | undefined} */
  session;
  /** @type {string | undefined} the turn that runs */
  turn;
  /** @type {Waiting[]} messages that wait for their turn */
  queue = [];
  /** @type {Activity | undefined} */
  activity;
  activityAt = 0; // of the performance clock
  /** @type {Compaction[]} those in force, oldest first */
  compactions = [];
  /** Whether its log was read to the end once. */
  known = false;

  #client;

  /**
   * @param {Client} client
   * @param {string} id
   */
  constructor(client, id) {
    super();
    this.id = id;
    this.#client = client;
    this.subscription = client.subscribe(id, { afterSeq: 0 });
    this.#listen();
  }

  /** Whether the log has been told up to now. */
  get live() { return this.subscription.live; }

  get busy() { return this.turn !== undefined || this.activity?.activity === 'compacting'; }

  close() { this.subscription.close(); }

  /** Reads the session anew, after something that no entry tells. */
  async refresh() {
    const { session } = await this.#client.call('v1.session.get', { session_id: this.id });
    this.session = session;
    emit(this, 'state', undefined);
  }

  #listen() {
    const s = this.subscription;
    s.on('entry', (entry) => {
      this.#apply(entry);
      if (this.session && s.live) this.session = { ...this.session, updated_at: entry.at };
      emit(this, 'entry', entry);
      if (s.live) emit(this, 'state', undefined);
    });
    for (const name of /** @type {const} */ (['item', 'itemend'])) s.on(name, (value) => emit(this, name, value));
    s.on('reset', () => { this.#forget(); emit(this, 'reset', undefined); });
    s.on('ready', ({ session }) => {
      this.session = session;
      this.known = true;
      if (session.status !== 'compacting') this.activity = undefined;
      emit(this, 'state', undefined);
    });
    s.on('live', () => emit(this, 'state', undefined));
    s.on('progress', (progress) => emit(this, 'progress', progress));
    s.on('activity', (activity) => {
      this.activity = activity;
      this.activityAt = performance.now();
      emit(this, 'state', undefined);
    });
    s.on('end', ({ error }) => emit(this, 'end', error));
  }

  #forget() {
    this.turn = undefined;
    this.queue = [];
    this.compactions = [];
  }

  /** @param {Entry} entry */
  #apply({ type, turn_id, data }) {
    switch (type) {
      case 'message.queued':
        this.queue.push({ messageId: data.message.id, text: textOf(data.message.content) });
        break;
      case 'message.dropped': this.#leavesQueue(data.message_id); break;
      case 'turn.started':
        this.turn = turn_id;
        this.#leavesQueue(data.message_id);
        break;
      case 'turn.completed':
        this.turn = undefined;
        this.activity = undefined;
        break;
      case 'compaction.completed': this.compactions.push(data); break;
      case 'compaction.undone': this.compactions.pop(); break;
      case 'session.updated': this.#updated(data); break;
    }
    if (type.startsWith('compaction.')) this.activity = undefined;
  }

  /** @param {string} messageId */
  #leavesQueue(messageId) { this.queue = this.queue.filter((m) => m.messageId !== messageId); }

  /** @param {import('../../client/client.d.ts').SessionUpdatedData} data */
  #updated({ title, status, version }) {
    if (!this.session) return;
    this.session = { ...this.session, version, ...(title !== undefined && { title }), ...(status && { status }) };
  }
}

/**
 * The words of a message, without its files.
 * @param {import('../../client/client.d.ts').Block[]} content
 */
export function textOf(content) {
  return content.map((b) => (b.type === 'text' && !/^<file /.test(b.text ?? '') ? b.text ?? '' : '')).filter(Boolean).join('\n');
}
