// When a page comes back: the network is there again, or the page is seen again.

/**
 * Calls woken then, and says whether it is the network; not in Node, which has no such
 * events. Returns a function that ends it.
 * @param {(isOnline: boolean) => void} woken
 * @returns {() => void}
 */
export function onWakeup(woken) {
  if (typeof window === 'undefined' || typeof document === 'undefined') return () => {};
  const online = () => woken(true);
  const seen = () => { if (document.visibilityState === 'visible') woken(false); };
  window.addEventListener('online', online);
  document.addEventListener('visibilitychange', seen);
  return () => {
    window.removeEventListener('online', online);
    document.removeEventListener('visibilitychange', seen);
  };
}
