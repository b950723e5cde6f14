// Finds connections that are dead without anybody having said so.

/**
 * Browsers answer the server's pings and tell the page nothing of it. So a connection on
 * which nothing came for a while is asked something; one that stays silent is dead.
 */
export class Heartbeat {
  #idleMs;
  #answerMs;
  #ask;
  #dead;
  #heard = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #waiting = false;

  /**
   * @param {{ idleMs: number, answerMs: number, ask: () => void, dead: () => void }} options
   *   ask sends something that is answered; dead is called once, if nothing comes
   */
  constructor({ idleMs, answerMs, ask, dead }) {
    this.#idleMs = idleMs;
    this.#answerMs = answerMs;
    this.#ask = ask;
    this.#dead = dead;
    this.#watch();
  }

  /** Something came. */
  heard() {
    this.#heard = true;
    if (this.#waiting) this.#watch();
  }

  /** Asks now. */
  probe() {
    if (this.#waiting) return;
    clearTimeout(this.#timer);
    this.#waiting = true;
    this.#timer = setTimeout(this.#dead, this.#answerMs);
    this.#ask();
  }

  stop() { clearTimeout(this.#timer); }

  #watch() {
    clearTimeout(this.#timer);
    this.#waiting = this.#heard = false;
    this.#timer = setTimeout(() => { if (this.#heard) this.#watch(); else this.probe(); }, this.#idleMs);
  }
}
