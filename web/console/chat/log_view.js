// The conversation as it is seen: every entry of the log becomes something in the page.

import { h, iconButton } from '../ui/dom.js';
import { count, plural } from '../ui/format.js';
import { Answer } from './answer.js';
import { cardFor, nameSummary } from './cards.js';
import { fileCard, fileIn, imageCard, isCut, missingCard } from './file_block.js';
import { ToolCard } from './tool_card.js';

/**
 * @typedef {import('../../client/client.d.ts').Event} Entry
 * @typedef {import('../../client/client.d.ts').Message} Message
 * @typedef {import('../../client/client.d.ts').SentFile} SentFile
 * @typedef {{ seq: number }} Cut where a fork that has a message ends; it moves while its turn goes on
 */

const LONG_CHARS = 500; // what is longer may scroll, by keyboard too
const AHEAD = '400px'; // what is so near to being seen is read

/** Draws entries and what is being written into a container. */
export class LogView {
  #container;
  #host;
  /** @type {Map<string, ToolCard>} by call */
  #tools = new Map();
  /** @type {Map<string, Answer>} by message, those that are being written */
  #writing = new Map();
  /** @type {Map<string, Message>} messages that wait, which are shown when their turn begins */
  #waiting = new Map();
  /** @type {Map<string, SentFile[]>} what became of the files of messages that were sent from here */
  #files = new Map();
  /** @type {Map<string, HTMLElement>} where the tokens of files are told, by message */
  #costs = new Map();
  /** @type {HTMLElement[]} the cards of compactions in force, oldest first */
  #compactions = [];
  /** @type {{ cut: Cut, turn: string | undefined, answers: boolean } | undefined} the message that was shown last, if one can fork at it */
  #last;

  /** @type {Map<Element, () => void>} what to do when something is seen for the first time */
  #unseen = new Map();
  #sight = new IntersectionObserver((changes) => {
    for (const { isIntersecting, target } of changes) if (isIntersecting) this.#seen(target);
  }, { rootMargin: AHEAD });

  /**
   * @param {HTMLElement} container
   * @param {{ fork: (seq: number) => void, whole: (messageId: string) => Promise<Message> }} host
   *   fork is told where to fork; whole reads a message with what its entry left out
   */
  constructor(container, host) {
    this.#container = container;
    this.#host = host;
  }

  reset() {
    this.#sight.disconnect();
    this.#unseen.clear();
    for (const map of [this.#tools, this.#writing, this.#waiting, this.#files, this.#costs]) map.clear();
    this.#last = undefined;
    this.#compactions = [];
    this.#container.replaceChildren();
  }

  get empty() { return this.#container.childElementCount === 0; }

  /** @param {Entry} entry */
  entry(entry) {
    const { type, data } = entry;
    switch (type) {
      case 'message.queued': this.#waiting.set(data.message.id, data.message); return;
      case 'message.added': this.#message(data.message, entry); return;
      case 'turn.started': this.#begin(data.message_id, entry); return;
      case 'tool.called': this.#tool(data.tool_use_id, data.name).called(data.name, data.input); return;
      case 'tool.claimed': this.#tools.get(data.tool_use_id)?.status('running…'); return;
      case 'tool.resolved': this.#tools.get(data.tool_use_id)?.resolved(data); return;
      case 'turn.completed': this.#complete(entry); break;
      case 'message.dropped': this.#waiting.delete(data.message_id); break;
      case 'context.cleared': for (const id of data.ids) this.#tools.get(id)?.cleared(); break;
    }
    const card = cardFor(entry);
    if (type === 'compaction.completed' && card) this.#compacted(card);
    else if (type === 'compaction.undone') this.#undone();
    if (card?.matches('.foot')) this.#foot(card);
    else if (card) this.#container.append(card);
  }

  /** @param {import('../../client/client.d.ts').Item} item */
  item(item) {
    let answer = this.#writing.get(item.messageId);
    if (!answer) {
      answer = new Answer((id, name) => this.#tool(id, name));
      this.#writing.set(item.messageId, answer);
      this.#container.append(answer.element);
    }
    answer.grow(item);
  }

  /** @param {import('../../client/client.d.ts').ItemEnd} end */
  itemEnd({ item, reason }) {
    if (reason === 'stored') return; // its message has taken the place already
    const answer = this.#writing.get(item.messageId);
    this.#writing.delete(item.messageId);
    answer?.stop();
    if (reason !== 'ended') answer?.element.remove();
  }

  /**
   * What the files of a message cost.
   * @param {string} messageId
   * @param {SentFile[]} files
   */
  files(messageId, files) {
    this.#files.set(messageId, files);
    this.#costs.get(messageId)?.replaceChildren(...costsOf(files));
  }

  /** Shows a call. @param {string} toolUseId */
  reveal(toolUseId) {
    const element = this.#tools.get(toolUseId)?.element;
    if (!element) return;
    element.open = true;
    element.scrollIntoView({ block: 'center' });
    element.querySelector('summary')?.focus();
  }

  /** @param {string} toolUseId */
  toolName(toolUseId) { return this.#tools.get(toolUseId)?.element.querySelector('.name')?.textContent ?? 'tool'; }

  /**
   * A fork has a message of somebody's only together with the start of its turn.
   * @param {string} messageId
   * @param {Entry} entry
   */
  #begin(messageId, entry) {
    const waiting = this.#waiting.get(messageId);
    this.#waiting.delete(messageId);
    if (waiting) this.#user(waiting, entry);
    else if (this.#last && this.#last.turn === entry.turn_id) this.#last.cut.seq = entry.seq;
  }

  /** A fork at the last answer of a turn has its end, too: it was not interrupted there. @param {Entry} entry */
  #complete({ turn_id: turn, seq }) {
    if (this.#last?.answers && this.#last.turn === turn) this.#last.cut.seq = seq;
  }

  /**
   * @param {Message} message
   * @param {Entry} entry
   */
  #message(message, entry) {
    this.#last = undefined;
    if (message.role === 'user') return this.#user(message, entry);
    const answer = this.#writing.get(message.id) ?? new Answer((id, name) => this.#tool(id, name));
    this.#writing.delete(message.id);
    answer.store(message);
    if (!message.content.some((b) => b.type === 'tool_use')) answer.element.append(this.#actions(message, entry));
    if (!answer.element.isConnected) this.#container.append(answer.element);
    if (message.content.some(isCut)) this.#whenSeen(answer.element, message.id, (whole) => answer.fill(whole));
  }

  /**
   * @param {Message} message
   * @param {Entry} entry
   */
  #user(message, entry) {
    const blocks = message.content.filter((b) => b.type === 'text' || b.type === 'image');
    if (blocks.length === 0) return this.#results(message);
    const costs = h('ul', { class: 'costs dim', 'aria-label': 'Files' }, ...costsOf(this.#files.get(message.id) ?? []));
    this.#costs.set(message.id, costs);
    const bubble = h('div', { class: 'bubble' }, ...blocks.map(userBlock), costs);
    const article = h('article', { class: 'user', 'aria-label': 'Your message' }, bubble, this.#actions(message, entry));
    this.#container.append(article);
    if (blocks.some(isCut)) {
      this.#whenSeen(article, message.id, ({ content }) => {
        bubble.replaceChildren(...content.filter((b) => b.type === 'text' || b.type === 'image').map(userBlock), costs);
      });
    }
  }

  /** Results are shown at their calls, and read whole when those are unfolded. @param {Message} message */
  #results({ id, content }) {
    for (const block of content) {
      if (block.type !== 'tool_result' || !block.content.some(isCut)) continue;
      this.#tools.get(block.tool_use_id)?.cut(async () => {
        const whole = await this.#host.whole(id);
        return whole.content.flatMap((b) => (b.type === 'tool_result' && b.tool_use_id === block.tool_use_id ? b.content : []));
      });
    }
  }

  /**
   * Reads a message whole once it comes into sight.
   * @param {HTMLElement} element
   * @param {string} messageId
   * @param {(message: Message) => void} show
   */
  #whenSeen(element, messageId, show) {
    this.#unseen.set(element, () => {
      this.#host.whole(messageId).then(show, () => { this.#whenSeen(element, messageId, show); }); // again, when it is next seen
    });
    this.#sight.observe(element);
  }

  /** @param {Element} element */
  #seen(element) {
    this.#sight.unobserve(element);
    const read = this.#unseen.get(element);
    this.#unseen.delete(element);
    read?.();
  }

  /** @param {HTMLElement} card */
  #compacted(card) {
    nameSummary(this.#compactions.at(-1), 'replaced');
    this.#compactions.push(card);
  }

  #undone() {
    nameSummary(this.#compactions.pop(), 'undone');
    nameSummary(this.#compactions.at(-1), 'now');
  }

  /** What a turn used stands below its last answer. @param {HTMLElement} foot */
  #foot(foot) {
    const last = this.#container.lastElementChild;
    const place = last?.matches('.assistant') ? last.querySelector(':scope > .actions') : null;
    if (place) place.prepend(foot); else this.#container.append(foot);
  }

  /**
   * @param {string} id
   * @param {string} name
   */
  #tool(id, name) {
    let card = this.#tools.get(id);
    if (!card) {
      card = new ToolCard(name);
      this.#tools.set(id, card);
    }
    return card;
  }

  /**
   * @param {Message} message
   * @param {Entry} entry that shows it
   */
  #actions(message, { seq, turn_id: turn }) {
    const cut = { seq };
    this.#last = { cut, turn, answers: message.role === 'assistant' };
    const text = message.content.map((b) => (b.type === 'text' ? b.text ?? '' : '')).join('\n');
    return h('div', { class: 'actions' },
      iconButton('copy', 'Copy', () => { navigator.clipboard?.writeText(text).catch(() => {}); }),
      iconButton('fork', 'Fork from here', () => this.#host.fork(cut.seq)));
  }
}

/** @param {SentFile[]} files */
function costsOf(files) {
  return files.map((f) => {
    const shown = f.shown_tokens < f.tokens ? `${count(f.shown_tokens)} of ${plural(f.tokens, 'token')} shown` : plural(f.tokens, 'token');
    return h('li', {}, `${f.name} · ${shown}${f.changes ? ` · ${f.changes}` : ''}`);
  });
}

/** @param {import('../../client/client.d.ts').Block} block */
function userBlock(block) {
  if (isCut(block)) return missingCard(block);
  if (block.type === 'image') return imageCard(block);
  const text = block.type === 'text' ? block.text ?? '' : '';
  const file = fileIn(text);
  return file ? fileCard(file) : h('div', { class: 'pre', tabindex: text.length > LONG_CHARS && 0 }, text);
}
