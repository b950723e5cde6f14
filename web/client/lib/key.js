// Idempotency keys.

/**
 * A new key: 128 random bits. (crypto.randomUUID is missing on pages without TLS.)
 * @returns {string}
 */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
