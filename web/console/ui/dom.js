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
  close: 'M6 6l12 12M18 6L6 18',
  fork: 'M7 4v6a4 4 0 0 0 4 4h6M13 10l4 4-4 4',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
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
