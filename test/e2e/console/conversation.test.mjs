// Talking: from the first run to the first answer, and everything that a conversation has.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { answered, ask, browser, eventually, feet, menu, message, openPage, paste, picture, send, url, WIDE } from './harness.mjs';

after(() => browser.close());

test('first run to first answer', async () => {
  const page = await openPage();
  await page.getByRole('heading', { name: 'What shall we talk about?' }).waitFor();
  await page.getByText('The demo model answers by rule').waitFor();
  await picture(page, 'first-run');
  await page.getByRole('button', { name: 'What can the demo do?' }).click();
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('article.user', { hasText: 'help' }).waitFor();
  await page.locator('article.assistant', { hasText: 'Here is what you can try' }).waitFor();
  await feet(page).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Stop', exact: true }).count(), 0);
  assert.equal(await page.locator('#sessions a[aria-current=page] .title').innerText(), 'help');
  await picture(page, 'first-answer');
  await page.done();
});

test('what a model writes does nothing but be read', async () => {
  const page = await openPage();
  await page.evaluate(async () => {
    const { markdown } = await import('/assets/console/ui/markdown.js');
    const text = '# Big\n<img src=x onerror="window.bad=1"><script>window.bad=1</script><style>*{display:none}</style>'
      + '\n\n[a](javascript:window.bad=1) [b](https://example.com) ![pic](https://example.com/p.png)\n\n'
      + '<svg onload="window.bad=1"></svg><iframe src="https://example.com"></iframe><p style="position:fixed">x</p>\n\n'
      + '| a | b |\n|---|---|\n| 1 | 2 |\n\n- [x] done\n\n```js\nlet a = "<b>";\n```';
    const place = document.createElement('div');
    place.id = 'tried';
    place.append(markdown(text));
    document.body.append(place);
  });
  const found = await page.locator('#tried').evaluate((e) => ({
    bad: e.querySelectorAll('script, style, img, svg, iframe, [style], [onerror]').length,
    run: 'bad' in window, shown: e.textContent.includes('<script>window.bad=1</script>'),
    links: [...e.querySelectorAll('a')].map((a) => [a.textContent, a.getAttribute('href'), a.rel]),
    heading: e.querySelector('h3')?.textContent, cells: e.querySelectorAll('td').length, code: e.querySelector('pre')?.textContent,
  }));
  const rel = 'noopener noreferrer';
  assert.deepEqual(found, {
    bad: 0, run: false, shown: true, heading: 'Big', cells: 2, code: 'let a = "<b>";\n',
    links: [['b', 'https://example.com', rel], ['pic', 'https://example.com/p.png', rel]],
  });
  await page.done();
});

test('tools run in the page, thoughts are folded', async () => {
  const page = await openPage();
  await ask(page, 'call script {"expression": "2*(3+4)^2"}');
  await ask(page, 'call read {"path": "README.md"} then call read {"path": "nowhere"}');
  const cards = page.locator('details.tool');
  assert.deepEqual(await cards.locator('.status').allInnerTexts(), ['done', 'done', 'failed']);
  await cards.first().locator('summary').click();
  assert.equal(await cards.first().locator('.result pre').innerText(), '98');
  await picture(page, 'tools');
  await ask(page, 'think about it');
  const thought = page.locator('details.thinking');
  assert.equal(await thought.getAttribute('open'), null);
  await thought.locator('summary').click();
  await thought.getByText('The user says').waitFor();
  await page.done();
});

test('a message waits in the queue, and everything stops at once', async () => {
  const page = await openPage();
  await send(page, 'write 600 words');
  await page.locator('article.growing').waitFor();
  await send(page, 'and then this');
  await page.getByRole('group', { name: 'Queue' }).getByText('and then this', { exact: true }).waitFor();
  assert.equal(await page.locator('article.user').count(), 1);
  await picture(page, 'queue');
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await page.getByText('You stopped this answer').waitFor();
  await page.locator('article.assistant', { hasText: 'You said “and then this”' }).waitFor();
  assert.equal(await page.getByRole('group', { name: 'Queue' }).count(), 0);
  await feet(page).waitFor();

  await send(page, 'write 600 words');
  await page.locator('article.growing').waitFor();
  await send(page, 'never');
  await page.getByRole('button', { name: 'Stop and clear' }).click();
  await page.getByText('A queued message was dropped').waitFor();
  assert.equal(await page.locator('article.user', { hasText: 'never' }).count(), 0);
  await page.done();
});

test('failures are told in words', async () => {
  const page = await openPage();
  await send(page, 'fail with auth');
  await page.locator('.turn-error', { hasText: 'The model’s provider failed or refused the request.' }).waitFor();
  await picture(page, 'error');
  await send(page, 'fail twice with overload');
  await page.locator('#activity', { hasText: 'The model’s service does not answer.' }).waitFor();
  await feet(page).waitFor();
  await ask(page, 'still there?');
  await page.done();
});

test('files come by choosing, dropping and pasting, and tell what they cost', async () => {
  const page = await openPage();
  const words = 'tide '.repeat(300);
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Attach files' }).click()]);
  await chooser.setFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from(words) });
  const transfer = await page.evaluateHandle(async () => {
    const canvas = Object.assign(document.createElement('canvas'), { width: 280, height: 140 });
    const pen = canvas.getContext('2d');
    pen.fillStyle = 'teal';
    pen.fillRect(20, 20, 200, 100);
    const blob = await new Promise((resolve) => { canvas.toBlob(resolve); });
    const data = new DataTransfer();
    data.items.add(new File([blob], 'sea.png', { type: 'image/png' }));
    return data;
  });
  await page.dispatchEvent('body', 'dragover', { dataTransfer: transfer });
  await page.locator('.dropping').waitFor();
  await page.dispatchEvent('body', 'drop', { dataTransfer: transfer });
  await message(page).evaluate((text) => {
    const data = new DataTransfer();
    data.items.add(new File(['a,b\n1,2\n'], 'table.csv', { type: 'text/csv' }));
    text.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
  });
  const chips = page.getByRole('list', { name: 'Attached files' }).getByRole('listitem');
  await eventually(() => chips.count(), 3, 'chosen files');
  await chips.filter({ hasText: 'sea.png' }).getByText('≈ 50 tokens').waitFor();
  await page.getByRole('button', { name: 'Remove table.csv' }).click();
  await picture(page, 'files-chosen');
  await ask(page, 'look at these');
  const sent = page.locator('article.user');
  await sent.getByText(/notes\.txt · \d+ tokens/).waitFor();
  await sent.getByText(/sea\.png · \d+ tokens/).waitFor();
  assert.equal(await sent.locator('img').evaluate((i) => i.naturalWidth), 280);
  await page.locator('article.assistant', { hasText: '1 image came with it' }).waitFor();
  await picture(page, 'files');

  await message(page).evaluate((text) => {
    const data = new DataTransfer();
    data.items.add(new File(['not a picture'], 'broken.png', { type: 'image/png' }));
    text.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
  });
  await send(page, 'and this');
  await page.locator('.notice.bad').waitFor();
  await eventually(() => message(page).inputValue(), 'and this', 'a refused message comes back');
  assert.equal(await chips.count(), 1, 'and its file');
  await page.done();
});

test('who removes files by keyboard goes on from where they were', async () => {
  const page = await openPage();
  await paste(page, ['a', 'b', 'c'].map((n) => ({ name: `${n}.txt`, type: 'text/plain', text: n })));
  const focused = () => page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.id);
  await page.getByRole('button', { name: 'Remove b.txt' }).focus();
  for (const next of ['Remove c.txt', 'Remove a.txt', 'text']) {
    await page.keyboard.press('Enter');
    assert.equal(await focused(), next);
  }
  await page.done();
});

test('sessions are found, renamed, forked, closed, opened and deleted', async () => {
  const page = await openPage();
  await ask(page, 'about whales');
  await menu(page, 'Rename…');
  await page.getByRole('dialog').getByLabel('Title').fill('Whales');
  await page.getByRole('button', { name: 'Rename', exact: true }).click();
  await page.getByRole('heading', { name: 'Whales', exact: true }).waitFor();

  await menu(page, 'Fork');
  await page.getByRole('heading', { name: 'Whales (fork)' }).waitFor();
  await page.locator('article.user', { hasText: 'about whales' }).waitFor();
  await ask(page, 'only here');
  await page.getByLabel('Search sessions by title').fill('whales');
  await eventually(() => page.locator('#sessions a').count(), 2, 'found sessions');
  await page.getByLabel('Search sessions by title').fill('zebra');
  await page.getByText('No session has this in its title.').waitFor();
  await page.getByLabel('Search sessions by title').fill('');

  await menu(page, 'Close');
  await eventually(() => message(page).isDisabled(), true, 'a closed session takes nothing');
  await menu(page, 'Open again');
  await eventually(() => message(page).isDisabled(), false, 'an open one does');
  await menu(page, 'Delete…');
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('heading', { name: 'What shall we talk about?' }).waitFor();
  await page.locator('#sessions a', { hasText: 'Whales' }).first().click();
  await page.getByRole('heading', { name: 'Whales', exact: true }).waitFor();
  await eventually(() => page.locator('article.user').count(), 1, 'the original is as it was');
  await page.goto(`${url}#00000000-0000-7000-8000-000000000000`);
  await page.locator('.notice.bad', { hasText: 'not there any more' }).waitFor();
  await page.done();
});

test('a fork has the message it is made at, and all before it', async () => {
  const page = await openPage();
  await ask(page, 'about whales');
  await send(page, 'count to 60');
  await page.locator('article.growing').waitFor();
  await send(page, 'about a queue');
  await eventually(() => feet(page).count(), 3, 'three answers');
  const original = page.url();
  const said = page.locator('article.user .bubble');
  const forkAt = async (article, where) => {
    await page.goto(original);
    await eventually(() => feet(page).count(), 3, 'the original');
    await article.getByRole('button', { name: 'Fork from here' }).click();
    await page.getByText('Forked at entry').waitFor();
    await page.locator('#log[aria-busy=false]').waitFor();
    assert.notEqual(page.url(), original, where);
  };
  for (const [n, want] of [['about whales'], ['about whales', 'count to 60'], ['about whales', 'count to 60', 'about a queue']].entries()) {
    await forkAt(page.locator('article.user').nth(n), want.at(-1));
    await eventually(() => said.allInnerTexts(), want, 'what was said until there');
    await eventually(() => page.locator('article.assistant').count(), n, 'what was answered until there');

    await forkAt(page.locator('article.assistant').nth(n), `the answer to ${want.at(-1)}`);
    await eventually(() => said.allInnerTexts(), want, 'what was answered');
    await eventually(() => feet(page).count(), n + 1, 'the answers until there, each whole');
    assert.equal(await page.getByText('This answer was interrupted').count(), 0, want.at(-1));
  }
  await page.done();
});

test('Enter twice sends once, with its files', async () => {
  const page = await openPage();
  await paste(page, [{ name: 'sea.png', type: 'image/png', noise: 500 }]);
  await message(page).fill('look at this');
  await message(page).evaluate((text) => {
    for (let n = 0; n < 2; n++) text.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
  });
  await feet(page).waitFor();
  await ask(page, 'what was said?');
  assert.equal(await page.locator('article.user').count(), 2);
  assert.equal(await page.locator('article.user .costs li').count(), 1);
  await page.done();
});

test('large pictures and files are shown, now and after a reload', async () => {
  const page = await openPage();
  const lines = Array.from({ length: 9000 }, (_, i) => `line ${i + 1}`).join('\n');
  await paste(page, [{ name: 'noise.png', type: 'image/png', noise: 500 }, { name: 'long.txt', type: 'text/plain', text: lines }]);
  const [before] = await Promise.all([page.locator('.chip .size').first().innerText(), ask(page, 'both')]);
  assert.match(before, /^\d+ kB|MB/);
  const bubble = page.locator('article.user').first();
  const isWhole = async (what) => {
    await eventually(() => bubble.locator('img').evaluateAll((all) => all.map((i) => i.naturalWidth)), [500], `the picture ${what}`);
    await bubble.locator('summary', { hasText: 'long.txt' }).click();
    assert.ok((await bubble.locator('details pre').textContent()).endsWith('line 9000'), `the file ${what}`);
  };
  await isWhole('at once');
  await bubble.locator('summary').click();
  await picture(page, 'large-files');
  await page.reload();
  await isWhole('after a reload');
  await page.done();
});

test('what is wide scrolls by itself', async () => {
  const page = await openPage();
  await ask(page, 'hello');
  await answered(page, WIDE);
  const frame = page.getByRole('region', { name: 'Table' });
  assert.ok(await frame.evaluate((e) => e.scrollWidth > e.clientWidth), 'the table does not scroll');
  const lines = await frame.locator('th').evaluateAll((cells) => cells.map((c) => Math.round(c.clientHeight / parseFloat(getComputedStyle(c).lineHeight))));
  assert.ok(lines.every((n) => n <= 2), `words are broken: ${lines}`);
  assert.ok(await page.locator('#scroller').evaluate((e) => e.scrollWidth <= e.clientWidth), 'the conversation scrolls sideways');
  const prose = page.locator('article.assistant').last();
  assert.equal(await prose.locator('p', { hasText: 'a line of HTML' }).locator('br').count(), 2);
  assert.deepEqual(await prose.locator('a').allInnerTexts(), ['taken']);
  await picture(page, 'wide');
  await page.done();
});

test('every session has its own draft, and what it waits for', async () => {
  const page = await openPage();
  await ask(page, 'about porpoises');
  await message(page).fill('half a thought');
  await paste(page, [{ name: 'notes.txt', type: 'text/plain', text: 'x' }]);
  await page.getByRole('button', { name: 'New session' }).click();
  await page.getByRole('heading', { name: 'What shall we talk about?' }).waitFor();
  assert.equal(await message(page).inputValue(), '');
  assert.equal(await page.locator('.chip').count(), 0);
  await message(page).fill('another one');
  await page.locator('#sessions a', { hasText: 'about porpoises' }).click();
  await eventually(() => message(page).inputValue(), 'half a thought', 'the draft');
  assert.equal(await page.locator('.chip').count(), 1);
  await page.getByRole('button', { name: 'New session' }).click();
  await eventually(() => message(page).inputValue(), 'another one', 'the other draft');
  await page.done();
});

test('a long title fits into its questions, a too long one is not taken', async () => {
  const page = await openPage();
  await ask(page, `https://example.com/${'a-path-without-a-break/'.repeat(4)}`);
  await menu(page, 'Delete…');
  const dialog = page.getByRole('dialog');
  assert.ok(await dialog.evaluate((e) => e.scrollWidth <= e.clientWidth), 'the question is cut off');
  await picture(page, 'long-question');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await menu(page, 'Rename…');
  await dialog.getByLabel('Title').fill('海'.repeat(90)); // 270 bytes
  await dialog.getByLabel('Title').press('Enter');
  assert.equal(await dialog.getByLabel('Title').evaluate((e) => e.validationMessage), 'This is too long by 14 bytes.');
  await dialog.getByLabel('Title').fill('海'.repeat(85));
  await dialog.getByLabel('Title').press('Enter');
  await page.getByRole('heading', { name: '海'.repeat(85) }).waitFor();
  await page.done();
});

test('a first message that is refused makes no session', async () => {
  const page = await openPage();
  await page.getByText('The demo model answers').waitFor();
  await paste(page, [{ name: 'broken.png', type: 'image/png', text: 'not a picture' }]);
  await send(page, 'a broken picture');
  await page.locator('.notice.bad').waitFor();
  await eventually(() => message(page).inputValue(), 'a broken picture', 'the message comes back');
  assert.equal(await page.locator('.chip', { hasText: 'broken.png' }).count(), 1, 'and its file');
  assert.ok(await page.getByRole('heading', { name: 'What shall we talk about?' }).isVisible(), 'the page is not blank');
  assert.equal(new URL(page.url()).hash, '');
  await picture(page, 'refused-first');
  const rows = page.locator('#sessions a', { hasText: 'a broken picture' });
  const stored = () => page.evaluate(async () => {
    const { Client } = await import('/assets/client/client.js');
    const { ticket } = await import('/assets/console/ui/sign_in.js');
    const client = new Client({ ticket });
    const { sessions } = await client.call('v1.session.list', { limit: 50 });
    client.close();
    return sessions.filter((s) => s.title === 'a broken picture').length;
  });
  await eventually(stored, 0, 'no session is left');
  await page.getByRole('button', { name: 'Remove broken.png' }).click();
  await message(page).press('Enter');
  await feet(page).waitFor();
  assert.equal(await page.locator('article.user').count(), 1);
  assert.equal(await rows.count(), 1, 'one session is listed');
  assert.equal(await stored(), 1);
  await page.done();
});

test('mistakes are told with what they are about', async () => {
  const page = await openPage();
  await paste(page, [{ name: 'all.zip', type: 'application/zip', text: 'PK\u0003\u0004 and more' }]);
  await send(page, 'unpack');
  const told = page.locator('.notice.bad');
  await told.filter({ hasText: '“all.zip” is a ZIP archive' }).waitFor();
  await eventually(() => message(page).inputValue(), 'unpack', 'a refused message comes back');
  await page.getByRole('button', { name: 'New session' }).click();
  await page.getByText('Settings of the new session').click();
  await page.getByLabel('Context limit').fill('10');
  await send(page, 'tiny');
  await told.filter({ hasText: 'The context limit must be from 4,000 to 10,000,000.' }).waitFor();
  await page.goto(`${url}#nonsense`);
  await told.filter({ hasText: 'The address of this page names no session.' }).waitFor();
  await picture(page, 'notices');
  await page.done();
});

test('the newest stays in sight, unless somebody reads further up', async () => {
  const page = await openPage();
  const fromEnd = () => page.locator('#scroller').evaluate((e) => Math.round(e.scrollHeight - e.scrollTop - e.clientHeight));
  for (let n = 0; n < 4; n++) await ask(page, `${n} ${'pebble '.repeat(200)}`);
  await eventually(fromEnd, (px) => px < 80, 'it is at the end');
  await page.locator('#scroller').hover();
  await page.mouse.wheel(0, -600);
  await page.getByRole('button', { name: 'Newest' }).waitFor();
  await send(page, 'write 60 words');
  await eventually(fromEnd, (px) => px < 80, 'who sends sees what comes');
  await page.mouse.wheel(0, -600);
  await page.getByRole('button', { name: 'Newest' }).waitFor();
  const before = await page.locator('#scroller').evaluate((e) => e.scrollTop);
  await feet(page).nth(4).waitFor();
  assert.ok(Math.abs(await page.locator('#scroller').evaluate((e) => e.scrollTop) - before) < 80, 'it was moved away');
  await page.getByRole('button', { name: 'Newest' }).click();
  await eventually(fromEnd, (px) => px < 80, 'the button leads back');
  await page.done();
});
