// A session that does not exist yet: what is shown before its first message, and the
// settings it is made with.

import { byId, h } from '../ui/dom.js';

const MAX_TITLE_CHARS = 60;
const DEMO = 'demo';

/** What can be tried, as buttons: their name and the message. @type {Record<'demo' | 'model', Array<[string, string]>>} */
const IDEAS = {
  demo: [
    ['What can the demo do?', 'help'],
    ['Read a file', 'call read {"path": "README.md"} then grep {"pattern": "tide"}'],
    ['Keep a todo list', 'plan a walk'],
    ['Fill the context', 'think about it and write 2000 words'],
  ],
  model: [
    ['Look around', 'Which files does the sample project have, and what does it do?'],
    ['Find something', 'Where in the sample project is the tidal day defined? Quote the line.'],
    ['Calculate', 'How long is half a tidal day of 24.8412 hours, in minutes? Use the calculator.'],
    ['Make a plan', 'Plan a day at the North Sea as a todo list, then tell me the first step.'],
  ],
};

/**
 * @typedef {import('../../client/client.d.ts').ServerInfoResult} Info
 */

/**
 * Fills what is shown before the first message.
 * @param {Info} info
 * @param {(text: string) => void} choose is given the message of an idea
 */
export function showFresh({ models }, choose) {
  const standard = models.find((m) => m.default)?.name ?? '';
  const isDemo = standard === DEMO;
  byId('fresh-hint').textContent = isDemo
    ? 'The demo model answers by rule: no key, no network, no cost. Try one of these, or write a message.'
    : `${standard} answers. It can use sample tools that run in this page. Try one of these, or write a message.`;
  byId('ideas').replaceChildren(...IDEAS[isDemo ? 'demo' : 'model'].map(([name, text]) => h('button', { type: 'button', class: 'idea', onclick: () => choose(text) },
    h('strong', {}, name), h('span', { class: 'dim' }, text))));
  byId('fresh-model').replaceChildren(...models.map((m) => h('option', { selected: m.default }, m.name)));
}

/**
 * The params of the session to be made.
 * @param {string} text its first message
 * @param {import('../../client/client.d.ts').ToolInput[]} tools
 * @returns {import('../../client/client.d.ts').SessionCreateParams}
 */
export function freshParams(text, tools) {
  const value = (/** @type {string} */ id) => /** @type {HTMLInputElement} */ (byId(id)).value.trim();
  const limit = Number(value('fresh-limit'));
  const model = value('fresh-model');
  return {
    title: titleFrom(text),
    ...(model && { model }),
    ...(value('fresh-prompt') && { system_prompt: value('fresh-prompt') }),
    ...(/** @type {HTMLInputElement} */ (byId('fresh-tools')).checked && { tools }),
    ...(limit && { settings: { context_tokens_limit: limit } }),
    metadata: { from: 'console' },
  };
}

/** The first line of a message. @param {string} text */
function titleFrom(text) {
  const line = text.trim().split('\n', 1)[0].replaceAll(/\s+/g, ' ');
  const characters = [...line];
  return characters.length > MAX_TITLE_CHARS ? `${characters.slice(0, MAX_TITLE_CHARS - 1).join('').trimEnd()}…` : line;
}
