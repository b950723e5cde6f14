// Makes elements. Text becomes text: nothing here reads HTML.

const SVG = 'http://www.w3.org/2000/svg';

/**
 * @typedef {Node | string | number | false | null | undefined} Child
 * @typedef {Record<string, any>} Props attributes; onclick and the like are listeners,
 *   true is an empty attribute, false and undefined none
 */

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Props} [props]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, props = {}, ...children) {
  return /** @type {any} */ (fill(document.createElement(tag), props, children));
}

/**
 * The same for SVG.
 * @param {string} tag
 * @param {Props} [props]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function svg(tag, props = {}, ...children) {
  return /** @type {SVGElement} */ (fill(document.createElementNS(SVG, tag), props, children));
}

/**
 * @param {Element} element
 * @param {Props} props
 * @param {Child[]} children
 */
function fill(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((c) => c !== false && c != null).map((c) => (typeof c === 'number' ? String(c) : c)));
  return element;
}

/**
 * The element of the page with this id.
 * @template {HTMLElement} [E=HTMLElement]
 * @param {string} id
 * @returns {E}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return /** @type {E} */ (element);
}

/** Drawings for buttons: paths in a square of 24. */
const ICONS = {
  menu: 'M4 6h16M4 12h16M4 18h16',
  plus: 'M12 5v14M5 12h14',
  panel: 'M4 5h16v14H4zM14 5v14',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  close: 'M6 6l12 12M18 6L6 18',
  send: 'M12 19V5M6 11l6-6 6 6',
  stop: 'M7 7h10v10H7z',
  attach: 'M20 11.5l-8.2 8.2a5 5 0 0 1-7.1-7.1l8.5-8.5a3.3 3.3 0 0 1 4.7 4.7l-8.5 8.5a1.7 1.7 0 0 1-2.4-2.4l7.8-7.8',
  down: 'M12 5v14M6 13l6 6 6-6',
  fork: 'M7 4v6a4 4 0 0 0 4 4h6M13 10l4 4-4 4',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  compact: 'M4 12h16M12 3v6M9 6l3 3 3-3M12 21v-6M9 18l3-3 3 3',
};

/**
 * A drawing that says nothing by itself: what it stands on needs a name.
 * @param {keyof typeof ICONS} name
 */
export function icon(name) {
  return svg('svg', { class: 'icon', viewBox: '0 0 24 24', 'aria-hidden': 'true' }, svg('path', { d: ICONS[name] }));
}

/**
 * A button with a drawing and a name.
 * @param {keyof typeof ICONS} drawing
 * @param {string} name
 * @param {(event: Event) => void} onclick
 * @param {Props} [props]
 */
export function iconButton(drawing, name, onclick, props = {}) {
  return h('button', { type: 'button', class: 'quiet icon-only', 'aria-label': name, title: name, onclick, ...props }, icon(drawing));
}
