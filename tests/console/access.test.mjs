// For everybody: by the keyboard alone, in both themes, on a narrow page, and with nothing for axe to find.

import assert from 'node:assert/strict';
import {join} from 'node:path';
import {fill} from './mock.mjs';
import {announced, axe_source, changes, eventually, is_mock, output, page_test} from './support.mjs';

/** Every screen, and what shows that it is there. */
const screens = [
  ['overview', '/', '.plot canvas'],
  ['tubes', '/tubes', 'tr[data-row] a'],
  ['tube', '/tubes/mail', 'tr[data-row] a'],
  ['buried', '/tubes/mail/buried', 'tr[data-row] a'],
  ['failed', '/jobs?view=failed', 'li[data-row] a'],
  ['tube-failed', '/tubes/mail/failed', 'li[data-row] a'],
  ['of-note', '/tubes/mail/buried?note=550%205.1.1%20mailbox%20unavailable', 'tr[data-row] a'],
  ['jobs', '/jobs', 'tr[data-row] a'],
  ['filtered', '/tubes/mail?priority_min=5&reserves_max=9', 'tr[data-row] a'],
  ['search', '/search?q=order&state=buried,ready', 'tr[data-row] a'],
  ['no-search', '/search', 'form.search'],
  ['job', '/jobs/60', 'pre.body'],
  ['ended', '/tubes/kept/ended', 'tr[data-row] a'],
  ['ended-job', '/ended/9001', 'pre.body'],
  ['all-ended', '/ended', 'tr[data-row] a'],
  ['none-ended', '/ended?tube=none', '.banner'],
  ['gone-job', '/jobs/9001', '.banner a'],
  ['connections', '/connections', '[aria-labelledby=leases] tr[data-row]'],
  ['leases', '/tubes/images', '[aria-labelledby=leases] tr[data-row]'],
  ['leased-job', '/jobs/9100', '.facts.list .name'],
  ['schedules', '/schedules', 'tr[data-row] a'],
  ['schedule', '/schedules/nightly', 'pre.body'],
  ['server', '/server', 'pre.body'],
  ['no-tube', '/tubes/none', '.banner'],
  ['no-screen', '/nothing', 'h1'],
];

/**
 * What axe finds, in a line each. A second theme can only change colours.
 * @param {string[]} [within] Selectors.
 */
async function axe(page, colorScheme, within = ['html']) {
  if (!await page.evaluate(() => 'axe' in window)) await page.evaluate(axe_source());
  const only = colorScheme === 'dark' ? {runOnly: ['color-contrast', 'link-in-text-block']} : {};
  const {violations} = await page.evaluate(([where, more]) => window.axe.run({include: where.map((each) => [each])}, {resultTypes: ['violations'], ...more}), [within, only]);
  return violations.map(({id, nodes}) => `${id}: ${nodes.map(({target, failureSummary}) => `${target} ${failureSummary}`).join('; ')}`);
}

const standby = {state: 'standby', cluster: {name: 'orders', node: 'b', leader: {node: 'a', client_address: 'a.queue.example:11300', url: 'https://a.queue.example:11380/'},
  forwards: true, log: {epoch: 4, read: 5200, applied: 5190, flushed: 5166, forwarded_connections: 3}}};

/** Another screen without loading the page anew. */
const show = (page, path) => page.evaluate((to) => {
  history.pushState(null, '', to);
  dispatchEvent(new PopStateEvent('popstate'));
}, path);

/** A queue with something of everything. */
function look(server, buried = 8) {
  fill(server.queue, {tubes: 6, buried, ready: 3});
  server.queue.draining = true;
  server.queue.store_state = 'low-space';
  look_ended(server.queue);
  server.queue.lease(server.queue.put('mail', 'x', {id: 9100}), {user: 'a-worker-with-a-rather-long-name.'.repeat(3), address: '[2001:db8:1234:5678:9abc:def0:1234:5678]:51820'});
}

/** What has ended, in a tube of its own. */
function look_ended(queue) {
  Object.assign(queue.tube('kept').settings, {keep_seconds: 86400, keep_max: 10000});
  for (let id = 9000; id < 9006; ++id) {
    const job = queue.put('kept', '{"to":"user@example.com"}', {id, reserves: 3, attempts: 2, tries: 3, priority: 10 * (id - 9000), age_seconds: 4000});
    if (id % 2) queue.note(job, 'exit 3: no such url', 'mailer');
    queue.remove(job, ['deleted', 'flushed', 'expired'][id % 3], id % 3 === 2 ? null : 'anna');
  }
  for (let i = 0; i < 3; ++i) queue.put('kept', 'x', {state: 'buried'});
}

for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
  page_test(`axe finds nothing on any screen, ${colorScheme}`, async (page, server, t) => {
    look(server);
    await page.goto(server.url);
    for (const [name, path, there] of screens) {
      await t.test(name, async () => {
        await show(page, path);
        await page.locator(there).first().waitFor();
        await page.screenshot({path: join(output, `${name}-${colorScheme}.png`)});
        assert.deepEqual(await axe(page, colorScheme), []);
      });
    }
  }, {needs_mock: true, colorScheme});

  page_test(`axe finds nothing in dialogs, in selections and at the sign-in, ${colorScheme}`, async (page, server) => {
    look(server, 130);
    server.queue.jobs_per_step = 1;
    await page.goto(`${server.url}/tubes/mail/buried`);
    const check = async (name, ...within) => {
      await page.screenshot({path: join(output, `${name}-${colorScheme}.png`)});
      assert.deepEqual(await axe(page, colorScheme, within.length ? within : undefined), [], name);
    };
    await page.getByLabel('Show bodies').check();
    await page.getByRole('checkbox', {name: 'Select all jobs of this page'}).click();
    await page.getByText('100 selected').waitFor();
    await check('selection', '.jobs .toolbar', '.jobs .banner', '.jobs thead', '.jobs tr.selected:nth-child(-n+2)');
    await page.getByRole('group', {name: 'All jobs that match'}).getByRole('button', {name: 'Delete all…'}).click();
    await page.getByRole('dialog').getByRole('textbox').fill('mai');
    await check('confirm', 'dialog');
    server.mock.refuse = (method) => method === 'POST' && 'The user anna may not do this here.';
    await page.getByRole('dialog').getByRole('textbox').fill('mail');
    await page.getByRole('button', {name: 'Delete 130 jobs'}).click();
    await page.getByRole('dialog').getByText('may not do this').waitFor();
    await check('refused', 'dialog');
    server.mock.refuse = null;
    await page.getByRole('button', {name: 'Delete 130 jobs'}).click();
    await page.getByRole('region', {name: 'Operations'}).waitFor();
    await check('operation', '.operations');
    await page.getByRole('button', {name: 'Put a job…'}).click();
    await check('put', 'dialog');
    await page.keyboard.press('Escape');
    await page.getByRole('button', {name: 'Settings…'}).click();
    await check('settings', 'dialog');
    await page.keyboard.press('Escape');
    await page.getByRole('button', {name: 'Keys'}).click();
    await check('keys', 'dialog');
    await page.keyboard.press('Escape');
    server.queue.jobs_per_step = 1000;
    await page.goto(`${server.url}/tubes/kept/ended`);
    await page.getByRole('button', {name: 'Put back…'}).click();
    await page.getByRole('dialog').getByText('Filter by age, priority and reserves').click();
    await check('put-back', 'dialog');
    await page.keyboard.press('Escape');
    await page.getByRole('link', {name: /^\s*Buried/}).click();
    await page.getByRole('button', {name: 'Delete all…'}).click();
    await page.getByRole('dialog').getByText('can be put back').waitFor();
    await check('way-back', 'dialog');
    await page.getByRole('button', {name: 'Delete 3 jobs'}).click();
    await page.locator('.way-back a').waitFor();
    await check('flushed', '.announcer', '.way-back');
    server.mock.node = standby;
    await page.reload();
    await page.getByRole('heading', {name: 'Standby'}).waitFor();
    await page.getByRole('heading', {name: 'Log'}).waitFor();
    await check('standby');
    server.mock.users = new Map();
    await page.reload();
    await page.getByLabel('Token').waitFor();
    await check('sign-in');
  }, {needs_mock: true, colorScheme});
}

page_test('At 360 pixels, and at 200 % zoom, no page scrolls sideways', async (page, server, t) => {
  look(server);
  server.queue.put('a-name-without-any-place-to-break-'.repeat(5), 'x'.repeat(5000), {id: 5000});
  await page.goto(server.url);
  for (const [name, path, there] of [...screens, ['long-tube', `/tubes/${'a-name-without-any-place-to-break-'.repeat(5)}`, 'h1'], ['long-job', '/jobs/5000', 'pre.body']]) {
    await t.test(name, async () => {
      await show(page, path);
      await page.locator(there).first().waitFor();
      await page.screenshot({path: join(output, `${name}-narrow.png`)});
      assert.deepEqual(await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]), [360, 360]);
    });
  }
  server.mock.node = standby;
  await page.reload();
  await page.getByRole('heading', {name: 'Log'}).waitFor();
  await page.screenshot({path: join(output, 'standby-narrow.png')});
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
}, {needs_mock: true, viewport: {width: 360, height: 740}, deviceScaleFactor: 2});

page_test('A theme that is chosen is kept', async (page, server) => {
  await page.goto(server.url);
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.getByLabel('Theme').waitFor();
  const light = await background();
  await page.getByLabel('Theme').selectOption('dark');
  const dark = await background();
  assert.notEqual(dark, light);
  await page.reload();
  await page.getByLabel('Theme').waitFor();
  assert.equal(await background(), dark);
  await page.getByLabel('Theme').selectOption('light');
  assert.equal(await background(), light);
}, {colorScheme: 'light'});

const focused = (page) => page.evaluate(() => document.activeElement?.textContent.trim());

page_test('The keyboard reaches everything', async (page, server) => {
  const first = await server.put('keyboard', 'one', {state: 'buried'});
  const second = await server.put('keyboard', 'two', {state: 'buried'});
  await page.goto(server.url);
  await page.getByRole('heading', {name: 'Overview'}).waitFor();
  for (const [key, title] of [['t', 'Tubes'], ['b', 'Jobs'], ['f', 'Search'], ['c', 'Connections'], ['s', 'Server'], ['o', 'Overview'], ['t', 'Tubes']]) {
    await page.keyboard.press('g');
    await page.keyboard.press(key);
    await page.getByRole('heading', {name: title, exact: true, level: 1}).waitFor();
    await eventually(() => focused(page), title);
  }
  await page.keyboard.press('/');
  await page.keyboard.type('keyboard');
  await eventually(() => page.locator('tr[data-row]').count(), 1);
  await page.keyboard.press('Escape');
  await page.keyboard.press('j');
  assert.equal(await focused(page), 'keyboard');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', {name: 'Tube keyboard'}).waitFor();
  await page.locator('tr[data-row]').nth(1).waitFor();

  await page.keyboard.press('j');
  assert.equal(await focused(page), first);
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  assert.equal(await focused(page), second);
  await page.keyboard.press('k');
  await page.keyboard.press('x');
  await page.getByText('1 selected').waitFor();
  await page.keyboard.press('x');
  await page.getByText('1 selected').waitFor({state: 'detached'});
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', {name: `Job ${second}`}).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('heading', {name: 'Jobs'}).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('heading', {name: 'Overview'}).waitFor();

  await page.keyboard.press('?');
  await page.getByRole('dialog').getByText('Go to a job by its id').waitFor();
  await page.keyboard.press('t');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({state: 'detached'});
  await page.keyboard.press('r');
  await announced(page, 'Refreshed.');
});

page_test('No single key changes anything', async (page, server) => {
  for (let i = 0; i < 3; ++i) await server.put('safe', 'x', {state: 'buried'});
  for (const path of ['/tubes/safe/buried', '/jobs/1', '/search?q=x']) {
    await page.goto(server.url + path);
    await page.locator('h1').waitFor();
    for (const key of '`1234567890-=qwertyuiop[]\\asdfghjkl;\'zxcvbnm,./?!@#$%^&*()_+ABCDEFGHIJKLMNOPQRSTUVWXYZ') {
      await page.keyboard.press(key);
      if (key === '?') await page.keyboard.press('Escape');
    }
    for (const key of ['Delete', 'Backspace', 'Insert', 'F2']) await page.keyboard.press(key);
    assert.equal(await page.getByRole('dialog').count(), 0);
  }
  assert.deepEqual(changes(server), []);
}, {needs_mock: true});

page_test('A delete by the keyboard alone', async (page, server) => {
  const id = await server.put('by-key', 'x', {state: 'buried'});
  await page.goto(`${server.url}/jobs/${id}`);
  await page.getByRole('button', {name: 'Delete…'}).focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');  // It is on Cancel.
  await page.getByRole('dialog').waitFor({state: 'detached'});
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  assert.equal(await focused(page), 'Delete');
  await page.keyboard.press('Enter');
  await announced(page, '1 job deleted.');
  await page.locator('.badge', {hasText: 'gone'}).waitFor();
  if (is_mock) assert.deepEqual(changes(server), ['POST /jobs/batch']);
});

page_test('The live region is one, and polite', async (page, server) => {
  await page.goto(server.url);
  await page.getByRole('heading', {name: 'Overview'}).waitFor();
  assert.deepEqual(await page.locator('[aria-live], [role=status]').evaluateAll((found) => found.map((each) => each.ariaLive)), ['polite']);
});
