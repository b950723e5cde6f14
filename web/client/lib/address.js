// Where the server is.

/**
 * The address of the server's WebSocket. An http address stands for the same server; one
 * without a path gets the usual one; a relative one is the page's server's.
 * @param {string} [url] default: the server that the page is from
 * @returns {string}
 */
export function socketAddress(url = '/v1/rpc') {
  const address = new URL(url, typeof location === 'undefined' ? undefined : location.href);
  if (address.protocol === 'http:') address.protocol = 'ws:';
  if (address.protocol === 'https:') address.protocol = 'wss:';
  if (address.protocol !== 'ws:' && address.protocol !== 'wss:') throw new TypeError(`${url} is no address of a WebSocket`);
  if (address.pathname === '/') address.pathname = '/v1/rpc';
  address.hash = '';
  return address.href;
}
