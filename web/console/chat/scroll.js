// Keeps the newest in sight, unless somebody reads further up.

const NEAR_PX = 80;
const BY_HAND_MS = 1000; // a scroll this soon after a hand moved is the hand's

/**
 * Follows the end of what grows in a scrolling element. The button leads back to it. What
 * the browser scrolls by itself, as sizes become known, ends nothing.
 * @param {HTMLElement} scroller
 * @param {HTMLElement} content
 * @param {HTMLButtonElement} button
 */
export function followEnd(scroller, content, button) {
  let following = true;
  let movedAt = -Infinity;
  const toEnd = () => { if (following) scroller.scrollTop = scroller.scrollHeight; };
  const set = (/** @type {boolean} */ follow) => {
    following = follow;
    button.hidden = follow;
  };
  const isNear = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR_PX;
  for (const name of ['wheel', 'touchmove', 'pointerdown', 'keydown']) {
    scroller.addEventListener(name, () => { movedAt = performance.now(); }, { passive: true });
  }
  scroller.addEventListener('scroll', () => {
    if (isNear()) set(true);
    else if (performance.now() - movedAt < BY_HAND_MS) set(false);
  }, { passive: true });
  content.addEventListener('click', (event) => { // who unfolds something wants to see its beginning
    if (/** @type {Element} */ (event.target).closest('summary')) following = false;
  });
  const observer = new ResizeObserver(toEnd);
  observer.observe(content);
  observer.observe(scroller);
  const follow = () => { set(true); toEnd(); };
  button.addEventListener('click', follow);
  return { follow };
}
