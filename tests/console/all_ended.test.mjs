// What has ended in all tubes: one line for what ended together, filters, pages, the way back, and what is said where there is nothing.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {add_groups} from '../../cmd/perenniald/console/src/ended_groups.js';
import {announced, changes, eventually, page_test, rows} from './support.mjs';

const dialog = (page) => page.getByRole('dialog');
const button = (page, name) => page.getByRole('button', {name, exact: true});
const main = (page) => page.locator('main');
const restores = (server) => server.mock.requests.filter(({method, path, body}) => method === 'POST' && path === '/operations' && body.action === 'restore').map(({body}) => body);
const lists = (server) => server.mock.requests.filter(({path}) => path === '/ended').map(({query}) => query);

/** What each row says, without the time. */
const lines = async (page) => (await rows(page, 'Table of what has ended')).map(([, what, tube, by]) => `${what} | ${tube} | ${by}`);

/** Lets jobs end: so many, in a tube that keeps them, so many seconds ago. Returns the id of the last one. */
async function end(server, tube, how, {jobs = 1, user = null, ago = 0, fields = {}} = {}) {
  await server.keep(tube, {keep_seconds: 86400});
  let last;
  let at;  // All of them at one time, however slow the machine is.
  for (let i = 0; i < jobs; ++i) {
    last = server.queue.put(tube, 'x', fields);
    server.queue.remove(last, how, user);
    at ??= server.queue.ended[0].at - ago;
    server.queue.ended[0].at = at;
  }
  return String(last.id);
}

page_test('What ended together is one line, and leads to its jobs', async (page, server) => {
  await end(server, 'mail', 'flushed', {jobs: 1000, user: 'anna', ago: 3600});
  const one = await end(server, 'cards', 'deleted', {user: 'ben', ago: 60});
  await end(server, 'cards', 'expired', {jobs: 2, ago: 5});
  await page.goto(server.url);
  await page.getByRole('navigation', {name: 'Screens'}).getByRole('link', {name: 'Ended', exact: true}).click();
  await page.getByRole('heading', {name: 'Ended', level: 1}).waitFor();
  await eventually(() => lines(page), ['2 jobs expired | cards | –', `Job ${one} deleted | cards | ben`, '1,000 jobs flushed | mail | anna']);
  assert.match((await rows(page, 'Table of what has ended'))[2][0], /^(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d 1 h ago$/);
  await main(page).getByRole('link', {name: '1,000 jobs'}).click();
  await page.waitForURL(/\/tubes\/mail\/ended\?after=1001$/);
  await eventually(() => rows(page, 'Table of jobs that have ended').then((found) => found.length), 100);
  await page.goBack();
  await main(page).getByRole('link', {name: one}).click();
  await page.getByRole('heading', {name: `Job ${one}`}).waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('e');
  await page.getByRole('heading', {name: 'Ended', level: 1}).waitFor();
}, {needs_mock: true});

page_test('A flush comes back with one click and a word', async (page, server) => {
  await end(server, 'mail', 'flushed', {jobs: 300, user: 'anna', ago: 100});
  await end(server, 'mail', 'deleted', {jobs: 3, user: 'worker', ago: 50});
  await page.goto(`${server.url}/ended`);
  await button(page, 'Put back 300 jobs of mail').click();
  const text = await dialog(page).innerText();
  assert.match(text, /^Put back 300 jobs\n/);
  assert.match(text, /What was flushed in mail since (\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d, by whomever, comes back as new jobs, as it was/);
  assert.doesNotMatch(text, /With them|Workers/);
  await dialog(page).getByRole('button', {name: 'Put back'}).click();
  await announced(page, '300 jobs put back in mail.');
  const [{since_seconds, ...asked}] = restores(server);
  assert.deepEqual(asked, {action: 'restore', tube: 'mail', how: ['flushed']});
  assert.ok(since_seconds >= 101 && since_seconds <= 105, String(since_seconds));
  assert.equal((await server.stats_tube('mail')).ready, 300);
  await eventually(() => lines(page), ['3 jobs deleted | mail | worker']);
}, {needs_mock: true});

page_test('What else comes back with it is said', async (page, server) => {
  await end(server, 'mail', 'deleted', {jobs: 4, user: 'worker', ago: 100});
  await end(server, 'mail', 'deleted', {jobs: 2, user: 'anna', ago: 50});
  await end(server, 'mail', 'flushed', {jobs: 7, user: 'anna', ago: 40});
  await end(server, 'cards', 'deleted', {jobs: 5, user: 'anna', ago: 30});
  await page.goto(`${server.url}/ended`);
  await button(page, 'Put back 4 jobs of mail').click();
  await dialog(page).getByText('With them come 2 jobs that ended so in the same time or later.').waitFor();
  await dialog(page).getByText('Workers delete jobs whose work is done: those are done again.').waitFor();
  await dialog(page).getByText('6 jobs', {exact: true}).waitFor();
  await dialog(page).getByRole('button', {name: 'Cancel'}).click();
  await button(page, 'Put back 2 jobs of mail').click();
  await dialog(page).getByText('2 jobs', {exact: true}).waitFor();
  assert.equal(await dialog(page).getByText('With them').count(), 0);
  await dialog(page).getByRole('button', {name: 'Cancel'}).click();
  // Where a page cannot have all of it, no number is promised.
  await page.goto(`${server.url}/ended?by=worker`);
  await button(page, 'Put back 4 jobs of mail').click();
  await dialog(page).getByText('There may be more of these than this page shows: all of them.').waitFor();
  assert.equal(await dialog(page).locator('.seen-count').count(), 0);
  assert.deepEqual(restores(server), []);
}, {needs_mock: true});

page_test('One job comes back at once', async (page, server) => {
  const id = await end(server, 'mail', 'deleted');
  await page.goto(`${server.url}/ended`);
  await button(page, `Put back job ${id}`).click();
  await announced(page, new RegExp(`^Job ${id} is back, as job \\d+\\.`));
  assert.deepEqual(changes(server), [`POST /ended/${id}/restore`]);
  await page.getByText('No tube that you may inspect has jobs that have ended and are kept.').waitFor();
}, {needs_mock: true});

page_test('The list is filtered by how, tube, user and time, and the address says so', async (page, server) => {
  await end(server, 'mail', 'flushed', {jobs: 2, user: 'anna', ago: 7200});
  await end(server, 'mail', 'deleted', {user: 'ben', ago: 60});
  const last = await end(server, 'cards', 'flushed', {user: 'anna', ago: 30});
  await page.goto(`${server.url}/ended`);
  await main(page).getByRole('link', {name: 'Flushed', exact: true}).click();
  await eventually(() => lines(page), [`Job ${last} flushed | cards | anna`, '2 jobs flushed | mail | anna']);
  await page.getByLabel('Tube', {exact: true}).fill('mail');
  await page.keyboard.press('Enter');
  await eventually(() => lines(page), ['2 jobs flushed | mail | anna']);
  await page.getByRole('combobox', {name: 'When', exact: true}).selectOption('3600');
  await main(page).getByText('Nothing that is kept has ended like this.').waitFor();
  assert.equal(new URL(page.url()).search, '?how=flushed&tube=mail&since_seconds=3600');
  await main(page).getByRole('link', {name: 'All', exact: true}).click();
  await eventually(async () => (await lines(page)).length, 1);
  await page.reload();
  assert.equal(await page.getByLabel('Tube', {exact: true}).inputValue(), 'mail');
  await button(page, 'Clear filter').click();
  await eventually(async () => (await lines(page)).length, 3);
  await page.getByLabel('By', {exact: true}).fill('ben\ud83d');
  await page.keyboard.press('Enter');
  await main(page).getByText('Nothing that is kept has ended like this.').waitFor();
  await page.getByLabel('By', {exact: true}).fill('ben');
  await button(page, 'Filter').click();
  await eventually(async () => (await lines(page)).length, 1);
  // "/" leads to the first field.
  await page.locator('h1').focus();
  await page.keyboard.press('/');
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('placeholder')), 'all');
}, {needs_mock: true});

page_test('A page goes on where the server has looked at enough, and says where it stops', async (page, server) => {
  await end(server, 'mail', 'flushed', {jobs: 25, user: 'anna', ago: 100});
  await end(server, 'busy', 'deleted', {jobs: 20, user: 'worker', ago: 10});
  server.mock.ended_jobs_max = 10;
  await page.goto(`${server.url}/ended`);
  await eventually(() => lines(page), ['20 jobs deleted | busy | worker', '10 jobs or more flushed | mail | anna']);
  await button(page, 'Put back 10 jobs or more of mail').click();
  await dialog(page).getByText('More of them may have ended before that. The list of the tube puts back all that it keeps.').waitFor();
  assert.equal(await dialog(page).locator('.seen-count').count(), 0);
  await dialog(page).getByRole('button', {name: 'Cancel'}).click();
  await page.getByText('30 jobs looked at; there are older ones.').waitFor();
  await button(page, 'Next page').click();
  await eventually(() => lines(page), ['15 jobs flushed | mail | anna']);
  assert.equal(await button(page, 'Next page').isDisabled(), true);
  await button(page, 'First page').click();
  await eventually(async () => (await lines(page)).length, 2);
  server.mock.ended_jobs_max = 4;
  await page.goto(`${server.url}/ended?how=flushed`);
  await page.getByText('Nothing like this among what ended last: the next page looks further back.').waitFor();
  assert.deepEqual(lists(server).slice(-3).map((query) => new URLSearchParams(query).get('how')), ['flushed', 'flushed', 'flushed']);
}, {needs_mock: true});

page_test('More lines than a page are on the next', async (page, server) => {
  for (let i = 0; i < 60; ++i) await end(server, `t${i}`, 'flushed', {ago: 1000 - i});
  await page.goto(`${server.url}/ended`);
  await eventually(async () => (await lines(page)).length, 50);
  assert.equal(await page.getByText('looked at').count(), 0);
  await button(page, 'Next page').click();
  await eventually(async () => (await lines(page)).length, 10);
  await page.getByRole('navigation', {name: 'Screens'}).getByRole('link', {name: 'Ended', exact: true}).click();
  await eventually(async () => (await lines(page)).length, 50);
  server.mock.has_all_tubes = false;
  await page.keyboard.press('r');
  await page.getByText('More than 60 tubes keep jobs that have ended.').waitFor();
}, {needs_mock: true});

page_test('Where nothing is kept, it is said how a tube keeps its jobs', async (page, server) => {
  await page.goto(`${server.url}/ended`);
  await page.getByText('No tube that you may inspect has jobs that have ended and are kept.').waitFor();
  await page.getByText('perennial set tube TUBE --keep 24h').waitFor();
  await page.goto(`${server.url}/ended?tube=mail`);
  await page.getByText('perennial set tube mail --keep 24h').waitFor();
}, {needs_mock: true});

page_test('What the user may not see is passed over, and what it may not change has no button', async (page, server) => {
  const tubes = {seen: ['inspect'], hidden: ['produce']};
  server.mock.users = new Map([['prn_some_x', {name: 'some', may: {monitor: true, admin: false}, tubes}],
    ['prn_none_x', {name: 'none', may: {monitor: true, admin: false}, tubes, inspect: false}]]);
  await end(server, 'seen', 'flushed', {jobs: 3});
  await end(server, 'hidden', 'flushed', {jobs: 4});
  const sign_in = async (token) => {
    await page.goto(`${server.url}/ended`);
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', {name: 'Sign in'}).click();
  };
  await sign_in('prn_some_x');
  await eventually(() => lines(page), ['3 jobs flushed | seen | –']);
  assert.equal(await main(page).getByRole('button', {name: /^Put back/}).count(), 0);
  await page.goto(`${server.url}/ended?tube=hidden`);
  await page.getByRole('alert').getByText('No grant of the user allows this.').waitFor();
  await button(page, 'Sign out').click();
  await sign_in('prn_none_x');
  await page.getByRole('navigation', {name: 'Screens'}).getByRole('link', {name: 'Tubes'}).waitFor();
  await eventually(() => page.getByRole('navigation', {name: 'Screens'}).getByRole('link', {name: 'Ended'}).count(), 0);
}, {needs_mock: true});

page_test('Names that attack are text', async (page, server) => {
  const name = '<img src=x onerror=alert(1)>';
  await end(server, 'mail', 'flushed', {jobs: 2, user: `${name}\u202e`});
  await page.goto(`${server.url}/ended`);
  await eventually(() => lines(page), [`2 jobs flushed | mail | ${name}⟨U+202E⟩`]);
}, {needs_mock: true});

test('What is left of a group on a later answer belongs to it', () => {
  const group = (tube, jobs, newest, oldest, ended_by = 'anna') => ({tube, ended: 'flushed', ended_by, jobs, whole: tube === 'news',
    newest: {id: String(newest), ended_at: new Date(newest * 1000).toISOString()}, oldest: {id: String(oldest), ended_at: new Date(oldest * 1000).toISOString()}});
  const groups = [group('mail', 10, 200, 150), group('cards', 1, 149, 149)];
  add_groups(groups, [group('mail', 5, 145, 120), group('cards', 2, 130, 130), group('mail', 1, 119, 119, 'ben'), group('news', 1, 5, 5)]);
  assert.deepEqual(groups.map(({tube, jobs, ended_by, newest, oldest, whole}) => [tube, jobs, ended_by, newest.id, oldest.id, whole]), [
    ['mail', 15, 'anna', '200', '120', false], ['cards', 1, 'anna', '149', '149', true], ['cards', 2, 'anna', '130', '130', false], ['mail', 1, 'ben', '119', '119', false],
    ['news', 1, 'anna', '5', '5', true]]);
});
