// Events of the client and its subscriptions.

/** Lets others listen. Only this library emits: emitting is no method of the object. */
export class Emitter {
  /** @type {Map<string, Set<(value: any) => void>>} */
  #listeners = new Map();

  /**
   * Calls listener with every event of this name. Returns a function that ends it.
   * @param {string} name
   * @param {(value: any) => void} listener
   * @returns {() => void}
   */
  on(name, listener) {
    let listeners = this.#listeners.get(name);
    if (!listeners) this.#listeners.set(name, listeners = new Set());
    listeners.add(listener);
    return () => this.off(name, listener);
  }

  /**
   * Calls listener with the next event of this name only.
   * @param {string} name
   * @param {(value: any) => void} listener
   * @returns {() => void}
   */
  once(name, listener) {
    const off = this.on(name, (value) => { off(); listener(value); });
    return off;
  }

  /**
   * @param {string} name
   * @param {(value: any) => void} listener
   */
  off(name, listener) { this.#listeners.get(name)?.delete(listener); }

  /**
   * Tells all listeners, in the order they came. One that throws does not keep the
   * others, or the library, from going on; its error is thrown where nobody catches it,
   * as the DOM does.
   * @param {Emitter} emitter
   * @param {string} name
   * @param {unknown} value
   */
  static emit(emitter, name, value) {
    for (const listener of [...emitter.#listeners.get(name) ?? []]) {
      try {
        listener(value);
      } catch (error) {
        queueMicrotask(() => { throw error; });
      }
    }
  }
}

export const { emit } = Emitter;
