// Tickets to connect with. Where the server asks for a token, so does the page; it is kept
// as long as the browser's tab.

import { ConnectionError } from '../../client/client.js';
import { askText } from './dialog.js';

const KEPT_AS = 'sessiond.token';
const REFUSED = 401;

/** @type {Promise<string> | undefined} what all who want a ticket meanwhile wait for */
let coming;
/** @type {string | undefined} one that nobody has used yet */
let first;

/**
 * Has somebody sign in, if the server wants that, before anything else is asked of it: a
 * client gives a try to connect up after a while, and people take longer.
 */
export async function signIn() {
  try {
    first = await oneTicket();
  } catch {
    // It can't be reached now. The client tries again and says so.
  }
}

/**
 * Gets a ticket for a connection. Asks for a token when the server wants one and has none
 * that is valid; once, however many tries to connect come and go while it is typed.
 * @returns {Promise<string>}
 */
export async function ticket() {
  const made = first ?? await oneTicket();
  first = undefined;
  return made;
}

function oneTicket() {
  coming ??= askServer().finally(() => { coming = undefined; });
  return coming;
}

/** @returns {Promise<string>} */
async function askServer() {
  for (let asked = 0; ; asked++) {
    const token = sessionStorage.getItem(KEPT_AS);
    const response = await fetch('/v1/tickets', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...(token && { Authorization: `Bearer ${token}` }) },
      body: JSON.stringify({ origin: location.origin, scope: 'full' }),
    });
    if (response.ok) return (await response.json()).ticket;
    if (response.status !== REFUSED) throw new ConnectionError(`the server gives no ticket (${response.status})`);
    await askForToken(asked > 0 || token !== null);
  }
}

/** Whether there is something to sign out of. */
export function signedIn() { return sessionStorage.getItem(KEPT_AS) !== null; }

export function signOut() { sessionStorage.removeItem(KEPT_AS); }

/** @param {boolean} again */
async function askForToken(again) {
  const token = await askText({
    title: 'Sign in', label: 'Token', type: 'password', confirm: 'Sign in', mayCancel: false,
    hint: again ? 'The server did not accept that token.' : 'This server asks for a token. It is kept until this tab is closed.',
  });
  if (token) sessionStorage.setItem(KEPT_AS, token);
}
