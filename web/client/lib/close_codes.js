// The codes that a connection is closed with (docs/protocol.md, "Close codes").

/** The connection was cut off: what WebSocket says when there was no close frame. */
export const CUT_OFF = 1006;
/** A frame was larger than the server reads. */
export const TOO_LARGE = 1009;

// Ours: whatever was sent broke the protocol, and would again.
const OUR_FAULT = new Set([1002, 1003, 1007, 1008, 1010]);

/**
 * Whether to connect again. 4000–4499 mean yes, 4500–4999 no; of WebSocket's own all but
 * those that say that this client is wrong.
 * @param {number} code
 */
export function mayReconnect(code) {
  return code < 4500 && !OUR_FAULT.has(code);
}
