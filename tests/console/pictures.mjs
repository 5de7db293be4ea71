// Takes the pictures of etc/docs/images: the main screens in both themes, of the mock with its queue to look at.
//
//   CONSOLE_ASSETS=build/cmd/perenniald/console/dist tests/console/run.sh /tmp/console-tests pictures.mjs

import assert from 'node:assert/strict';
import {mkdirSync, statSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {fill} from './mock.mjs';
import {page_test} from './support.mjs';

const images = join(dirname(fileURLToPath(import.meta.url)), '../../etc/docs/images');
const image_bytes_max = 88 * 1024;
const themes = ['light', 'dark'];
/** What is seen, its path, and what is waited for. @type {[string, string, (page: any) => any][]} */
const screens = [
  ['overview', '/', (page) => page.locator('.uplot').nth(1)],
  ['tubes', '/tubes', (page) => page.locator('tr[data-row]').first()],
  ['jobs', '/tubes/mail/buried', (page) => page.locator('tr[data-row]').first()],
  ['job', '/jobs/209', (page) => page.locator('pre.body').last()],
  ['ended', '/ended', (page) => page.locator('tr[data-row]').first()],
  ['search', '/search?q=user7%40example.com&path=%24.to', (page) => page.locator('.found p', {hasText: 'Search ended'})],
];

/** What ended in the last hours, the oldest first: the tube, how, by whom, how many, and so many minutes ago. @type {[string, string, string|null, number, number][]} */
const ends = [
  ['mail', 'flushed', 'anna', 1840, 214], ['reports.daily', 'expired', null, 12, 130], ['images', 'deleted', 'worker', 326, 45], ['billing/invoices', 'deleted', 'ben', 1, 22],
  ['webhooks', 'deleted', 'worker', 5210, 9], ['mail', 'flushed', 'anna', 1000, 4],
];

function let_end(queue) {
  for (const [tube, how, user, jobs, minutes] of ends) {
    queue.tube(tube).settings.keep_seconds = 86400;
    for (let i = 0; i < jobs; ++i) {
      queue.remove(queue.put(tube, 'x'), how, user);
      queue.ended[0].at -= minutes * 60;
    }
  }
}

mkdirSync(images, {recursive: true});
for (const colorScheme of themes) {
  page_test(`Pictures, ${colorScheme}`, async (page, server) => {
    fill(server.queue);
    for (const [name, path, shown] of screens) {
      if (name === 'ended') let_end(server.queue);
      await page.goto(server.url + path);
      await shown(page).waitFor();
      // What has come since the page was opened is drawn, and nothing moves any more.
      await page.waitForTimeout(1500);
      await page.mouse.move(0, 0);
      const file = join(images, `${name}-${colorScheme}.png`);
      await page.screenshot({path: file, animations: 'disabled', caret: 'hide'});
      assert.ok(statSync(file).size <= image_bytes_max, `${file}: ${statSync(file).size} bytes`);
    }
  }, {needs_mock: true, colorScheme, viewport: {width: 1120, height: 720}, deviceScaleFactor: 0.7});
}
