// A small project for the sample tools to look around in.

/** @type {Record<string, string>} */
export const SAMPLE_TREE = {
  'README.md': `# Tide table

Tells when the tide is high at a harbour.

    node src/main.js Husum 2026-05-01

Harbours are in data/harbours.csv. Times are UTC.
`,
  'package.json': `{
  "name": "tide-table",
  "version": "1.4.0",
  "type": "module",
  "scripts": { "test": "node --test test/" }
}
`,
  'src/main.js': `import { readHarbours } from './harbours.js';
import { highTides } from './tides.js';

const [name, day] = process.argv.slice(2);
const harbour = readHarbours().find((h) => h.name === name);
if (!harbour) throw new Error(\`no harbour named \${name}\`);
for (const time of highTides(harbour, new Date(day))) console.log(time.toISOString());
`,
  'src/harbours.js': `import { readFileSync } from 'node:fs';

/** Reads all harbours: name, hours after the moon's passage, mean range in metres. */
export function readHarbours() {
  const [, ...rows] = readFileSync('data/harbours.csv', 'utf8').trim().split('\\n');
  return rows.map((row) => {
    const [name, lag, range] = row.split(',');
    return { name, lag: Number(lag), range: Number(range) };
  });
}
`,
  'src/tides.js': `const TIDAL_DAY_HOURS = 24.8412;

/** The times of high water on a day. */
export function highTides({ lag }, day) {
  const begin = day.getTime() / 3_600_000;
  const first = Math.ceil((begin - lag) / (TIDAL_DAY_HOURS / 2));
  const times = [];
  for (let n = first; ; n++) {
    const hours = n * (TIDAL_DAY_HOURS / 2) + lag;
    if (hours >= begin + 24) return times;
    times.push(new Date(hours * 3_600_000));
  }
}
`,
  'data/harbours.csv': `name,lag,range
Husum,1.9,3.5
Büsum,1.2,3.6
Emden,0.4,3.2
Cuxhaven,0.9,3.0
`,
  'test/tides.test.js': `import assert from 'node:assert/strict';
import test from 'node:test';
import { highTides } from '../src/tides.js';

test('there is high water once or twice a day', () => {
  const times = highTides({ lag: 1.9 }, new Date('2026-05-01'));
  assert.ok(times.length === 1 || times.length === 2);
});
`,
  'docs/decisions.md': `# Decisions

1. Times are UTC: whoever prints a table knows the harbour's time zone, we do not.
2. The range is not corrected for spring and neap tides. Nobody has asked for it yet.
`,
};
