// Keeps the newest in sight, unless somebody reads further up.

const NEAR_PX = 80;

/**
 * Follows the end of what grows in a scrolling element. The button leads back to it.
 * @param {HTMLElement} scroller
 * @param {HTMLElement} content
 * @param {HTMLButtonElement} button
 */
export function followEnd(scroller, content, button) {
  let following = true;
  const toEnd = () => { scroller.scrollTop = scroller.scrollHeight; };
  scroller.addEventListener('scroll', () => {
    following = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR_PX;
    button.hidden = following;
  }, { passive: true });
  new ResizeObserver(() => { if (following) toEnd(); }).observe(content);
  new ResizeObserver(() => { if (following) toEnd(); }).observe(scroller);
  const follow = () => { following = true; toEnd(); };
  button.addEventListener('click', follow);
  return { follow };
}
