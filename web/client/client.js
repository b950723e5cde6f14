// A client of sessiond for browsers and Node. See README.md.

export { Client } from './lib/client.js';
export { ConnectionError, RpcError } from './lib/errors.js';
export { Subscription } from './lib/subscription.js';
export { newKey } from './lib/key.js';
