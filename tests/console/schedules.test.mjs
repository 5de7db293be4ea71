// Schedules: the list, one of them, what is done with them, and when one would be due while somebody types.

import assert from 'node:assert/strict';
import {visible} from '../../cmd/perenniald/console/src/format.js';
import {no_schedule} from './mock.mjs';
import {announced, api, changes, eventually, is_mock, page_test, rows} from './support.mjs';

const dialog = (page) => page.getByRole('dialog');
const button = (page, name) => page.getByRole('button', {name, exact: true});
const confirm = (page, name) => dialog(page).getByRole('button', {name, exact: true}).click();
const table = (page) => rows(page, 'Table of schedules').then((found) => found.map((cells) => cells.slice(0, -1)));
const times = (page) => page.getByRole('region', {name: 'The next ten times'}).locator('tbody tr').evaluateAll((found) =>
  found.map((row) => [...row.cells].map((cell) => cell.textContent)));
const set = (server, name, fields) => (is_mock ? server.queue.schedule(name, fields) : api(server, `/schedules/${name}`, 'PUT', fields));

page_test('Schedules are listed with their times, their state and what came of them', async (page, server) => {
  const there = server.queue.put('mail', 'x');
  server.queue.schedule('nightly', {tube: 'mail', cron: '0 3 * * mon-fri', zone: 'Europe/Berlin', fired: 12, skipped: 2, missed_times: 1, last_job: String(there.id)});
  server.queue.schedule('ping', {every_seconds: 90, refused: true, refused_because: 'tubes_max', fired: 1234567, last_job: '999'});
  server.queue.schedule('over', {at: '2026-11-01T09:00:00.000Z', state: 'over', next: null, planned: null});
  server.queue.schedule('moved', {state: 'no-zone', zone: 'Asia/Rangoon', next: null, planned: null});
  await page.goto(`${server.url}/schedules`);
  await eventually(() => table(page), [
    ['moved', 'default', '0 3 * * * Asia/Rangoon', 'no zone', '–', '–', '0', '0'],
    ['nightly', 'mail', '0 3 * * mon-fri Europe/Berlin', 'active', '2030-01-01 03:00:00Z', `${there.id} ready`, '12', '3'],
    ['over', 'default', 'at 2026-11-01 09:00:00Z', 'over', '–', '–', '0', '0'],
    ['ping', 'default', 'every 1m 30s', 'active refused', '2030-01-01 03:00:00Z', '999 gone', '1,234,567', '0'],
  ]);
  await page.getByRole('link', {name: 'nightly'}).click();
  await page.getByRole('heading', {name: 'Schedule nightly'}).waitFor();
  assert.equal(await page.title(), 'Schedule nightly · Perennial');
}, {needs_mock: true});

page_test('A schedule of a real server, or of the mock, is shown with its next times and its body', async (page, server) => {
  await set(server, 'shown', {tube: 'mail', cron: '30 2 * * *', zone: 'Europe/Berlin', body: 'two\nlines', missed: 'all', overlap: 'skip', jitter_seconds: 90});
  await page.goto(`${server.url}/schedules/shown`);
  await eventually(() => page.locator('pre.body').innerText(), 'two\nlines');
  const fact = (name) => page.locator('.facts > div', {has: page.locator('dt', {hasText: new RegExp(`^${name}$`)})}).locator('dd').innerText();
  assert.equal(await fact('Times'), '30 2 * * *');
  assert.equal(await fact('Time zone'), 'Europe/Berlin');
  assert.equal(await fact('Missed times'), 'all');
  assert.equal(await fact('Overlap'), 'skip');
  assert.equal(await fact('Jitter'), '1m 30s');
  await eventually(() => times(page).then((found) => found.length), 10);
});

page_test('Schedules come in pages, and those of a tube by themselves', async (page, server) => {
  for (let i = 0; i < 130; ++i) server.queue.schedule(`s${String(i).padStart(3, '0')}`, {tube: i === 7 ? 'mail' : 'default'});
  const names = () => table(page).then((found) => found.map(([name]) => name));
  const turn = (name) => page.getByRole('navigation', {name: 'Pages of schedules'}).getByRole('button', {name}).click();
  await page.goto(`${server.url}/schedules`);
  await eventually(() => names().then((found) => [found[0], found.length]), ['s000', 100]);
  await turn('Next page');
  await eventually(() => names().then((found) => [found[0], found.length]), ['s100', 30]);
  await turn('First page');
  await eventually(() => names().then((found) => found[0]), 's000');
  await page.goto(`${server.url}/schedules?tube=mail`);
  await eventually(names, ['s007']);
}, {needs_mock: true});

page_test('A schedule is run, paused, resumed and deleted', async (page, server) => {
  await set(server, 'nightly', {tube: 'planned', every_seconds: 86400, body: 'report', overlap: 'skip'});
  await page.goto(`${server.url}/schedules`);
  await button(page, 'Run now: nightly').click();
  await announced(page, 'Schedule nightly has put job ');
  await eventually(() => table(page).then(([row]) => row.slice(-2)), ['1', '0']);
  await button(page, 'Run now: nightly').click();
  await announced(page, 'Nothing was put: job ');
  await button(page, 'Pause nightly').click();
  await announced(page, 'Schedule nightly is paused.');
  await eventually(() => table(page).then(([row]) => row[3]), 'paused');
  await button(page, 'Resume nightly').click();
  await announced(page, 'Schedule nightly goes on.');
  await eventually(() => table(page).then(([row]) => row[3]), 'active');
  await button(page, 'Delete nightly').click();
  await page.keyboard.press('Escape');
  assert.equal((await api(server, '/schedules/nightly')).status, 200);
  await button(page, 'Delete nightly').click();
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Cancel');
  await confirm(page, 'Delete schedule');
  await announced(page, 'Schedule nightly is deleted.');
  await eventually(() => table(page), []);
  assert.equal((await api(server, '/schedules/nightly')).status, 404);
  if (is_mock) {
    const path = '/schedules/nightly';
    assert.deepEqual(changes(server), [`POST ${path}/run`, `POST ${path}/run`, `POST ${path}/pause`, `POST ${path}/pause`, `DELETE ${path}`]);
  }
});

page_test('On its own screen a schedule is run, and a deleted one leads back to the list', async (page, server) => {
  await set(server, '..', {tube: 'planned', every_seconds: 86400, body: 'report'});
  await page.goto(`${server.url}/schedules/-..`);
  await button(page, 'Run now: ..').click();
  await announced(page, 'Schedule .. has put job ');
  await button(page, 'Delete ..').click();
  await confirm(page, 'Delete schedule');
  await eventually(() => page.locator('main h1').innerText(), 'Schedules');
}, {needs_mock: true});

page_test('What is refused, and a server that is gone, are said', async (page, server) => {
  server.queue.schedule('nightly', {});
  await page.goto(`${server.url}/schedules`);
  server.mock.refuse = (method) => method === 'POST' && 'The server or the tube takes no jobs now: it is draining.';
  await button(page, 'Run now: nightly').click();
  await announced(page, 'it is draining');
  server.mock.refuse = null;
  server.queue.schedules.delete('nightly');
  await button(page, 'Pause nightly').click();
  await announced(page, no_schedule);
  await eventually(() => table(page), []);
  await page.goto(`${server.url}/schedules/nightly`);
  await page.getByRole('alert').getByText(no_schedule).waitFor();
}, {needs_mock: true});

page_test('Why its put is refused is said', async (page, server) => {
  const said = page.getByRole('alert');
  for (const [why, text] of [['draining', 'the server or the tube drains'], ['tubes_max', 'as many tubes as tubes_max allows'], ['a new reason', 'of a new reason']]) {
    server.queue.schedule('ping', {every_seconds: 90, refused: true, refused_because: why});
    await page.goto(`${server.url}/schedules/ping`);
    await said.getByText(text).waitFor();
  }
}, {needs_mock: true});

page_test('The next ten times are shown while one types, and what is wrong is said', async (page, server) => {
  await page.goto(`${server.url}/schedules`);
  const expression = page.getByRole('textbox', {name: 'Expression'});
  await expression.pressSequentially('0 3 * *', {delay: 20});
  await page.getByRole('alert').getByText('5').waitFor();
  await expression.pressSequentially(' *', {delay: 20});
  await eventually(() => times(page).then((found) => found.length), 10);
  assert.equal(await page.getByRole('alert').count(), 0);
  await page.getByLabel('Time zone').fill('Europe/Bonn');
  await page.getByRole('alert').getByText("'Europe/Bonn'").waitFor();
  await page.getByLabel('Time zone').fill('Europe/Berlin');
  await eventually(() => times(page).then((found) => found.length), 10);
  await page.getByRole('combobox', {name: 'Times'}).selectOption('each');
  await page.getByLabel('Period').fill('1h 30m');
  await eventually(() => times(page).then((found) => found.length), 10);
  if (!is_mock) return;
  const asked = server.mock.requests.filter(({path}) => path === '/schedule-times');
  assert.ok(asked.length <= 8, `${asked.length} requests for 25 keys`);
  assert.equal(asked.at(-1).query, '?every_seconds=5400&count=10');
});

page_test('What is typed becomes a schedule, and replaces none', async (page, server) => {
  await page.goto(`${server.url}/schedules`);
  await page.getByRole('textbox', {name: 'Expression'}).fill('0 3 * * *');
  await page.getByLabel('Time zone').fill('Europe/Berlin');
  const open = async (name) => {
    await page.getByRole('button', {name: 'New schedule with these times…'}).click();
    await dialog(page).getByLabel('Name').fill(name);
    await dialog(page).getByLabel('Tube').fill('reports');
    await dialog(page).getByLabel('Body').fill('report');
    await confirm(page, 'Set');
  };
  await open('typed');
  await announced(page, 'Schedule typed is set.');
  const {value} = await api(server, '/schedules/typed');
  assert.deepEqual([value.tube, value.cron, value.zone, value.body, value.overlap], ['reports', '0 3 * * *', 'Europe/Berlin', 'report', 'allow']);
  await open('typed');
  await dialog(page).getByText('There is a schedule of this name already.').waitFor();
  await page.keyboard.press('Escape');
  await open('a b');
  await dialog(page).getByRole('alert').getByText('name').waitFor();
});

page_test('Who may only look sees no actions on the screen of a schedule', async (page, server) => {
  server.mock.users = new Map([['token', {name: 'some', may: {monitor: true, admin: false}, tubes: {mine: ['inspect'], theirs: []}}]]);
  server.queue.schedule('mine', {tube: 'mine', body: 'x'});
  server.queue.schedule('theirs', {tube: 'theirs'});
  await page.goto(`${server.url}/schedules`);
  await page.getByLabel('Token').fill('token');
  await page.keyboard.press('Enter');
  await eventually(() => table(page).then((found) => found.map(([name]) => name)), ['mine']);
  assert.equal(await button(page, 'Run now: mine').count(), 0);
  await page.getByRole('link', {name: 'mine'}).first().click();
  await page.locator('pre.body').waitFor();
  assert.equal(await button(page, 'Run now: mine').count(), 0);
}, {needs_mock: true});

page_test('T7 Names, times, zones and bodies of schedules are text', async (page, server) => {
  const markup = ['<script>window.hacked = 1</script>', '"><img src=x onerror="window.hacked = 1">', '\u202egpj.exe', '__proto__'];
  for (const text of markup) server.queue.schedule(text, {tube: text, cron: text, zone: text, missed: text, overlap: text, key: text, dead: text, body: text, next: text, state: text});
  const is_text = async () => {
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.equal(await page.locator('main img, main script, main [onerror]').count(), 0);
  };
  await page.goto(`${server.url}/schedules`);
  const sorted = markup.toSorted((a, b) => (a < b ? -1 : 1)).map(visible);
  await eventually(() => table(page).then((found) => found.map((cells) => cells.slice(0, 3))), sorted.map((text) => [text, text, `${text} ${text}`]));
  await is_text();
  for (const text of markup) {
    await page.goto(`${server.url}/schedules/${encodeURIComponent(text)}`);
    await eventually(() => page.locator('pre.body').evaluate((element) => element.textContent), visible(text));
    await is_text();
  }
  server.mock.refuse = (method, path) => path === '/schedule-times' && markup[1];
  await page.goto(`${server.url}/schedules`);
  await page.getByRole('textbox', {name: 'Expression'}).fill(markup[0]);
  await page.getByRole('alert').getByText(markup[1]).waitFor();
  await is_text();
}, {needs_mock: true});
