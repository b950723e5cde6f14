// The sample tools: they run in this page, as tools of a frontend do.

import { calculate } from './calculator.js';
import { find, grep, read } from './file_tools.js';
import { SAMPLE_TREE } from './sample_tree.js';

/** @param {import('../../client/client.d.ts').Client} client */
export function registerTools(client) {
  const text = (/** @type {string} */ description) => ({ type: 'string', description });
  client.tool('read', {
    type: 'object', description: 'Reads a file of the sample project, with numbered lines.', required: ['path'],
    properties: { path: text('The file, such as src/main.js'), offset: { type: 'integer', description: 'The first line', minimum: 1 }, limit: { type: 'integer', minimum: 1 } },
  }, (input) => read(SAMPLE_TREE, input), { reads: 'path', cleanable: true });
  client.tool('grep', {
    type: 'object', description: 'Finds lines that contain a text, in the files of the sample project.', required: ['pattern'],
    properties: { pattern: text('The text; upper and lower case are the same'), path: text('A folder or file; default: all') },
  }, (input) => grep(SAMPLE_TREE, input), { cleanable: true });
  client.tool('find', {
    type: 'object', description: 'Lists the files of the sample project, all or those with a name.',
    properties: { name: text('A part of the path, or a pattern with asterisks'), path: text('A folder; default: all') },
  }, (input) => find(SAMPLE_TREE, input), { cleanable: true });
  client.tool('script', {
    type: 'object', description: 'A calculator: numbers, + - * / % ^, parentheses, pi, e and functions such as sqrt, sin, ln, max.', required: ['expression'],
    properties: { expression: text('What to calculate, such as 2 * (3 + 4)') },
  }, ({ expression }) => String(calculate(expression)));
}
