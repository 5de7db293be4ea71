// Each action: confirmed, cancelled, refused, with a count that has changed, and with a server that is gone.

import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {lease_has_ended, no_lease} from './mock.mjs';
import {announced, api, changes, eventually, is_mock, page_test, rows} from './support.mjs';

const dialog = (page) => page.getByRole('dialog');
const button = (page, name) => page.getByRole('button', {name, exact: true});
const confirm = (page, name) => dialog(page).getByRole('button', {name, exact: true}).click();
const state_of = async (server, id) => (await api(server, `/jobs/${id}`)).value.state ?? 'gone';

async function put_many(server, tube, jobs, state) {
  const ids = [];
  for (let i = 0; i < jobs; ++i) ids.push(await server.put(tube, `body ${i}`, {state}));
  return ids;
}

// ---------------------------------------------------------------------------------------------- all that match

page_test('T31 Delete all asks for the name above 100 jobs, and starts on Cancel', async (page, server) => {
  await put_many(server, 'crowd', 150, 'buried');
  await page.goto(`${server.url}/tubes/crowd/buried`);
  await button(page, 'Delete all…').click();
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Cancel');
  assert.match(await dialog(page).innerText(), /150 jobs in crowd/);
  const send = dialog(page).getByRole('button', {name: 'Delete 150 jobs'});
  assert.equal(await send.isDisabled(), true);
  await dialog(page).getByRole('textbox').fill('crow');
  assert.equal(await send.isDisabled(), true);
  await page.keyboard.press('Enter');
  await page.keyboard.press('Escape');
  await dialog(page).waitFor({state: 'detached'});
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Delete all…');
  assert.equal((await server.stats_tube('crowd')).buried, 150);

  await button(page, 'Delete all…').click();
  await dialog(page).getByRole('textbox').fill('crowd');
  await send.click();
  await announced(page, '150 jobs deleted in crowd.');
  await eventually(() => server.stats_tube('crowd').then(({buried}) => buried || 0), 0);
  if (is_mock) assert.deepEqual(server.mock.requests.filter(({path, method}) => path === '/operations' && method === 'POST').map(({body}) => body),
    [{action: 'delete', tube: 'crowd', states: ['buried'], confirmed: 150}]);
});

page_test('T31 With a filter all that fit are taken, and their number is asked for first', async (page, server) => {
  for (let i = 0; i < 130; ++i) await server.put('some', 'x', {priority: i});
  await page.goto(`${server.url}/tubes/some/ready?priority_min=10&priority_max=119`);
  await page.getByText('All that fit').waitFor();
  await button(page, 'Move all…').click();
  assert.match(await dialog(page).innerText(), /Move all ready jobs that fit the filter/);
  assert.match(await dialog(page).innerText(), /110 jobs in some/);
  await dialog(page).getByLabel('To tube').fill('others');
  await dialog(page).getByRole('textbox').last().fill('some');
  await confirm(page, 'Move 110 jobs');
  await announced(page, '110 jobs moved in some.');
  assert.equal((await server.stats_tube('some')).ready, 20);
  assert.equal((await server.stats_tube('others')).ready, 110);
  if (is_mock) assert.deepEqual(server.mock.requests.filter(({path, method}) => path === '/operations' && method === 'POST').map(({body}) => body),
    [{action: 'move', tube: 'some', states: ['ready'], match: {priority_min: 10, priority_max: 119}, confirmed: 110, to: 'others'}]);

  // More than a page of them, all selected: the banner offers the rest.
  await page.goto(`${server.url}/tubes/others/ready?priority_min=11`);
  await eventually(() => page.locator('tr[data-row]').count(), 100);
  await page.getByLabel('Select all jobs of this page').check();
  await page.getByText('All 100 jobs of this page are selected. To act on all jobs that fit the filter:').waitFor();
  await button(page, 'Delete all…').click();
  assert.match(await dialog(page).innerText(), /109 jobs in others/);
  await page.keyboard.press('Escape');
});

page_test('T31 A count that has changed is shown, and asked for anew', async (page, server) => {
  await put_many(server, 'grows', 20, 'buried');
  await page.goto(`${server.url}/tubes/grows/buried`);
  // The page stands still, as for a person who looks away.
  await page.getByRole('link', {name: /Buried\s*20/}).waitFor();
  await button(page, 'Delete all…').click();
  await put_many(server, 'grows', 200, 'buried');
  await confirm(page, 'Delete 20 jobs');
  await dialog(page).getByText('The number of jobs has changed: there are now 220. Nothing was done.').waitFor();
  assert.match(await dialog(page).innerText(), /220 jobs in grows/);
  assert.equal((await server.stats_tube('grows')).buried, 220);
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Cancel');
  // It is more than a hundred now.
  await dialog(page).getByRole('textbox').fill('grows');
  await dialog(page).locator('button[type=submit]').click();
  await announced(page, '220 jobs deleted in grows.');
});

page_test('T31 A double click sends one request', async (page, server) => {
  await put_many(server, 'twice', 3, 'buried');
  server.mock.before_answer = (method) => (method === 'POST' ? new Promise((resolve) => setTimeout(resolve, 300)) : undefined);
  await page.goto(`${server.url}/tubes/twice/buried`);
  await button(page, 'Delete all…').click();
  await dialog(page).getByRole('button', {name: 'Delete 3 jobs'}).dblclick();
  await announced(page, '3 jobs deleted');
  assert.deepEqual(changes(server), ['POST /operations']);
}, {needs_mock: true});

page_test('An operation shows how far it is, and stops when it is cancelled', async (page, server) => {
  await put_many(server, 'long', 400, 'buried');
  Object.assign(server.queue, {jobs_per_step: 5, step_ms: 50});
  await page.goto(`${server.url}/tubes/long/buried`);
  await button(page, 'Move all…').click();
  await dialog(page).getByLabel('To tube').fill('elsewhere');
  await dialog(page).getByLabel('Type the name').fill('long');
  await confirm(page, 'Move 400 jobs');
  const strip = page.getByRole('region', {name: 'Operations'});
  await strip.getByText(/Moving buried jobs of long to elsewhere: [1-9]\d* of 400/).waitFor();
  await strip.getByRole('button', {name: 'Cancel operation'}).click();
  await announced(page, /Cancelled: \d+ jobs of long are moved, and stay so\./);
  await strip.waitFor({state: 'detached'});
  const {long, elsewhere} = {long: await server.stats_tube('long'), elsewhere: await server.stats_tube('elsewhere')};
  assert.equal(long.buried + elsewhere.ready, 400);
  assert.ok(elsewhere.ready > 0 && elsewhere.ready < 400);
}, {needs_mock: true});

page_test('Kick all makes delayed jobs ready', async (page, server) => {
  await put_many(server, 'sleepers', 12, 'delayed');
  await page.goto(`${server.url}/tubes/sleepers/delayed`);
  await button(page, 'Kick all…').click();
  await confirm(page, 'Kick 12 jobs');
  await announced(page, '12 jobs kicked in sleepers.');
  await eventually(() => server.stats_tube('sleepers').then(({ready}) => ready), 12);
});

page_test('Move all makes the jobs ready', async (page, server) => {
  const ids = await put_many(server, 'moved-from', 4, 'buried');
  await page.goto(`${server.url}/tubes/moved-from/buried`);
  await button(page, 'Move all…').click();
  await dialog(page).getByLabel('To tube').fill('moved-to');
  await confirm(page, 'Move 4 jobs');
  await announced(page, '4 jobs moved in moved-from.');
  const {value} = await api(server, `/jobs/${ids[0]}`);
  assert.deepEqual([value.tube, value.state], ['moved-to', 'ready']);
});

page_test('Reserved jobs cannot be acted on together, and no state but two can be kicked', async (page, server) => {
  await put_many(server, 'held', 2, 'reserved');
  await put_many(server, 'held', 2, 'ready');
  await page.goto(`${server.url}/tubes/held/reserved`);
  await page.getByText('Reserved jobs are held by workers.').waitFor();
  assert.equal(await button(page, 'Delete all…').count(), 0);
  await page.getByRole('link', {name: /Ready/}).click();
  await button(page, 'Delete all…').waitFor();
  assert.equal(await button(page, 'Kick all…').count(), 0);
});

// ---------------------------------------------------------------------------------------------- selected jobs

const box = (page, id) => page.getByRole('checkbox', {name: `Select job ${id}`, exact: true});

page_test('A range is selected with Shift, and all of a page by one box', async (page, server) => {
  const ids = await put_many(server, 'select', 120, 'ready');
  await page.goto(`${server.url}/tubes/select/ready`);
  await box(page, ids[2]).click();
  await box(page, ids[6]).click({modifiers: ['Shift']});
  await page.getByText('5 selected').waitFor();
  await box(page, ids[4]).click();
  await page.getByText('4 selected').waitFor();
  await page.getByRole('checkbox', {name: 'Select all jobs of this page'}).click();
  await page.getByText('100 selected').waitFor();
  await page.getByText('all 120 ready jobs').waitFor();
  await button(page, 'Clear selection').click();
  await page.getByText('100 selected').waitFor({state: 'detached'});
});

page_test('Selected jobs are kicked, buried, changed and moved', async (page, server) => {
  const ids = await put_many(server, 'some', 4, 'buried');
  await page.goto(`${server.url}/tubes/some`);
  const select = async (...chosen) => {
    for (const id of chosen) await box(page, id).click();
  };
  await select(ids[0], ids[1], ids[3]);
  await button(page, 'Kick').click();
  await announced(page, '3 jobs kicked.');
  assert.equal(await state_of(server, ids[1]), 'ready');

  await button(page, 'Clear selection').click();
  await select(ids[1]);
  await button(page, 'Bury').click();
  await announced(page, '1 job buried.');
  assert.equal(await state_of(server, ids[1]), 'buried');

  await button(page, 'Clear selection').click();
  await select(ids[0], ids[3]);
  await button(page, 'Change…').click();
  await dialog(page).getByLabel('Priority').fill('3');
  await dialog(page).getByLabel('Delay in seconds').fill('500');
  await confirm(page, 'Change');
  await announced(page, '2 jobs changed.');
  const {value} = await api(server, `/jobs/${ids[3]}`);
  assert.deepEqual([value.state, value.priority, value.delay_seconds], ['delayed', 3, 500]);

  await button(page, 'Move…').click();
  await dialog(page).getByLabel('To tube').fill('others');
  await confirm(page, 'Move');
  await announced(page, '2 jobs moved.');
  assert.equal((await api(server, `/jobs/${ids[0]}`)).value.tube, 'others');
});

page_test('A change of nothing is refused here', async (page, server) => {
  const [id] = await put_many(server, 'nothing', 1, 'ready');
  await page.goto(`${server.url}/jobs/${id}`);
  await button(page, 'Change…').click();
  await confirm(page, 'Change');
  await dialog(page).getByText('Nothing is to be changed: fill in at least one field.').waitFor();
});

page_test('Deletes say how many had moved on', async (page, server) => {
  const ids = await put_many(server, 'race', 5, 'ready');
  await page.goto(`${server.url}/tubes/race/ready`);
  await page.getByRole('checkbox', {name: 'Select all jobs of this page'}).click();
  server.queue.remove(server.queue.jobs.get(Number(ids[1])));
  server.queue.place(server.queue.jobs.get(Number(ids[3])), {state: 'reserved'});
  await button(page, 'Delete…').click();
  await confirm(page, 'Delete');
  await announced(page, '3 jobs deleted. 2 jobs had moved on, or are held by a worker.');
  await eventually(() => rows(page, 'Table of jobs').then((found) => found.length), 0);
}, {needs_mock: true});

page_test('A copy has the same bytes, whatever they are', async (page, server) => {
  const bytes = Buffer.from([0, 255, 13, 10, 0xc3, 0x28, 34]);
  const id = await server.put('copied', bytes, {priority: 9});
  await page.goto(`${server.url}/jobs/${id}`);
  await button(page, 'Copy…').click();
  await dialog(page).getByLabel('To tube').fill('copies');
  await confirm(page, 'Copy');
  await announced(page, '1 job copied.');
  const {value} = await api(server, '/tubes/copies/jobs');
  assert.equal(value.jobs[0].priority, 9);
  const body = await fetch(`${server.url}/api/v1/jobs/${value.jobs[0].id}/body`);
  assert.deepEqual(Buffer.from(await body.arrayBuffer()), bytes);
});

page_test('A download holds the bodies', async (page, server) => {
  const first = await server.put('files', Buffer.concat([Buffer.alloc(65500, 'a'), Buffer.from([0, 255])]));
  const second = await server.put('files', '{"b":2}');
  await page.goto(`${server.url}/jobs/${first}`);
  const [one] = await Promise.all([page.waitForEvent('download'), button(page, 'Download').click()]);
  assert.equal(one.suggestedFilename(), `job-${first}`);
  assert.equal(readFileSync(await one.path()).length, 65502);
  await page.goto(`${server.url}/tubes/files`);
  await page.getByRole('checkbox', {name: 'Select all jobs of this page'}).click();
  const [two] = await Promise.all([page.waitForEvent('download'), button(page, 'Download').click()]);
  const lines = readFileSync(await two.path(), 'utf8').trim().split('\n').map((line) => JSON.parse(line));
  assert.deepEqual(lines.map(({id}) => id), [first, second]);
  assert.equal(Buffer.from(lines[1].body_base64, 'base64').toString(), '{"b":2}');
});

// ---------------------------------------------------------------------------------------------- the tube

page_test('A job is put, and a key puts only one', async (page, server) => {
  await server.put('desk', 'x');
  await page.goto(`${server.url}/tubes/desk`);
  for (const sentence of [/^Job \d+ is put\.$/, /^Nothing was put: job \d+ has this key\.$/]) {
    await button(page, 'Put a job…').click();
    await dialog(page).getByLabel('Body').fill('line 1\nZoë ✓');
    await dialog(page).getByLabel('Priority').fill('5');
    await dialog(page).getByLabel('Delay in seconds').fill('30');
    await dialog(page).getByLabel('Key').fill('only-one');
    await confirm(page, 'Put');
    await announced(page, sentence);
  }
  const {value: {jobs}} = await api(server, '/tubes/desk/jobs?state=delayed');
  assert.equal(jobs.length, 1);
  assert.deepEqual([jobs[0].priority, jobs[0].delay_seconds, jobs[0].key], [5, 30, 'only-one']);
  assert.equal(await (await fetch(`${server.url}/api/v1/jobs/${jobs[0].id}/body`)).text(), 'line 1\nZoë ✓');
});

page_test('A tube is paused and resumed, alone and with others', async (page, server) => {
  for (const name of ['rest-1', 'rest-2']) await server.put(name, 'x');
  await page.goto(`${server.url}/tubes/rest-1`);
  await button(page, 'Pause…').click();
  await dialog(page).getByLabel('For how many seconds').fill('600');
  await confirm(page, 'Pause');
  await announced(page, 'The tube is paused.');
  await page.locator('.badge', {hasText: /^paused, (9|10) min/}).waitFor();
  await button(page, 'Resume').click();
  await announced(page, 'The tube is no longer paused.');
  await eventually(() => api(server, '/tubes/rest-1').then(({value}) => value.pause_left_seconds), 0);

  await page.goto(`${server.url}/tubes?match=rest-*`);
  for (const name of ['rest-1', 'rest-2']) await page.getByRole('checkbox', {name: `Select tube ${name}`}).click();
  await button(page, 'Pause…').click();
  await confirm(page, 'Pause');
  await announced(page, '2 tubes are paused.');
  for (const name of ['rest-1', 'rest-2']) assert.ok((await api(server, `/tubes/${name}`)).value.pause_left_seconds > 200);
  await button(page, 'Resume').click();
  await announced(page, '2 tubes are no longer paused.');
});

page_test('So many jobs are kicked', async (page, server) => {
  await put_many(server, 'kicked', 7, 'buried');
  await page.goto(`${server.url}/tubes/kicked`);
  await button(page, 'Kick…').click();
  await dialog(page).getByLabel('How many').fill('3');
  await confirm(page, 'Kick');
  await announced(page, '3 jobs kicked.');
  assert.deepEqual(await server.stats_tube('kicked').then(({ready, buried}) => [ready, buried]), [3, 4]);
});

// ---------------------------------------------------------------------------------------------- the server

page_test('A connection is closed', async (page, server) => {
  server.queue.connections.set('7', {id: '7', address: '10.0.0.7:1', user: null, used: 'default', watched: ['a'], watched_count: 1, held: 3, waiting: false, output_bytes: 0});
  await page.goto(`${server.url}/connections`);
  await button(page, 'Close connection 7').click();
  assert.match(await dialog(page).innerText(), /3 jobs/);
  await confirm(page, 'Close connection');
  await announced(page, 'Connection 7 is closed.');
  await page.getByText('No connections.').waitFor();
}, {needs_mock: true});

page_test('A job is taken back from its worker: it is ready again, or dead', async (page, server) => {
  const {queue} = server;
  const [again, last, to_dead] = [{tries: 3}, {tries: 1}, {tries: 1, dead: 'mail-dead'}].map((fields) => queue.lease(queue.put('mail', 'x', {ttr_seconds: 600, ...fields}), {user: 'anna'}).job);
  await page.goto(`${server.url}/tubes/mail`);
  await button(page, `Take back job ${again.id}`).click();
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Cancel');
  assert.match(await dialog(page).innerText(), /the attempt counts: it is ready at once, or delayed if it has a back-off, and dead if this was the last try\. If its worker lives, the next call of the worker is refused\./);
  await confirm(page, 'Take back');
  await announced(page, `Job ${again.id} is ready again.`);
  assert.deepEqual([again.state, again.attempts], ['ready', 1]);
  // The focus is in the row that comes in the place of the one that is gone.
  await eventually(() => page.evaluate(() => document.activeElement.closest('[data-row]')?.textContent.includes('anna')), true);
  await page.goto(`${server.url}/connections`);
  await button(page, `Take back job ${last.id}`).click();
  await confirm(page, 'Take back');
  await announced(page, `Job ${last.id} is dead: it has had all its tries.`);
  assert.equal(last.state, 'buried');
  await page.goto(`${server.url}/jobs/${to_dead.id}`);
  await button(page, 'Take back…').click();
  await confirm(page, 'Take back');
  await announced(page, `Job ${to_dead.id} is dead: it has had all its tries.`);
  await page.locator('.badge', {hasText: 'ready'}).waitFor();
  await page.getByText('Died in').waitFor();
  assert.equal(await button(page, 'Take back…').count(), 0);
  assert.deepEqual(changes(server), ['DELETE /leases/1', 'DELETE /leases/2', 'DELETE /leases/3']);
}, {needs_mock: true});

page_test('A lease that has ended meanwhile is said to have, in the words of the server', async (page, server) => {
  const {queue} = server;
  const leases = [0, 1, 2].map(() => queue.lease(queue.put('mail', 'x', {ttr_seconds: 600})));
  await page.goto(`${server.url}/tubes/mail`);
  const refused = async ({job}, words) => {
    await confirm(page, 'Take back');
    await dialog(page).getByText(words).waitFor();
    assert.deepEqual([job.state, job.attempts], ['reserved', 0]);
    await page.keyboard.press('Escape');
  };
  await button(page, `Take back job ${leases[0].job.id}`).click();
  leases[0].has_ended = true;
  await refused(leases[0], lease_has_ended);
  await button(page, `Take back job ${leases[1].job.id}`).click();
  queue.leases.delete(leases[1].id);
  await refused(leases[1], no_lease);
  // What is seen is asked for anew.
  await button(page, `Take back job ${leases[1].job.id}`).waitFor({state: 'detached'});
  assert.equal(await page.getByRole('region', {name: 'Table of leases'}).locator('[data-row]').count(), 2);
}, {needs_mock: true});

page_test('The server drains and stops draining, and makes a checkpoint', async (page, server) => {
  await page.goto(`${server.url}/server`);
  await button(page, 'Drain…').click();
  await confirm(page, 'Drain');
  await announced(page, 'The server drains.');
  assert.equal((await api(server, '/server')).value.draining, true);
  await button(page, 'End the drain').click();
  await announced(page, 'The drain has ended.');
  assert.equal((await api(server, '/server')).value.draining, false);
  await button(page, 'Make a checkpoint').click();
  await announced(page, 'The checkpoint is made.');
  await page.getByText(/checkpoints\//).waitFor();
});

// ---------------------------------------------------------------------------------------------- each action, going wrong

/** How each dialog is reached, and the button that sends. */
const dialogs = [
  {name: 'delete all', path: '/tubes/t/buried', open: 'Delete all…', send: 'Delete 3 jobs', starts_on_cancel: true},
  {name: 'move all', path: '/tubes/t/buried', open: 'Move all…', send: 'Move 3 jobs', fields: {'To tube': 'u'}, starts_on_cancel: true},
  {name: 'kick all', path: '/tubes/t/buried', open: 'Kick all…', send: 'Kick 3 jobs', starts_on_cancel: true},
  {name: 'delete a job', path: '/jobs/1', open: 'Delete…', send: 'Delete', starts_on_cancel: true},
  {name: 'move a job', path: '/jobs/1', open: 'Move…', send: 'Move', fields: {'To tube': 'u'}, starts_on_cancel: true},
  {name: 'change a job', path: '/jobs/1', open: 'Change…', send: 'Change', fields: {Priority: '1'}},
  {name: 'copy a job', path: '/jobs/1', open: 'Copy…', send: 'Copy'},
  {name: 'put', path: '/tubes/t', open: 'Put a job…', send: 'Put'},
  {name: 'pause', path: '/tubes/t', open: 'Pause…', send: 'Pause'},
  {name: 'kick', path: '/tubes/t', open: 'Kick…', send: 'Kick'},
  {name: 'close', path: '/connections', open: 'Close connection 1', send: 'Close connection', starts_on_cancel: true},
  {name: 'take back', path: '/tubes/t', open: 'Take back job 4', send: 'Take back', starts_on_cancel: true},
  {name: 'drain', path: '/server', open: 'Drain…', send: 'Drain', starts_on_cancel: true},
];

page_test('Every dialog can be cancelled, says a refusal in the words of the server, and says when it is gone', async (page, server, t) => {
  await put_many(server, 't', 3, 'buried');
  server.queue.connections.set('1', {id: '1', address: 'unix', user: null, used: 'default', watched: [], watched_count: 0, held: 0, waiting: false, output_bytes: 0});
  server.queue.lease(server.queue.put('t', 'x', {id: 4}));
  for (const {name, path, open, send, fields = {}, starts_on_cancel = false} of dialogs) {
    await t.test(name, async () => {
      await page.goto(server.url + path);
      const before = changes(server).length;
      for (const leave of ['Escape', 'Cancel']) {
        await button(page, open).click();
        if (starts_on_cancel) assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Cancel');
        if (leave === 'Escape') await page.keyboard.press('Escape');
        else await confirm(page, 'Cancel');
        await dialog(page).waitFor({state: 'detached'});
        assert.equal(await button(page, open).evaluate((element) => element === document.activeElement), true);
      }
      assert.equal(changes(server).length, before);

      server.mock.refuse = (method) => method !== 'GET' && 'The user anna may not do this here.';
      await button(page, open).click();
      for (const [label, value] of Object.entries(fields)) await dialog(page).getByLabel(label).fill(value);
      await confirm(page, send);
      await dialog(page).getByText('The user anna may not do this here.').waitFor();
      assert.equal(changes(server).length, before + 1);

      await server.mock.stop();
      await confirm(page, send);
      await dialog(page).getByText('The server does not answer.').waitFor();
      await server.mock.restart();
      server.mock.refuse = null;
      assert.equal(server.queue.tube('t').ids.buried.size, 3);
      await page.keyboard.press('Escape');
    });
  }
}, {needs_mock: true});

page_test('What needs no dialog says a refusal, too', async (page, server) => {
  const [id] = await put_many(server, 'quick', 1, 'delayed');
  server.queue.tube('quick').paused_until = performance.now() / 1000 + 500;
  server.mock.refuse = (method) => method !== 'GET' && 'Not allowed here.';
  for (const [path, names] of [[`/jobs/${id}`, ['Kick', 'Bury']], ['/tubes/quick', ['Resume']], ['/server', ['Make a checkpoint']]]) {
    await page.goto(server.url + path);
    for (const name of names) {
      await button(page, name).click();
      await announced(page, 'Not allowed here.');
    }
  }
  server.mock.refuse = null;
  assert.equal(await state_of(server, id), 'delayed');
}, {needs_mock: true});

page_test('Reload asks, and says what came of it', async (page, server) => {
  await page.goto(`${server.url}/server`);
  await button(page, 'Reload…').click();
  await confirm(page, 'Cancel');
  await dialog(page).waitFor({state: 'detached'});
  if (is_mock) assert.deepEqual(changes(server), []);
  await button(page, 'Reload…').click();
  await confirm(page, 'Reload');
  await announced(page, 'The files are read again.');
  await page.getByText('There is nothing to read again').waitFor();
  if (!is_mock) return;
  server.queue.reloads = [{name: '/etc/perennial/users.yaml', error: null}, {name: '0.0.0.0:11400', error: '<img src=x onerror=alert(1)>: no such file'}];
  await button(page, 'Reload…').click();
  await confirm(page, 'Reload');
  await announced(page, '1 of 2 cannot be used.');
  await eventually(() => page.locator('.banner p').allInnerTexts().then((texts) => texts.map((text) => text.trim())),
    ['These were read again:', 'in use /etc/perennial/users.yaml', 'not used 0.0.0.0:11400 <img src=x onerror=alert(1)>: no such file']);
  assert.deepEqual(changes(server), ['POST /reload', 'POST /reload']);
});

page_test('A leader hands over when it is told to, and says why it cannot', async (page, server) => {
  if (!is_mock) return;  // A cluster is needed: tests/cluster/tool_test.py has one.
  await page.goto(`${server.url}/server`);
  await button(page, 'Reload…').waitFor();
  assert.equal(await button(page, 'Hand over…').count(), 0);
  server.queue.cluster_details = {name: 'orders', node: 'a', leads: true, epoch: 4, newest: 1, applied: 1, flushed: 1, append_mean_seconds: 0.003, append_failure: null,
    clock_ahead_seconds: 0, standbys: 0, standby_lag: 0, settings_differ: 0, etcd_alarms_no_space: 0, etcd_alarms_corrupt: 0};
  await page.reload();
  await button(page, 'Hand over…').click();
  await dialog(page).getByText('no standby').waitFor();
  await confirm(page, 'Hand over');
  await dialog(page).getByText('No standby that may lead is up to date.').waitFor();
  await confirm(page, 'Cancel');
  server.queue.cluster_details.standbys = 1;
  await page.reload();
  await button(page, 'Hand over…').click();
  await confirm(page, 'Hand over');
  await announced(page, 'Another node leads in a moment.');
  assert.deepEqual(changes(server), ['POST /cluster/handover', 'POST /cluster/handover']);
});

// ---------------------------------------------------------------------------------------------- users

const users = () => new Map([
  ['prn_reader_x', {name: 'reader', may: {monitor: true, admin: false}}],
  ['prn_admin_x', {name: 'admin', may: {monitor: true, admin: true}}],
]);

page_test('Who is not known signs in with a token, and out again', async (page, server) => {
  server.mock.users = users();
  await page.goto(`${server.url}/server`);
  await page.getByLabel('Token').fill('prn_wrong_x');
  await button(page, 'Sign in').click();
  await page.getByText('This token is not known.').waitFor();
  assert.equal(await page.getByLabel('Token').inputValue(), '');
  await page.getByLabel('Token').fill(' prn_admin_x ');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', {name: 'Server', exact: true, level: 1}).waitFor();
  assert.equal(page.url(), `${server.url}/server`);
  assert.equal(await page.evaluate(() => document.cookie + JSON.stringify(localStorage)), '{}');
  await button(page, 'Drain…').waitFor();
  await button(page, 'Sign out').click();
  await page.getByLabel('Token').waitFor();
  assert.equal(server.mock.sessions.size, 0);
}, {needs_mock: true});

page_test('Who is no administrator sees none of their actions', async (page, server) => {
  server.mock.users = users();
  server.queue.connections.set('1', {id: '1', address: 'unix', user: null, used: 'default', watched: [], watched_count: 0, held: 0, waiting: false, output_bytes: 0});
  await page.goto(`${server.url}/connections`);
  await page.getByLabel('Token').fill('prn_reader_x');
  await page.keyboard.press('Enter');
  await eventually(() => rows(page, 'Table of connections').then((found) => found.length), 1);
  assert.equal(await page.getByRole('button', {name: /Close/}).count(), 0);
  await page.getByRole('link', {name: 'Server'}).click();
  await page.getByRole('heading', {name: 'Store'}).waitFor();
  for (const name of ['Drain…', 'Make a checkpoint', 'Reload…']) assert.equal(await button(page, name).count(), 0);
  for (const name of ['Configuration in force', 'Audit']) assert.equal(await page.getByRole('heading', {name}).count(), 0);
}, {needs_mock: true});

// Each refusal is a line of the audit, and a page that stays open would write one every two seconds.
page_test('A user of one tube asks for nothing that is refused', async (page, server) => {
  await server.put('look', 'x');
  server.mock.users = new Map([['prn_one_x', {name: 'one', may: {monitor: false, admin: false}, tubes: {look: ['inspect']}}]]);
  await page.goto(`${server.url}/tubes/look`);
  await page.getByLabel('Token').fill('prn_one_x');
  await page.keyboard.press('Enter');
  await page.getByRole('button', {name: 'Live'}).waitFor();
  await page.goto(server.url);
  await page.getByText('The numbers of the whole server need the verb monitor.').waitFor();
  assert.deepEqual(await page.getByRole('navigation', {name: 'Screens'}).getByRole('link').allInnerTexts(), ['Overview', 'Tubes', 'Jobs', 'Ended', 'Search', 'Schedules']);
  await page.goto(`${server.url}/tubes/look`);
  await page.getByRole('heading', {name: 'look', level: 1}).waitFor();
  await page.waitForTimeout(5000);
  const asked = server.mock.requests.filter(({path}) => path === '/server' || path.startsWith('/server/'));
  assert.deepEqual(asked, []);
  const topics = server.mock.requests.filter(({path}) => path === '/events').map(({query}) => query);
  assert.ok(topics.length > 0);
  assert.ok(topics.every((query) => !query.includes('server')), topics.join());
}, {needs_mock: true});

page_test('Nobody sees a button for what the server would refuse', async (page, server, t) => {
  const tubes = {look: ['inspect'], put: ['inspect', 'produce'], manage: ['inspect', 'manage'], work: ['inspect', 'consume']};
  server.mock.users = new Map([['prn_some_x', {name: 'some', may: {monitor: true, admin: false}, tubes: {...tubes, none: ['inspect'], new: ['inspect', 'produce']}}]]);
  const ids = {};
  for (const tube of Object.keys(tubes)) {
    ids[tube] = await server.put(tube, 'x', {state: 'delayed'});
    await server.put(tube, 'x', {state: 'delayed'});
    server.queue.tube(tube).paused_until = performance.now() / 1000 + 500;
  }
  await page.goto(`${server.url}/tubes/look`);
  await page.getByLabel('Token').fill('prn_some_x');
  await page.keyboard.press('Enter');
  await page.locator('tr[data-row]').first().waitFor();
  const always = ['Copy id', 'Download'];
  const buttons = (where) => where.getByRole('button').allInnerTexts();
  for (const [tube, of_tube, of_all, of_job] of [
    ['look', [], [], always],
    ['put', ['Put a job…'], [], ['Copy…', 'Edit and put…', ...always]],
    ['manage', ['Resume', 'Settings…', 'Pause…', 'Kick…'], ['Kick all…', 'Move all…', 'Delete all…'], ['Kick', 'Change…', 'Move…', ...always, 'Delete…']],
    ['work', [], [], ['Bury', ...always]],
  ]) {
    await t.test(tube, async () => {
      await page.goto(`${server.url}/tubes/${tube}/delayed`);
      await page.locator('tr[data-row]').first().waitFor();
      await eventually(() => buttons(page.locator('.heading .actions')), of_tube);
      await eventually(() => buttons(page.getByRole('group', {name: 'All jobs that match'})), of_all);
      await page.getByLabel(`Select job ${ids[tube]}`).check();
      await eventually(() => buttons(page.getByRole('group', {name: 'Selected jobs'})), [...of_job, 'Clear selection']);
      await page.getByLabel('Select all jobs of this page').check();
      await page.getByText('2 selected').waitFor();
      assert.equal(await page.getByRole('button', {name: 'Delete all…'}).count(), 0);
      await page.goto(`${server.url}/jobs/${ids[tube]}`);
      await eventually(() => buttons(page.getByRole('group', {name: 'This job'})), of_job);
    });
  }
  await page.goto(`${server.url}/tubes`);
  await eventually(() => page.getByRole('checkbox').evaluateAll((found) => found.map((each) => each.ariaLabel)), ['Select tube manage']);
  for (const [tube, shown] of [['none', 0], ['new', 1]]) {
    await page.goto(`${server.url}/tubes/${tube}`);
    await page.getByText('There is no tube of this name now.').waitFor();
    await eventually(() => button(page, 'Put a job…').count(), shown);
  }
  // Of jobs of several tubes, what is granted for all of them.
  await page.goto(`${server.url}/jobs`);
  for (const tube of ['manage', 'work']) await page.getByLabel(`Select job ${ids[tube]}`).check();
  await eventually(() => buttons(page.getByRole('group', {name: 'Selected jobs'})), ['Copy ids', 'Download', 'Clear selection']);
}, {needs_mock: true});

page_test('A session that has ended leads to the sign-in', async (page, server) => {
  server.mock.users = users();
  await page.goto(`${server.url}/tubes`);
  await page.getByLabel('Token').fill('prn_reader_x');
  await page.keyboard.press('Enter');
  await page.getByText('No tubes.').waitFor();
  server.mock.sessions.clear();
  await page.getByLabel('Token').waitFor();
}, {needs_mock: true});
