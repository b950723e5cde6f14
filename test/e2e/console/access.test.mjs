// For everybody: keyboard only, small screens, dark, less motion, screen readers.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { answered, ask, browser, cable, eventually, feet, fill, isOpenToAll, menu, message, openPage, paste, picture, send, url, WIDE } from './harness.mjs';

after(() => browser.close());

/** Nothing is wider than the screen. */
async function fits(page) {
  const wide = await page.evaluate(() => [...document.querySelectorAll('body *')].filter((e) => {
    const box = e.getBoundingClientRect();
    return box.width > 0 && box.right > innerWidth + 1 && getComputedStyle(e).position !== 'fixed' && !e.closest('.wide, pre, .timeline, [hidden], .hidden');
  }).map((e) => `${e.tagName}#${e.id}.${e.className}`));
  assert.deepEqual(wide, []);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page scrolls sideways');
}

async function talk(page) {
  await ask(page, 'call read {"path": "src/tides.js"} then grep {"pattern": "tide"}');
  await fill(page);
  await ask(page, 'think about it');
}

test('keyboard only', async () => {
  const page = await openPage();
  page.on('filechooser', () => {}); // from now on: the browser takes a moment until it tells of one
  await page.getByText('The demo model answers').waitFor();
  const focused = () => page.evaluate(() => document.activeElement?.id || document.activeElement?.getAttribute('aria-label') || document.activeElement?.textContent);
  const tabTo = async (wanted, key = 'Tab') => {
    for (let n = 0; n < 200; n++) {
      if (await focused() === wanted) return;
      await page.keyboard.press(key);
    }
    assert.fail(`Tab does not lead to ${wanted}, but to ${await focused()}`);
  };
  assert.equal(await focused(), 'text', 'writing can begin at once');
  await tabTo('skip', 'Shift+Tab');
  await page.keyboard.press('Enter');
  assert.equal(await focused(), 'text');
  await page.keyboard.insertText(`Keep this: ${'pebble '.repeat(1500)}`);
  await page.keyboard.press('Enter');
  await feet(page).waitFor();
  await page.keyboard.type('and again');
  await page.keyboard.press('Enter');
  await eventually(() => feet(page).count(), 2, 'the second answer');
  await tabTo('compact');
  await page.keyboard.press('Enter');
  await page.locator('.card.compaction').waitFor();
  await tabTo('Session menu');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  assert.equal(await focused(), 'Rename…');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.type('By keyboard');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'By keyboard' }).waitFor();
  assert.equal(await focused(), 'Session menu', 'a question gives the focus back');
  const open = () => page.locator('#session-menu').getAttribute('open');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await eventually(() => page.getByRole('dialog').count(), 0, 'Escape ends the question');
  assert.equal(await focused(), 'Session menu');
  await page.keyboard.press('Enter');
  assert.equal(await open(), '');
  await page.keyboard.press('Escape');
  assert.equal(await open(), null, 'Escape closes the menu');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Shift+Tab');
  assert.equal(await open(), null, 'leaving closes the menu');

  // Stop, and what waits: by the keys, too.
  await tabTo('text');
  await page.keyboard.type('count to 300');
  await page.keyboard.press('Enter');
  await page.locator('article.growing').waitFor();
  await page.keyboard.type('later');
  await page.keyboard.press('Enter');
  await page.getByRole('group', { name: 'Queue' }).getByText('later', { exact: true }).waitFor();
  await tabTo('Stop and clear', 'Shift+Tab');
  await page.keyboard.press('Enter');
  await page.getByText('You stopped this answer').waitFor();
  await tabTo('text');
  await page.keyboard.type('count to 300');
  await page.keyboard.press('Enter');
  await page.locator('article.growing').waitFor();
  await tabTo('stop');
  await page.keyboard.press('Enter');
  await eventually(() => page.getByText('You stopped this answer').count(), 2, 'the second was stopped');
  await eventually(focused, 'text', 'the button is gone, and writing goes on');

  // Files, a fork, and the panels.
  await tabTo('attach');
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.keyboard.press('Enter')]);
  await chooser.setFiles({ name: 'by-key.txt', mimeType: 'text/plain', buffer: Buffer.from('x') });
  await page.locator('.chip', { hasText: 'by-key.txt' }).waitFor();
  await tabTo('Remove by-key.txt', 'Shift+Tab');
  await page.keyboard.press('Enter');
  assert.equal(await page.locator('.chip').count(), 0);
  assert.equal(await focused(), 'text', 'the file is gone, and writing goes on');
  await tabTo('Fork from here', 'Shift+Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'By keyboard (fork)' }).waitFor();
  await page.locator('#context-tokens').waitFor();
  await tabTo('Compact with an instruction');
  await page.keyboard.press('Enter');
  await tabTo('instruction');
  await tabTo('context-close', 'Shift+Tab');
  await page.keyboard.press('Enter');
  assert.ok(await page.locator('#context').isHidden());
  assert.equal(await focused(), 'context-button', 'a closed panel gives the focus back');
  await page.keyboard.press('Enter');
  assert.ok(await page.locator('#context').isVisible());
  await page.done();
});

test('375 pixels', async () => {
  const page = await openPage({ viewport: { width: 375, height: 740 }, hasTouch: true, isMobile: true });
  await page.getByText('The demo model answers').waitFor();
  assert.ok(await page.evaluate(() => document.activeElement === document.body), 'no keyboard covers the page unasked');
  await fits(page);
  await picture(page, 'phone-first-run');
  await talk(page);
  await fits(page);
  await picture(page, 'phone-conversation');
  await isOpenToAll(page, 'a phone');
  await page.getByRole('button', { name: 'Context', exact: true }).tap();
  await page.locator('.parts').waitFor();
  await page.getByRole('button', { name: 'Compact now' }).tap();
  await page.locator('#context-summary').getByText('Read it').waitFor();
  await fits(page);
  await picture(page, 'phone-context');
  await page.getByRole('button', { name: 'Close the context panel' }).tap();
  await page.getByRole('button', { name: 'Sessions', exact: true }).tap();
  await page.locator('#sessions a').first().waitFor();
  await picture(page, 'phone-sessions');
  await page.keyboard.press('Escape');
  await eventually(() => page.locator('#sidebar').isHidden(), true, 'Escape closes the panel');
  await page.done();
});

for (const colorScheme of ['light', 'dark']) {
  test(`375 pixels, ${colorScheme}: nothing is too wide, and nobody shut out`, async () => {
    const line = await cable();
    const page = await openPage({ at: line.url, allow: /ERR_|WebSocket connection/, viewport: { width: 375, height: 740 }, hasTouch: true, isMobile: true, colorScheme, reducedMotion: 'reduce' });
    const look = async (what) => {
      await fits(page);
      await isOpenToAll(page, what);
      await picture(page, `phone-${colorScheme}-${what}`);
    };
    await page.getByText('The demo model answers').waitFor();
    await page.getByText('Settings of the new session').tap();
    await page.getByLabel('System prompt').scrollIntoViewIfNeeded();
    await look('settings');
    await ask(page, `https://example.com/${'a-path-without-a-break/'.repeat(4)}`);
    await answered(page, WIDE);
    await look('wide');
    await page.getByLabel('Session menu').tap();
    await look('menu');
    await page.getByRole('button', { name: 'Delete…' }).tap();
    await look('question');
    await page.getByRole('button', { name: 'Cancel' }).tap();
    await paste(page, [{ name: `${'a long name '.repeat(6)}.txt`, type: 'text/plain', text: 'x'.repeat(5000) }, { name: 'sea.png', type: 'image/png', noise: 40 }]);
    await page.getByText('≈ 1,250 tokens').waitFor();
    await look('attachments');
    for (const name of [/^Remove a long/, 'Remove sea.png']) await page.getByRole('button', { name }).tap();
    await fill(page);
    await page.getByRole('button', { name: 'Context', exact: true }).tap();
    await page.locator('.parts').waitFor();
    await page.getByRole('button', { name: 'Compact now' }).tap();
    await page.locator('#context-summary').getByText('Read it').waitFor();
    await look('context');
    await page.getByRole('button', { name: 'Compact now' }).tap();
    await page.locator('.notice').waitFor();
    await look('notice');
    await page.locator('.notice button').tap();
    await page.getByRole('button', { name: 'Close the context panel' }).tap();
    await send(page, 'count to 300');
    await page.locator('article.growing').waitFor();
    await send(page, 'and then');
    await page.getByRole('group', { name: 'Queue' }).getByText('and then', { exact: true }).waitFor();
    await look('queue');
    line.cut();
    await page.getByRole('alert').waitFor();
    await look('offline');
    await page.goto(url);
    await page.done();
    line.remove();
  });

  test(`${colorScheme}, nobody is shut out`, async () => {
    const page = await openPage({ colorScheme, reducedMotion: 'reduce' });
    await page.getByText('The demo model answers').waitFor();
    await isOpenToAll(page, 'first run');
    await talk(page);
    await page.getByRole('button', { name: 'Compact now' }).click();
    await page.locator('.card.compaction').waitFor();
    await message(page).fill('fail with auth');
    await message(page).press('Enter');
    await page.locator('.turn-error').waitFor();
    for (const fold of await page.locator('#log details').all()) await fold.evaluate((e) => { e.open = true; });
    await isOpenToAll(page, 'a conversation');
    const background = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    assert.equal(background === 'rgb(255, 255, 255)', colorScheme === 'light', background);
    const moving = await page.evaluate(() => document.querySelector('#log').getAnimations({ subtree: true }).length);
    assert.equal(moving, 0, 'something moves');
    await picture(page, colorScheme);
    await page.getByLabel('Session menu').click();
    await isOpenToAll(page, 'the menu');
    await page.getByRole('button', { name: 'Delete…' }).click();
    await isOpenToAll(page, 'a question');
    await picture(page, `${colorScheme}-question`);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await menu(page, 'Compact now');
    await page.locator('.notice').waitFor();
    await isOpenToAll(page, 'a notice');
    await page.locator('rtc-token-usage').hover();
    await isOpenToAll(page, 'the meter');
    await page.getByRole('button', { name: 'New session' }).click();
    await page.getByText('Settings of the new session').click();
    await paste(page, [{ name: 'notes.txt', type: 'text/plain', text: 'x' }]);
    await isOpenToAll(page, 'settings and files');
    await page.done();
  });
}
