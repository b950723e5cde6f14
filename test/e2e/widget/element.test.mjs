// The element by itself, without a server: given numbers, what is seen, said and told.
// Arguments: the browser's program, and a folder for pictures.
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { chat } from './chat.mjs';
import { noComplaints, openBrowser, openPage, serveSite, violations } from './site.mjs';
import { states } from './states.mjs';

const [executable, pictures] = process.argv.slice(2);
let browser;
let site;

before(async () => {
  await mkdir(pictures, { recursive: true });
  browser = await openBrowser(executable);
  site = await serveSite({ ...chat(), '/bare': '<!doctype html><html lang="en"><title>x</title><rtc-token-usage></rtc-token-usage>', ...twice });
});
after(async () => { await browser?.close(); site?.close(); });

const open = (options) => openPage(browser, site.url, options);

/** Sets properties, and waits until they are shown. */
async function give(page, properties) {
  await page.locator('rtc-token-usage').evaluate(async (element, given) => {
    Object.assign(element, given);
    await new Promise(requestAnimationFrame);
  }, properties);
}

const ring = (page) => page.getByRole('progressbar', { name: 'Context' });
const button = (page) => page.getByRole('button', { name: 'Context details' });
const panel = (page) => page.getByRole('group', { name: 'Context details' });

test('the ring follows what the next round needs, its colour the progress', async () => {
  const opened = await open();
  const { page } = opened;
  for (const [given, value, kind, band] of [
    [{}, '0', 'fill empty', 'low'],
    [{ estimatedNext: 500, compressionThreshold: 1000, compressionProgress: 49.9 }, '50', 'fill warning', 'low'],
    [{ estimatedNext: 499, compressionThreshold: 1000, compressionProgress: 50 }, '50', 'fill', 'mid'],
    [{ estimatedNext: 699, compressionProgress: 79.9 }, '70', 'fill warning', 'mid'],
    [{ estimatedNext: 700, compressionProgress: 80 }, '70', 'fill danger', 'high'],
    [{ estimatedNext: 5000, compressionProgress: 100 }, '100', 'fill danger', 'high'],
    [{ compressionProgress: 100.1 }, '100', 'fill danger', 'over'],
    [{ estimatedNext: 250_000, compressionThreshold: 0, compressionProgress: 3 }, '25', 'fill', 'low'],
    [{ estimatedNext: NaN, compressionThreshold: 'x', compressionProgress: undefined, roundsUntilCompression: null, totalCostUsd: Infinity }, '0', 'fill empty', 'low'],
    [{ estimatedNext: -5, compressionThreshold: -1, compressionProgress: -1 }, '0', 'fill empty', 'low'],
    [{ estimatedNext: '600', compressionThreshold: '1000', compressionProgress: '60' }, '60', 'fill warning', 'mid'],
  ]) {
    await give(page, given);
    const shown = await page.locator('rtc-token-usage').evaluate((element) => {
      const root = element.shadowRoot;
      const fill = root.querySelector('.fill');
      const filled = Math.round(Number(fill.style.getPropertyValue('--_ring')));
      return { filled: String(filled), class: fill.getAttribute('class'), band: root.querySelector('.meter').dataset.band, text: root.textContent };
    });
    assert.deepEqual([shown.filled, shown.class, shown.band], [value, kind, band], JSON.stringify(given));
    const said = Number.parseInt(await ring(page).getAttribute('aria-valuetext'), 10);
    assert.equal(await ring(page).getAttribute('aria-valuenow'), String(Math.min(100, said)), 'the number is that of the text');
    assert.doesNotMatch(shown.text, /NaN|undefined|Infinity/);
  }
  await noComplaints(opened);
});

test('values when nothing was given', async () => {
  const opened = await open();
  assert.deepEqual(await opened.page.locator('rtc-token-usage').evaluate((e) => [
    e.theme, e.estimatedNext, e.totalTokens, e.totalCostUsd, e.compressionThreshold, e.compressionProgress, e.roundsUntilCompression, e.details ?? null,
    e.parts, e.compacting, e.compact, e.state, e.sessionId ?? null, e.endpoint ?? null, e.ticket ?? null,
  ]), ['system', 0, 0, 0, 0, 0, -1, null, [], false, 'auto', 'none', null, null, null]);
  await noComplaints(opened);
});

test('numbers as text: none negative, none rounded to what it is not, none too long', async () => {
  const opened = await open();
  const { page } = opened;
  await button(page).click();
  for (const [progress, text, band] of [
    [-50, '0%', 'low'], [49.6, '49%', 'low'], [50, '50%', 'mid'], [79.9, '79%', 'mid'], [80.4, '80%', 'high'], [88.6, '89%', 'high'],
    [99.6, '99%', 'high'], [100, '100%', 'high'], [100.4, '101%', 'over'], [1234.4, '1,234%', 'over'], [1e300, '>9,999%', 'over'],
  ]) {
    await give(page, { compressionProgress: progress });
    const shown = await page.locator('.percent').textContent();
    assert.deepEqual([shown, await page.locator('.meter').getAttribute('data-band')], [text, band], `${progress}`);
    assert.equal(await page.locator('.used b').textContent(), text);
  }
  for (const [usd, text] of [
    [-0.5, '$0.00'], [0, '$0.00'], [0.00004, '<$0.0001'], [0.0001, '$0.0001'], [0.5, '$0.50'], [2.5e9, '$2.5B'], [1e300, '>$999T'], [1n, '$1.00'],
  ]) {
    await page.locator('rtc-token-usage').evaluate(async (e, given) => { e.totalCostUsd = given; await new Promise(requestAnimationFrame); }, usd);
    assert.equal(await page.locator('.rows .strong dd').last().textContent(), text);
  }
  for (const [tokens, text] of [[-5, '0'], [999_999_999, '999,999,999'], [1e9, '1B'], [1e15, '>999T'], [Number.MAX_VALUE, '>999T'], [Number.MIN_VALUE, '0']]) {
    const parts = [{ name: 'tools', tokens: Math.max(tokens, 1) }, { name: 'messages', tokens: Number.MAX_VALUE }];
    await give(page, { totalTokens: tokens, estimatedNext: tokens, details: { input: tokens }, parts, compressionThreshold: tokens, compressionProgress: 1e300 });
    assert.equal(await page.locator('.rows .strong dd').first().textContent(), text);
    assert.doesNotMatch(await page.locator('.panel').textContent(), /NaN|Infinity|∞|-\d|\d{12}/);
    const wide = await page.locator('.panel').evaluate((e) => e.scrollWidth - e.clientWidth);
    assert.ok(wide <= 0, `${tokens}: the panel is ${wide} pixels too wide`);
  }
  for (const [rounds, text] of [[2.5, 'Compaction in about 3 rounds'], [0.2, 'Compaction in about 1 round'], [3.1, ''], [-0.5, ''], [-7, '']]) {
    await give(page, { roundsUntilCompression: rounds, compressionProgress: 70 });
    assert.equal(await page.locator('.footer').textContent(), text, `${rounds}`);
  }
  await noComplaints(opened);
});

test('any property may be anything', async () => {
  const opened = await open();
  const { page } = opened;
  await give(page, { compact: 'show', roundsUntilCompression: 2, compressionThreshold: 100, compressionProgress: 58 });
  await button(page).click();
  const problems = await page.locator('rtc-token-usage').evaluate(async (element) => {
    const anything = [
      null, undefined, true, 'x', '', 7, -7, NaN, 3n, Symbol('s'), [], [null], [undefined, 1, 'x', Symbol('s'), {}, []], {}, Object.create(null), () => 'x', new Date(NaN),
      [{ name: 'constructor', tokens: 1 }, { name: Symbol('s'), tokens: 1 }, { name: 'tools', tokens: 'x' }, { name: 'tools', tokens: Symbol('s') }, { name: 'tools', tokens: -1 }],
      { input: Symbol('s'), output: 'x', cachedRead: -1, cachedWrite: null, reasoning: {} },
      { label: 1, rounds: 'soon', tokens: 5, parts: { tools: Symbol('s') } }, { parts: 'x', rounds: () => Symbol('s') }, { parts: null, percent: 1, label: Symbol('s') },
    ];
    const names = [
      'estimatedNext', 'totalTokens', 'totalCostUsd', 'compressionThreshold', 'compressionProgress', 'roundsUntilCompression',
      'details', 'parts', 'compacting', 'theme', 'compact', 'messages', 'ticket', 'sessionId',
    ];
    const found = [];
    for (const name of names) {
      const before = element[name];
      for (const [i, value] of anything.entries()) {
        try {
          element[name] = value;
          await new Promise(requestAnimationFrame);
          if (/NaN|undefined|Infinity|\[object|function/.test(element.shadowRoot.textContent)) found.push(`${name} ${i}: ${element.shadowRoot.textContent}`);
        } catch (error) {
          found.push(`${name} ${i}: ${error}`);
        }
      }
      element[name] = before;
    }
    return found;
  });
  assert.deepEqual(problems, []);
  await noComplaints(opened);
});

test('an endpoint that is no address, and words that fail', async () => {
  const opened = await open();
  const { page, complaints } = opened;
  await give(page, { endpoint: 'ftp://nowhere', sessionId: 's' });
  assert.equal(await page.locator('rtc-token-usage').evaluate((e) => e.state), 'closed');
  await page.locator('rtc-token-usage').evaluate(async (e) => {
    Object.assign(e, { endpoint: undefined, roundsUntilCompression: 2, messages: { rounds: () => { throw new Error('no words'); } } });
    await new Promise(requestAnimationFrame);
  });
  assert.equal(await page.locator('.footer').textContent(), 'Compaction in about 2 rounds');
  assert.ok(complaints.length >= 2 && complaints.every((c) => c.startsWith('rtc-token-usage:')), complaints.join('\n'));
  complaints.length = 0;
  await noComplaints(opened);
});

test('a footer announces 0 to 3 rounds', async () => {
  const opened = await open();
  const { page } = opened;
  await button(page).click();
  for (const [rounds, text] of [
    [-1, ''], [0, 'Compaction before the next round'], [1, 'Compaction in about 1 round'], [3, 'Compaction in about 3 rounds'], [4, ''], [999, ''],
  ]) {
    await give(page, { roundsUntilCompression: rounds, compressionProgress: 70 });
    assert.equal(await page.locator('.footer').textContent(), text);
    assert.equal(await page.locator('.footer').isVisible(), text !== '');
    assert.equal(await page.locator('.near').isVisible(), text !== '');
    assert.equal(/Compaction/.test(await ring(page).getAttribute('aria-valuetext')), text !== '');
  }
  await give(page, { roundsUntilCompression: -1, compressionProgress: 104 });
  assert.equal(await page.locator('.footer').textContent(), 'Compaction is due');
  await noComplaints(opened);
});

test('the panel: parts, cache hit rate, cost', async () => {
  const opened = await open();
  const { page } = opened;
  await give(page, {
    compressionThreshold: 1000, compressionProgress: 125, estimatedNext: 1300, totalTokens: 12_345, totalCostUsd: 0.0123,
    details: { input: 100, cachedRead: 700, cachedWrite: 200, output: 50 },
    parts: [{ name: 'messages', tokens: 800 }, { name: 'new_thing', tokens: 50 }, { name: 'system', tokens: 400 }, { name: 'tools', tokens: 0 }],
  });
  await button(page).click();
  assert.deepEqual(await page.locator('.legend li').allTextContents(), ['System prompt400', 'Messages800', 'new thing50']);
  assert.deepEqual(await page.locator('.segment').evaluateAll((all) => all.map((e) => [e.dataset.part, e.style.inlineSize])),
    [['system', '32%'], ['messages', '64%'], ['new_thing', '4%']]);
  assert.equal(await page.locator('.mark').evaluate((e) => e.style.insetInlineStart), '80%');
  assert.deepEqual(await page.locator('.rows div').allTextContents(), [
    'Next round, about1,300', 'Input100', 'Read from cache700', 'Written to cache200', 'Output50', 'Cache hit rate70%', 'Total tokens12,345', 'Cost$0.0123',
  ]);
  assert.equal(await ring(page).getAttribute('aria-valuetext'), '125%, 1,250 of 1,000 tokens');
  await noComplaints(opened);
});

test('the panel opens for a pointer, a touch and the keyboard', async () => {
  const opened = await open();
  const { page } = opened;
  await give(page, { compact: 'show' });
  const expanded = () => button(page).getAttribute('aria-expanded');
  const shown = async (is) => { await panel(page).waitFor({ state: is ? 'visible' : 'hidden' }); assert.equal(await expanded(), String(is)); };

  await button(page).hover();
  await shown(true);
  await panel(page).hover(); // the pointer may go there
  await page.getByRole('heading').hover();
  await shown(false);

  await button(page).click(); // pins it
  await page.getByRole('heading').hover();
  await page.waitForTimeout(400);
  await shown(true);
  await page.keyboard.press('Escape');
  await shown(false);
  await button(page).click();
  await shown(true);
  await page.mouse.click(410, 5);
  await shown(false);

  await page.locator('textarea').click();
  await page.keyboard.press('Tab');
  assert.ok(await button(page).evaluate((e) => e.matches(':focus-visible')));
  await shown(true);
  await page.keyboard.press('Enter');
  await shown(false);
  await page.keyboard.press('Space');
  await shown(true);
  await page.keyboard.press('Tab');
  assert.ok(await page.getByRole('button', { name: 'Compact now' }).evaluate((e) => e.matches(':focus-visible')));
  await page.waitForTimeout(400);
  await shown(true);
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'send');
  await shown(false);
  await noComplaints(opened);

  const touch = await open({ hasTouch: true, isMobile: true, viewport: { width: 375, height: 640 } });
  await touch.page.getByRole('button', { name: 'Context details' }).tap();
  await touch.page.getByRole('group', { name: 'Context details' }).waitFor();
  await touch.page.getByRole('button', { name: 'Context details' }).tap();
  await touch.page.getByRole('group', { name: 'Context details' }).waitFor({ state: 'hidden' });
  await noComplaints(touch);
});

test('the button to compact', async () => {
  const opened = await open();
  const { page } = opened;
  await page.evaluate(() => {
    globalThis.pressed = [];
    document.addEventListener('compact', (e) => { globalThis.pressed.push(e.cancelable); });
  });
  const compact = page.getByRole('button', { name: 'Compact now' });
  await button(page).click();
  assert.equal(await compact.isVisible(), false, 'nobody is connected');
  await give(page, { compact: 'show' });
  await compact.click();
  assert.deepEqual(await page.evaluate(() => globalThis.pressed), [true]);
  await give(page, { compacting: true });
  const busy = page.getByRole('button', { name: 'Compacting' });
  assert.equal(await busy.getAttribute('aria-disabled'), 'true');
  await busy.click({ force: true });
  assert.equal(await page.evaluate(() => globalThis.pressed.length), 1);
  await page.getByRole('status').filter({ hasText: 'Compacting' }).waitFor({ state: 'attached' });
  await give(page, { compact: 'hidden', compacting: false });
  assert.equal(await compact.isVisible(), false);
  await noComplaints(opened);
});

test('a compaction turns the ring, unless people prefer it still', async () => {
  for (const [reducedMotion, animation] of [['no-preference', 'turn'], ['reduce', 'none']]) {
    const opened = await open({ reducedMotion });
    await give(opened.page, { compacting: true });
    assert.equal(await opened.page.locator('.ring svg').evaluate((e) => getComputedStyle(e).animationName), animation);
    assert.match(await ring(opened.page).getAttribute('aria-valuetext'), /Compacting/);
    await noComplaints(opened);
  }
});

test('the event threshold', async () => {
  const opened = await open();
  const { page } = opened;
  await page.evaluate(() => {
    globalThis.told = [];
    document.addEventListener('threshold', ({ detail }) => { globalThis.told.push(Object.values(detail)); });
  });
  for (const compressionProgress of [55, 60, 85, 120, 20]) await give(page, { compressionProgress });
  assert.deepEqual(await page.evaluate(() => globalThis.told), [['high', 'mid', 85], ['over', 'high', 120], ['low', 'over', 20]]);
  await noComplaints(opened);
});

test('themes', async () => {
  const background = (page) => page.locator('.panel').evaluate((e) => getComputedStyle(e).backgroundColor);
  const [light, dark] = ['rgb(255, 255, 255)', 'rgb(27, 30, 37)'];
  for (const [colorScheme, theme, want] of [
    ['light', 'system', light], ['dark', 'system', dark], ['light', 'dark', dark], ['dark', 'light', light], ['dark', 'unknown', dark],
  ]) {
    const opened = await open({ colorScheme });
    await give(opened.page, { theme });
    assert.equal(await background(opened.page), want, `${theme} on a ${colorScheme} machine`);
    await noComplaints(opened);
  }
});

test('languages and words', async () => {
  const opened = await open();
  const { page } = opened;
  const label = () => page.getByRole('progressbar').getAttribute('aria-label');
  await page.evaluate(() => { document.documentElement.lang = 'zh-Hans'; });
  await give(page, { compressionProgress: 61.5 });
  assert.equal(await label(), '上下文');
  assert.equal(await page.locator('.panel').getAttribute('lang'), 'zh');
  await page.locator('rtc-token-usage').evaluate((e) => { e.lang = 'de'; });
  await give(page, {});
  assert.equal(await label(), 'Context', 'English for what is not known');
  await page.locator('rtc-token-usage').evaluate(async (e) => {
    e.messages = { label: 'Kontext', rounds: (n) => `noch ${n}`, parts: { tools: 'Werkzeuge' } };
    Object.assign(e, { roundsUntilCompression: 2, totalCostUsd: 1234.5, parts: [{ name: 'tools', tokens: 1500 }, { name: 'system', tokens: 1 }] });
    await new Promise(requestAnimationFrame);
  });
  assert.equal(await label(), 'Kontext');
  assert.equal(await page.locator('.panel').getAttribute('lang'), 'de');
  assert.equal(await page.locator('.footer').textContent(), 'noch 2');
  assert.deepEqual(await page.locator('.legend li').allTextContents(), ['System prompt1', 'Werkzeuge1.500']);
  assert.match(await page.locator('.rows .strong').last().textContent(), /1\.234,50\s\$/);
  await page.locator('rtc-token-usage').evaluate((e) => { e.lang = 'no such language!'; });
  await give(page, {});
  await noComplaints(opened);
});

test('the language of what is around it, when that changes, and across shadow trees', async () => {
  const opened = await open();
  const { page } = opened;
  const label = (want) => page.waitForFunction((text) => {
    const widget = document.querySelector('rtc-token-usage') ?? document.querySelector('#outer').shadowRoot.querySelector('rtc-token-usage');
    return widget.shadowRoot.querySelector('.ring').getAttribute('aria-label') === text;
  }, want);
  await page.evaluate(() => { document.documentElement.lang = 'zh'; });
  await label('上下文');
  await page.evaluate(() => { document.querySelector('main').lang = 'en'; });
  await label('Context');
  await page.evaluate(() => {
    const outer = document.createElement('div');
    outer.id = 'outer';
    outer.attachShadow({ mode: 'open' }).append(document.querySelector('rtc-token-usage'));
    document.querySelector('main').append(outer);
  });
  await label('Context');
  await page.evaluate(() => { document.querySelector('#outer').lang = 'zh-TW'; });
  await label('上下文');
  await page.evaluate(() => { document.querySelector('#outer').lang = 'en-GB'; });
  await label('Context');
  await noComplaints(opened);
});

// The module twice, under two addresses; and properties set before it came.
const twice = {
  '/twice': `<!doctype html><html lang="en"><title>x</title><rtc-token-usage></rtc-token-usage>
<script src="/early.js"></script>
<script type="module" src="/assets/widget/rtc-token-usage.js"></script><script type="module" src="/assets/widget/rtc-token-usage.js?again"></script>`,
  '/early.js': 'Object.assign(document.querySelector("rtc-token-usage"), { estimatedNext: 30, compressionThreshold: 100, theme: "dark", sessionId: "s" });',
};

test('the module twice, and properties set before it came', async () => {
  const opened = await openPage(browser, `${site.url}/twice`);
  await opened.page.waitForLoadState('networkidle');
  await opened.page.waitForFunction(() => document.querySelector('rtc-token-usage').getAttribute('theme') === 'dark');
  assert.equal(await opened.page.locator('.fill').evaluate((e) => e.style.getPropertyValue('--_ring')), '30');
  assert.equal(await opened.page.locator('rtc-token-usage').getAttribute('session-id'), 's');
  await noComplaints(opened);
});

test('the panel stays within the window, wherever the widget is', async () => {
  const opened = await open({ viewport: { width: 375, height: 500 } });
  const { page } = opened;
  await give(page, states['panel-high'].properties);
  await button(page).click();
  for (const [justify, align] of [['start', 'start'], ['end', 'start'], ['center', 'center'], ['end', 'end']]) {
    await page.evaluate(([j, a]) => {
      const style = document.querySelector('main').style;
      Object.assign(style, { justifyContent: a });
      Object.assign(document.querySelector('.bar').style, { justifyContent: j });
      window.dispatchEvent(new Event('resize'));
    }, [justify, align]);
    const box = await panel(page).boundingBox();
    assert.ok(box.x >= 0 && box.y >= 0 && box.x + box.width <= 375 && box.y + box.height <= 500, `${justify} ${align}: ${JSON.stringify(box)}`);
    const anchor = await ring(page).boundingBox();
    assert.ok(box.y + box.height <= anchor.y || box.y >= anchor.y + anchor.height, `${justify} ${align}: the ring is covered`);
  }
  await noComplaints(opened);
});

for (const colorScheme of ['light', 'dark']) {
  test(`every state in ${colorScheme} looks as it does, and axe finds nothing`, async () => {
    const opened = await open({ colorScheme });
    const { page } = opened;
    for (const [name, { properties, open: isOpen, lang = 'en', viewport = { width: 420, height: 640 } }] of Object.entries(states)) {
      await page.mouse.move(400, 5);
      await page.keyboard.press('Escape');
      await page.setViewportSize(viewport);
      await page.evaluate((l) => { document.documentElement.lang = l; }, lang);
      await give(page, { ...states['panel-plain'].properties, compacting: false, ...properties });
      if (isOpen) await page.locator('rtc-token-usage').hover();
      await page.locator('.panel').waitFor({ state: isOpen ? 'visible' : 'hidden' });
      await page.waitForTimeout(500); // the transitions, for the picture
      await page.screenshot({ path: `${pictures}/${name}-${colorScheme}.png` });
      assert.deepEqual(await violations(page), [], name);
    }
    await noComplaints(opened);
  });
}
