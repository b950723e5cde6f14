// From an address and credentials to a connection.

import { ConnectionError } from './errors.js';
import { Link } from './link.js';

/**
 * @typedef {import('../client.d.ts').ClientOptions} ClientOptions
 * @typedef {{
 *   dialing: () => void,
 *   opened: (link: Link) => void,
 *   message: (message: import('./link.js').Message) => void,
 *   ended: (code: number, reason: string) => void,
 * }} Watcher
 */

const PROTOCOL = 'sessiond.v1';

/**
 * Opens a connection: asks for a ticket, if there is somebody to ask, and waits until the
 * server has accepted. Rejects if it does not, or takes too long, or signal is aborted. A
 * ticket may take as long as it takes: perhaps a person is asked. The watcher is told when
 * the server is asked, and of a connection that was opened, and of that only.
 * @param {string} address
 * @param {ClientOptions} options
 * @param {AbortSignal} signal
 * @param {Watcher} watcher
 * @returns {Promise<void>}
 */
export async function openLink(address, { ticket, socket = browserSocket, connectTimeoutMs = 15_000 }, signal, watcher) {
  const value = ticket && await Promise.race([ticket(), aborted(signal)]);
  signal.throwIfAborted();
  const protocols = value ? [PROTOCOL, `ticket.${value}`] : [PROTOCOL];
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new ConnectionError('the server does not answer')), connectTimeoutMs);
  try {
    watcher.dialing();
    await accepted(socket(address, protocols), AbortSignal.any([signal, late.signal]), watcher);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * @param {import('../client.d.ts').WebSocketLike} made
 * @param {AbortSignal} over
 * @param {Watcher} watcher
 * @returns {Promise<void>}
 */
function accepted(made, over, { opened, message, ended }) {
  return new Promise((resolve, reject) => {
    let open = false;
    const link = new Link(made, {
      opened: () => {
        open = true;
        resolve();
        opened(link); // now: what the server sends next may come in the same moment
      },
      message,
      ended: (code, reason) => {
        if (open) ended(code, reason);
        else reject(new ConnectionError(reason || 'the server can\'t be reached, or refuses', { code }));
      },
    });
    over.addEventListener('abort', () => {
      if (open) return;
      link.close();
      reject(over.reason);
    }, { once: true });
  });
}

/**
 * @param {AbortSignal} signal
 * @returns {Promise<never>}
 */
function aborted(signal) {
  return new Promise((_, reject) => { signal.addEventListener('abort', () => reject(signal.reason), { once: true }); });
}

/**
 * @param {string} url
 * @param {string[]} protocols
 * @returns {any} a browser's WebSocket, which has what is used of it
 */
function browserSocket(url, protocols) {
  if (typeof WebSocket === 'undefined') {
    throw Object.assign(new TypeError('there is no WebSocket here: give the option socket'), { retry: false });
  }
  return new WebSocket(url, protocols);
}
