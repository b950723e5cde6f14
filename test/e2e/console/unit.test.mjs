// What needs no browser: the sample tools, and what is read from the log.
import assert from 'node:assert/strict';
import test from 'node:test';
import { fileIn } from '../../../web/console/chat/file_block.js';
import { Rounds } from '../../../web/console/context/rounds.js';
import { calculate } from '../../../web/console/tools/calculator.js';
import { find, grep, read } from '../../../web/console/tools/file_tools.js';
import * as format from '../../../web/console/ui/format.js';
import { activityText, callError, turnError } from '../../../web/console/ui/words.js';
import { RpcError } from '../../../web/client/client.js';

test('the calculator', () => {
  for (const [text, want] of [
    ['1+2*3', 7], ['(1+2)*3', 9], ['2^3^2', 512], ['-2^2', -4], ['2*-3', -6], ['2^-1', 0.5], ['7%4', 3], ['10-4-3', 3], ['12/3/2', 2],
    ['1.5e3 + .5', 1500.5], ['max(1, 2, sqrt(9))', 3], ['PI*0', 0], ['- - 3', 3], ['1--1', 2],
  ]) assert.equal(calculate(text), want, text);
  for (const bad of ['', '1+', '(1', '1)', '2 2', 'alert(1)', 'constructor', '__proto__', 'toString()', 'a.b', 'x=1', '1;2', 'max 1', '9'.repeat(3000)]) {
    assert.throws(() => calculate(bad), Error, bad);
  }
});

test('the file tools', () => {
  const tree = { 'a.txt': 'One\ntwo\nthree\n', 'src/b.js': 'two + two\n' };
  assert.equal(read(tree, { path: './a.txt' }), '1\tOne\n2\ttwo\n3\tthree');
  assert.equal(read(tree, { path: '/a.txt', offset: 2, limit: 1 }), '2\ttwo');
  assert.throws(() => read(tree, { path: 'toString' }), /no such file/);
  assert.equal(grep(tree, { pattern: 'TWO' }), 'a.txt:2: two\nsrc/b.js:1: two + two');
  assert.equal(grep(tree, { pattern: 'two', path: 'src/' }), 'src/b.js:1: two + two');
  assert.equal(grep(tree, { pattern: '(a+)+$' }), 'no match');
  assert.equal(find(tree, {}), 'a.txt\nsrc/b.js');
  assert.equal(find(tree, { name: 'src/*.js' }), 'src/b.js');
});

test('files among the blocks of a message', () => {
  assert.deepEqual(fileIn('<file name="a &quot;b&quot;.txt" type="text/plain">\nx\ny\n</file>'), { name: 'a "b".txt', type: 'text/plain', text: 'x\ny' });
  assert.equal(fileIn('see <file name="a" type="b">x</file>'), null);
});

test('the course of a conversation', () => {
  const rounds = new Rounds();
  const usage = { input: 100, output: 20, cache_read: 5, cache_write_5m: 1, cache_write_1h: 2, reasoning: 0, cost_usd: 0.5 };
  const entry = (seq, type, data) => ({ session_id: '', at: '', seq, type, data });
  assert.ok(rounds.add(entry(3, 'message.added', { message: { role: 'assistant', usage } })));
  assert.ok(!rounds.add(entry(4, 'message.added', { message: { role: 'user' } })));
  assert.ok(rounds.add(entry(5, 'compaction.completed', { tokens_before: 900, tokens_after: 300, cost_usd: 0.25 })));
  assert.ok(rounds.add(entry(6, 'message.added', { message: { role: 'assistant', usage } })));
  assert.deepEqual(rounds.points, [
    { kind: 'round', seq: 3, tokens: 128, cost: 0.5 },
    { kind: 'compaction', seq: 5, before: 900, after: 300 },
    { kind: 'round', seq: 6, tokens: 128, cost: 1.25 },
  ]);
});

test('numbers for people', () => {
  assert.deepEqual([format.cost(0), format.cost(0.00123), format.cost(1.239), format.cost(-0.5)], ['$0', '$0.00123', '$1.24', '−$0.5000']);
  assert.deepEqual([format.duration(12), format.duration(1500), format.duration(61_000)], ['12 ms', '1.5 s', '1 min 1 s']);
  assert.deepEqual([format.bytes(999), format.bytes(1234), format.bytes(5_500_000)], ['999 B', '1.2 kB', '5.5 MB']);
  assert.equal(format.since('2026-01-01T00:00:00Z', Date.parse('2026-01-01T00:00:20Z')), 'now');
});

test('what went wrong, and with what', () => {
  const said = (data, files) => callError(new RpcError('v1.message.send', { code: -32602, message: 'invalid params', data }), files);
  for (const [data, want] of [
    [{ path: 'settings.context_tokens_limit', reason: 'must be from 4000 to 10000000' }, 'The context limit must be from 4,000 to 10,000,000.'],
    [{ path: 'attachments[1].data', reason: 'is a ZIP archive' }, '“b.zip” is a ZIP archive.'],
    [{ path: 'attachments[7]', reason: 'is a ZIP archive' }, 'Is a ZIP archive.'],
    [{ path: 'title', reason: 'longer than 256 bytes' }, 'The title: longer than 256 bytes.'],
    [{ kind: 'content_too_large', path: 'attachments[0]', tokens: 12_345, max_tokens: 6000 }, '“a.txt” is too long: 12,345 tokens, and 6,000 fit.'],
    [{ reason: 'model claude-20250101 is not known' }, 'Model claude-20250101 is not known.'],
  ]) assert.equal(said(data, ['a.txt', 'b.zip']), want);
  assert.deepEqual(turnError({ kind: 'refused', message: 'the model declined to answer' }), { title: 'The model declined to answer.', detail: '' });
  assert.equal(turnError({ kind: 'upstream_failed', message: 'no key' }).detail, 'No key.');
  const retrying = { activity: 'retrying', attempt: 5, retry_in_ms: 6800 };
  assert.deepEqual([0, 4000, 7000].map((age) => activityText(retrying, age).split('. ')[1]), ['Try 5 in 7 s…', 'Try 5 in 3 s…', 'Try 5…']);
});
