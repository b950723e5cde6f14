// When the panel is open, and where.

const GAP = 8; // pixels between the ring, the panel and the edges of the window
const MIN_HEIGHT = 120; // what is shown of the panel in the smallest window
const LINGER_MS = 200; // how long the pointer may be on its way from the ring to the panel

/**
 * Opens the panel while the pointer or the keyboard's focus is there, and on a touch or a
 * click until the next one, or Escape.
 */
export class Panel {
  #host;
  #anchor;
  #button;
  #panel;
  #changed;
  #pinned = false;
  #open = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #closing;
  /** @type {AbortController | undefined} ends the listening outside */
  #outside;

  /**
   * @param {{ host: HTMLElement, anchor: HTMLElement, button: HTMLElement, panel: HTMLElement }} elements
   * @param {(open: boolean) => void} changed
   */
  constructor({ host, anchor, button, panel }, changed) {
    this.#host = host;
    this.#anchor = anchor;
    this.#button = button;
    this.#panel = panel;
    this.#changed = changed;
    host.addEventListener('pointerenter', ({ pointerType }) => { if (pointerType === 'mouse') this.#show(); });
    host.addEventListener('pointerleave', ({ pointerType }) => { if (pointerType === 'mouse') this.#leave(); });
    host.addEventListener('focusin', () => { if (button.matches(':focus-visible')) this.#show(); });
    host.addEventListener('focusout', () => this.#leave());
    button.addEventListener('click', (event) => this.#clicked(event));
    new ResizeObserver(() => { if (this.#open) this.#place(); }).observe(panel);
  }

  get isOpen() { return this.#open; }

  close() {
    clearTimeout(this.#closing);
    this.#pinned = false;
    if (!this.#open) return;
    this.#open = false;
    this.#outside?.abort();
    if (this.#panel.matches(':popover-open')) this.#panel.hidePopover();
    this.#button.setAttribute('aria-expanded', 'false');
    this.#changed(false);
  }

  #show() {
    clearTimeout(this.#closing);
    if (this.#open || !this.#host.isConnected) return;
    this.#open = true;
    this.#panel.showPopover();
    this.#button.setAttribute('aria-expanded', 'true');
    this.#listenOutside();
    this.#changed(true);
    this.#place();
  }

  /** @param {MouseEvent} event */
  #clicked({ detail }) {
    const byKeyboard = detail === 0;
    if (this.#open && (this.#pinned || byKeyboard)) { this.close(); return; }
    this.#pinned = !byKeyboard; // the focus is there, and holds it open
    this.#show();
  }

  /** Pointer or focus went elsewhere, perhaps into the panel. */
  #leave() {
    clearTimeout(this.#closing);
    this.#closing = setTimeout(() => {
      const wanted = this.#pinned || this.#host.matches(':hover') || this.#host.shadowRoot?.activeElement?.matches(':focus-visible');
      if (!wanted) this.close();
    }, LINGER_MS);
  }

  #listenOutside() {
    this.#outside = new AbortController();
    const { signal } = this.#outside;
    document.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      event.stopPropagation();
      this.close();
    }, { signal, capture: true });
    document.addEventListener('pointerdown', (event) => { if (!event.composedPath().includes(this.#host)) this.close(); }, { signal, capture: true });
    for (const type of ['scroll', 'resize']) window.addEventListener(type, () => this.#place(), { signal, capture: true, passive: true });
  }

  /**
   * Above the ring, or below if there is more room, and never over the window's edges. What
   * there is no room for scrolls.
   */
  #place() {
    const { style } = this.#panel;
    style.maxBlockSize = '';
    const ring = this.#anchor.getBoundingClientRect();
    const [above, below] = [ring.top - 2 * GAP, innerHeight - ring.bottom - 2 * GAP];
    const isAbove = this.#panel.offsetHeight <= above || above >= below;
    style.maxBlockSize = `${Math.max(isAbove ? above : below, MIN_HEIGHT)}px`;
    const { offsetWidth: width, offsetHeight: height } = this.#panel;
    const left = Math.min(ring.left + ring.width / 2 - width / 2, document.documentElement.clientWidth - GAP - width);
    style.left = `${Math.max(GAP, left)}px`;
    style.top = `${Math.max(GAP, isAbove ? ring.top - GAP - height : ring.bottom + GAP)}px`;
    // What scrolls must be reachable by keyboard.
    if (this.#panel.scrollHeight > this.#panel.clientHeight) this.#panel.tabIndex = 0;
    else this.#panel.removeAttribute('tabindex');
  }
}
