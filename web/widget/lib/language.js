// Which language is spoken where an element is.

/**
 * The elements whose lang counts for an element, in trees from the inside out: its own, and
 * those of the hosts around it.
 * @param {Element} element
 * @returns {Generator<Element>}
 */
function* hosts(element) {
  for (let at = element; ;) {
    yield at;
    const root = at.getRootNode();
    if (!(root instanceof ShadowRoot)) return;
    at = root.host;
  }
}

/**
 * The language of the place where an element is, else the page's, else the browser's.
 * @param {Element} element
 */
export function languageOf(element) {
  for (const at of hosts(element)) {
    const language = at.closest('[lang]')?.getAttribute('lang');
    if (language) return language;
  }
  return document.documentElement.lang || navigator.language;
}

/**
 * Calls changed when a lang around an element changes. Returns a function that ends it; an
 * element that moves is to be watched anew.
 * @param {Element} element
 * @param {() => void} changed
 * @returns {() => void}
 */
export function watchLanguage(element, changed) {
  const observer = new MutationObserver(changed);
  for (const at of hosts(element)) observer.observe(at.getRootNode(), { subtree: true, attributes: true, attributeFilter: ['lang'] });
  return () => observer.disconnect();
}
