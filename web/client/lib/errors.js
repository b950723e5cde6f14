// What calls are rejected with.

/** @typedef {import('../protocol.d.ts').ErrorKind} ErrorKind */

/** An error that the server answered a call with. */
export class RpcError extends Error {
  /**
   * @param {string} method
   * @param {{ code: number, message: string, data?: any }} error
   */
  constructor(method, { code, message, data }) {
    super(`${method}: ${message}`);
    this.name = 'RpcError';
    this.method = method;
    this.code = code;
    /** What else the server says; docs/protocol.md tells for each kind. */
    this.data = data;
  }

  /**
   * What went wrong, to switch on; undefined for JSON-RPC's own errors.
   * @returns {ErrorKind | undefined}
   */
  get kind() { return this.data?.kind; }

  /** Whether the very same call may succeed later. */
  get retryable() { return this.data?.retryable === true; }

  /** How long to wait before, in milliseconds; 0 if the server does not say. */
  get retryAfterMs() { return this.data?.retry_after_ms ?? 0; }
}

/**
 * The error of a frame that is larger than the server reads. It is told as the server
 * tells content that is too large, so that there is one thing to handle.
 * @param {string} method
 * @param {number} bytes
 * @param {number} [maxBytes] undefined if only the server knows
 */
export function frameTooLarge(method, bytes, maxBytes) {
  const data = { kind: 'content_too_large', retryable: false, bytes, ...(maxBytes && { max_bytes: maxBytes }) };
  return new RpcError(method, { code: -31010, message: 'the message is larger than the server reads', data });
}

/** There is no connection, and none will be made. */
export class ConnectionError extends Error {
  /**
   * @param {string} message
   * @param {{ code?: number, cause?: unknown }} [more] the close code, and what led to it
   */
  constructor(message, { code, cause } = {}) {
    super(message, { cause });
    this.name = 'ConnectionError';
    this.code = code;
  }
}
