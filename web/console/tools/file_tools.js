// Tools that look around in files: pure functions of a tree of texts.

const MAX_MATCHES = 200;

/**
 * A file with numbered lines.
 * @param {Record<string, string>} tree
 * @param {{ path: string, offset?: number, limit?: number }} input
 */
export function read(tree, { path, offset = 1, limit = 2000 }) {
  const name = normal(path);
  if (!Object.hasOwn(tree, name)) throw new Error(`${path}: no such file. There are: ${Object.keys(tree).join(', ')}`);
  const lines = tree[name].replace(/\n$/, '').split('\n');
  const from = Math.max(1, Math.trunc(offset));
  return lines.slice(from - 1, from - 1 + limit).map((text, i) => `${from + i}\t${text}`).join('\n');
}

/**
 * The lines that contain a text, in any case. It is no regular expression: one that was
 * badly chosen could keep the page busy for ever.
 * @param {Record<string, string>} tree
 * @param {{ pattern: string, path?: string }} input
 */
export function grep(tree, { pattern, path = '' }) {
  const wanted = pattern.toLowerCase();
  /** @type {string[]} */
  const found = [];
  for (const [name, text] of within(tree, path)) {
    text.split('\n').forEach((line, i) => { if (line.toLowerCase().includes(wanted)) found.push(`${name}:${i + 1}: ${line}`); });
  }
  if (found.length === 0) return 'no match';
  return found.slice(0, MAX_MATCHES).join('\n');
}

/**
 * The files whose path contains a text, or matches it where it has asterisks.
 * @param {Record<string, string>} tree
 * @param {{ name?: string, path?: string }} input
 */
export function find(tree, { name = '', path = '' }) {
  const parts = name.toLowerCase().split('*');
  const found = within(tree, path).map(([file]) => file).filter((file) => inOrder(file.toLowerCase(), parts));
  return found.length ? found.join('\n') : 'no such file';
}

/** @param {string} path */
function normal(path) { return path.replace(/^(\.?\/)+/, '').replace(/\/+$/, ''); }

/**
 * @param {Record<string, string>} tree
 * @param {string} path
 */
function within(tree, path) {
  const folder = normal(path);
  return Object.entries(tree).filter(([name]) => folder === '' || folder === '.' || name === folder || name.startsWith(`${folder}/`));
}

/**
 * @param {string} text
 * @param {string[]} parts
 */
function inOrder(text, parts) {
  let at = 0;
  for (const part of parts) {
    const place = text.indexOf(part, at);
    if (place < 0) return false;
    at = place + part.length;
  }
  return true;
}
