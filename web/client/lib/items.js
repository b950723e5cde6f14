// Answers while they are written: pieces of text, put together.

/**
 * @typedef {import('../protocol.d.ts').Delta} Delta
 * @typedef {import('../protocol.d.ts').Entry} Entry
 * @typedef {import('../protocol.d.ts').OpenItem} OpenItem
 * @typedef {import('../client.d.ts').Item} Item
 * @typedef {import('../client.d.ts').ItemEnd} ItemEnd
 * @typedef {{ -readonly [M in keyof Item]: Item[M] } & { next: number }} Growing
 */

/**
 * The blocks of the message that is being written. Pieces may get lost on the way; then
 * an item stays as it is, whole is false, and the stored message has all of it.
 */
export class Items {
  /** @type {Map<string, Growing>} */
  #items = new Map();
  #grown;
  #ended;

  /**
   * @param {(item: Item, added: string | undefined) => void} grown an item is there, or has
   *   more text; undefined if its text is another one now
   * @param {(item: Item, reason: ItemEnd['reason']) => void} ended an item is over
   */
  constructor(grown, ended) {
    this.#grown = grown;
    this.#ended = ended;
  }

  /** Those that are open, in the order of their blocks. */
  list() { return [...this.#items.values()].sort((a, b) => a.block - b.block); }

  /**
   * Takes over what the server says is open.
   * @param {OpenItem[]} open
   */
  replace(open) {
    const ids = new Set(open.map((item) => item.item_id));
    for (const item of this.list()) if (!ids.has(item.itemId)) this.#end(item, 'replaced');
    for (const { item_id, turn_id, kind, next, text } of open) {
      const item = this.#items.get(item_id) ?? this.#begin(item_id, turn_id, kind);
      const added = text.startsWith(item.text) ? text.slice(item.text.length) : undefined;
      Object.assign(item, { next, text, whole: true });
      this.#grown(item, added);
    }
  }

  /** @param {Delta} delta */
  delta({ item_id, turn_id, kind, from, to, text }) {
    let item = this.#items.get(item_id);
    if (!item) {
      const messageId = messageOf(item_id);
      for (const older of this.list()) if (older.messageId !== messageId) this.#end(older, 'replaced');
      item = this.#begin(item_id, turn_id, kind);
    }
    if (from === item.next && item.whole) {
      item.next = to;
      item.text += text;
      this.#grown(item, text);
    } else if (to > item.next && item.whole) {
      item.whole = false;
      this.#grown(item, '');
    }
  }

  /**
   * An entry may end what is open.
   * @param {Entry} entry
   */
  entry({ type, data }) {
    if (type === 'turn.completed') this.end('turn_completed');
    if (type !== 'message.added') return;
    for (const item of this.list()) this.#end(item, item.messageId === data.message.id ? 'stored' : 'replaced');
  }

  /** @param {ItemEnd['reason']} reason */
  end(reason) { for (const item of this.list()) this.#end(item, reason); }

  /**
   * @param {string} itemId
   * @param {string} turnId
   * @param {Item['kind']} kind
   * @returns {Growing}
   */
  #begin(itemId, turnId, kind) {
    const block = Number(itemId.slice(itemId.indexOf('/') + 1));
    const item = { itemId, messageId: messageOf(itemId), block, turnId, kind, text: '', whole: true, next: 0 };
    this.#items.set(itemId, item);
    return item;
  }

  /**
   * @param {Growing} item
   * @param {ItemEnd['reason']} reason
   */
  #end(item, reason) {
    this.#items.delete(item.itemId);
    this.#ended(item, reason);
  }
}

/** @param {string} itemId */
function messageOf(itemId) { return itemId.slice(0, itemId.indexOf('/')); }
