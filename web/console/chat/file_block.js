// Files that came with a message: the server has made blocks of them.

import { h } from '../ui/dom.js';
import { bytes } from '../ui/format.js';

const FILE = /^<file name="([^"]*)" type="([^"]*)">\n?([\s\S]*?)\n?<\/file>\s*$/;

/**
 * The file in a text block, if it is one.
 * @param {string | undefined} text
 */
export function fileIn(text) {
  const match = FILE.exec(text ?? '');
  return match && { name: decode(match[1]), type: match[2], text: match[3] };
}

/** @param {string} name */
function decode(name) {
  return name.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}

/** @param {{ name: string, type: string, text: string }} file */
export function fileCard(file) {
  return h('details', { class: 'fold file' },
    h('summary', {}, h('span', { class: 'name' }, file.name), h('span', { class: 'dim' }, bytes(new Blob([file.text]).size))),
    h('pre', {}, file.text));
}

/** @param {import('../../client/client.d.ts').ImageBlock} block */
export function imageCard({ mime_type: type, data, bytes: size }) {
  if (!data) return h('p', { class: 'picture missing dim' }, `Picture (${type}, ${bytes(size ?? 0)})`);
  return h('img', { class: 'picture', src: `data:${type};base64,${data}`, alt: `Picture (${type})` });
}

/** Whether a block came without what is large in it. @param {import('../../client/client.d.ts').Block} block */
export function isCut(block) { return (block.type === 'text' || block.type === 'image') && block.omitted === true; }

/**
 * Stands for a block that is not here yet.
 * @param {import('../../client/client.d.ts').Block} block
 */
export function missingCard(block) {
  if (block.type === 'image') return imageCard(block);
  return h('p', { class: 'dim' }, `Text (${bytes(block.type === 'text' ? block.bytes ?? 0 : 0)})`);
}
