// For everybody: keyboard only, small screens, dark, less motion, screen readers.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { ask, browser, eventually, feet, fill, message, openPage, picture } from './harness.mjs';

after(() => browser.close());

const axe = await readFile(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

/** The page has nothing that shuts somebody out. */
async function isOpenToAll(page, what) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  const serious = violations.filter((v) => v.impact === 'serious' || v.impact === 'critical')
    .map((v) => `${v.id}: ${v.nodes.map((n) => `${n.target} ${n.failureSummary}`).join(' | ')}`);
  assert.deepEqual(serious, [], what);
}

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
  await page.getByText('The demo model answers').waitFor();
  const focused = () => page.evaluate(() => document.activeElement?.id || document.activeElement?.getAttribute('aria-label') || document.activeElement?.textContent);
  const tabTo = async (wanted) => {
    for (let n = 0; n < 40; n++) {
      if (await focused() === wanted) return;
      await page.keyboard.press('Tab');
    }
    assert.fail(`Tab does not lead to ${wanted}, but to ${await focused()}`);
  };
  await page.keyboard.press('Tab');
  assert.equal(await focused(), 'skip');
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
  await page.evaluate(() => { document.activeElement.blur(); });
  await page.locator('#session-menu summary').focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.type('By keyboard');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'By keyboard' }).waitFor();
  await page.locator('#session-menu summary').focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('#session-menu').getAttribute('open'), null);
  await page.done();
});

test('375 pixels', async () => {
  const page = await openPage({ viewport: { width: 375, height: 740 }, hasTouch: true, isMobile: true });
  await page.getByText('The demo model answers').waitFor();
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
    await page.done();
  });
}
