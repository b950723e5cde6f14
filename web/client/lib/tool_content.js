// What tools return, as the protocol wants it.

/**
 * A text as it is, a list of text and image blocks as it is, nothing as an empty text, and
 * everything else as JSON.
 * @param {unknown} value
 * @returns {import('../client.d.ts').Content}
 */
export function toContent(value) {
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.length > 0 && value.every(isBlock)) return value;
  return JSON.stringify(value) ?? '';
}

/** @param {any} value */
function isBlock(value) {
  if (value?.type === 'text') return typeof value.text === 'string';
  return value?.type === 'image' && typeof value.mime_type === 'string' && typeof value.data === 'string';
}
