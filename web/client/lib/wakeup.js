// When a page comes back: the network is there again, or the page is seen again.

/**
 * Calls woken then; not in Node, which has no such events. Returns a function that ends it.
 * @param {() => void} woken
 * @returns {() => void}
 */
export function onWakeup(woken) {
  if (typeof window === 'undefined' || typeof document === 'undefined') return () => {};
  const seen = () => { if (document.visibilityState === 'visible') woken(); };
  window.addEventListener('online', woken);
  document.addEventListener('visibilitychange', seen);
  return () => {
    window.removeEventListener('online', woken);
    document.removeEventListener('visibilitychange', seen);
  };
}
