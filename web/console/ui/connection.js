// Tells whether the server can be reached.

import { byId } from './dom.js';
import { announce } from './notice.js';

/** @param {import('../../client/client.d.ts').Client} client */
export function showConnection(client) {
  const output = byId('connection');
  const banner = byId('offline');
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let countdown;
  const show = (/** @type {string} */ state, /** @type {string} */ text) => {
    output.dataset.state = state;
    output.textContent = text;
    const away = state === 'waiting' || state === 'closed';
    if (!away && !banner.hidden && state === 'open') announce('Connected again.');
    if (away || state === 'open') banner.hidden = !away;
    const more = state === 'closed' ? `${text} Reload the page to try again.` : 'No connection. What you send is kept until there is one again.';
    if (away && banner.textContent !== more) banner.textContent = more; // it is read out
  };
  client.on('state', ({ state, retryInMs = 0, error }) => {
    clearInterval(countdown);
    if (state === 'open') show(state, 'Connected');
    if (state === 'connecting') show(state, 'Connecting…');
    if (state === 'closed') show(state, `Disconnected: ${error?.message ?? 'closed'}.`);
    if (state !== 'waiting') return;
    const at = performance.now() + retryInMs;
    const tick = () => show(state, navigator.onLine ? `No connection. Trying again in ${Math.max(1, Math.ceil((at - performance.now()) / 1000))} s.` : 'Offline. Waiting for the network.');
    tick();
    countdown = setInterval(tick, 1000);
  });
}
