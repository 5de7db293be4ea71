// What is wrong comes first, and what has failed is seen, and done something about, within few clicks.

import assert from 'node:assert/strict';
import {forbidden_text} from './mock.mjs';
import {announced, api, changes, eventually, page_test, rows} from './support.mjs';

const button = (page, name) => page.getByRole('button', {name, exact: true});
const dialog = (page) => page.getByRole('dialog');
const wrong = (page) => page.locator('.wrong li').evaluateAll((found) => found.map((each) => each.innerText.replace(/\s+/g, ' ').trim()));
const traceback = 'Traceback (most recent call last):\n  File "a.py", line 1\nKeyError: 7';
const long_name = 'a'.repeat(196);

/** A buried job with a note. */
function fail(queue, tube, note, {ago = 0, ...fields} = {}) {
  const job = queue.put(tube, '{"n":1}', {state: 'buried', reserves: 1, ...fields});
  if (note) queue.note(job, note, 'worker', ago);
  return String(job.id);
}

page_test('Nothing is wrong: one line says so', async (page, server) => {
  server.queue.put('mail', 'x');
  await page.goto(server.url);
  await page.getByText('Nothing is wrong: no job waits longer than 5 min, none has failed in the last day, and no limit is near.').waitFor();
  assert.equal(await page.locator('.wrong').count(), 0);
}, {needs_mock: true});

page_test('What is wrong comes first, the worst of it at the top', async (page, server) => {
  const {queue} = server;
  queue.put('late', 'x', {age_seconds: 400});
  queue.put('paused', 'x', {age_seconds: 900});
  queue.tube('paused').paused_until = performance.now() / 1000 + 500;
  queue.put('early', 'x', {age_seconds: 290});
  fail(queue, 'mail', 'no such host\n  at line 3\nError: the last line');
  fail(queue, 'mail', 'no such host\nError: an older one', {ago: 600});
  fail(queue, 'images', traceback, {ago: 60});
  fail(queue, 'old', 'long ago', {ago: 90000});
  queue.note(queue.put('graves', 'x', {from: 'mail'}), 'dead of it', '', 120);
  Object.assign(queue.limits, {connections_max: 0, tubes_max: 8, disk_free_bytes: 700 * 2 ** 20});
  queue.cluster = {node: 'b', leads: true, lag: 0, append_failure: 'etcd: no space'};
  queue.schedule('nightly', {tube: 'mail', every_seconds: 60, body: 'x', refused: true, refused_because: 'draining'});
  queue.schedule('ping', {tube: 'mail', every_seconds: 60, body: 'x'});
  await page.goto(server.url);
  await eventually(async () => (await wrong(page)).map((text) => text.replace(/([\d.]+ (min|s|ms) )+(ago|since)/, 'N $3')), [
    'The log of the cluster takes no entry: etcd: no space. No change is answered.',
    'The disk has 700 MiB free: jobs that end are not kept now, and below 640 MiB no job is taken.',
    'The put of 1 schedule is refused, and tried again: the screen Schedules says why.',
    'The limit of tubes is near: 7 of 8.',
    'late N since its oldest job was ready; 1 ready job, nobody watches',
    'mail Error: the last line 2 buried jobs, the last one N ago; no such host',
    'images KeyError: 7 1 buried job, the last one N ago',
    'graves dead of it 1 dead job, the last one N ago',
  ]);
  // It is above the numbers.
  const [first, second] = await Promise.all(['.wrong', '.tiles'].map((each) => page.locator(each).first().boundingBox()));
  assert.ok(first.y < second.y);
  await page.getByText('b leads').waitFor();
}, {needs_mock: true});

for (const width of [1440, 390]) {
  page_test(`A name of 196 characters pushes nothing away, at ${width} px`, async (page, server) => {
    server.queue.put(long_name, 'x', {age_seconds: 5000});
    fail(server.queue, long_name, 'b'.repeat(3000));
    for (const path of ['/', '/jobs?view=failed', `/tubes/${long_name}/failed`, `/tubes/${long_name}/buried`]) {
      await page.goto(server.url + path);
      await page.locator('[data-row]').first().waitFor();
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), path);
    }
    await page.goto(server.url);
    await page.locator('.wrong li').nth(1).waitFor();
    // The number is beside the name, and not behind it.
    for (const text of await page.locator('.wrong li > :last-child').all()) assert.ok((await text.boundingBox()).x < width);
    if (width > 1000) await eventually(async () => (await page.getByRole('region', {name: 'Tubes with the oldest ready jobs'}).locator('td').first().boundingBox()).x < width, true);
  }, {needs_mock: true, viewport: {width, height: 900}});
}

page_test('The newest error of each kind is seen at once, and its jobs are two clicks away', async (page, server) => {
  const {queue} = server;
  const ids = ['no such host\nfirst', 'exit 3', 'no such host\nsecond'].map((note) => fail(queue, 'mail', note));
  await page.goto(server.url);
  await page.getByRole('link', {name: 'second'}).waitFor();
  await page.getByRole('link', {name: 'All that has failed'}).click();
  await eventually(async () => (await wrong(page)).length, 2);
  await page.getByRole('link', {name: '2 buried jobs'}).click();
  await page.getByText('Jobs whose newest note says: no such host').waitFor();
  await eventually(() => rows(page, 'Table of jobs').then((found) => found.map((cells) => [cells[1], cells[3]])), [[ids[0], 'first'], [ids[2], 'second']]);
  // What is done with all of them leaves the others alone.
  await button(page, 'Kick all…').click();
  await dialog(page).getByText('2 jobs in mail').waitFor();
  await button(page, 'Kick 2 jobs').click();
  await announced(page, '2 jobs kicked.');
  for (const [index, state] of ['ready', 'buried', 'ready'].entries()) assert.equal((await api(server, `/jobs/${ids[index]}`)).value.state, state);
  await page.getByRole('link', {name: 'Show all'}).click();
  await eventually(() => new URL(page.url()).search, '');
}, {needs_mock: true});

page_test('A group is kicked, deleted or moved back, by its buttons and by keys', async (page, server) => {
  const {queue} = server;
  for (let i = 0; i < 3; ++i) fail(queue, 'mail', 'exit 3', {ago: 30 + i});
  fail(queue, 'mail', '', {age_seconds: 300});
  const dead = queue.put('graves', 'x', {from: 'orders'});
  queue.note(dead, 'refused', '', 5);
  await page.goto(`${server.url}/jobs?view=failed`);
  await button(page, 'Move back 1 job of graves: refused').click();
  assert.equal(await dialog(page).getByLabel('To tube').inputValue(), 'orders');
  await button(page, 'Move 1 job').click();
  await announced(page, '1 job moved.');
  assert.equal(dead.tube, 'orders');
  await page.keyboard.press('j');
  await eventually(() => page.evaluate(() => document.activeElement.closest('[data-row]') !== null), true);
  await page.getByRole('link', {name: 'exit 3'}).focus();
  await page.keyboard.press('d');
  await dialog(page).getByText('Those whose newest note says: exit 3').waitFor();
  await button(page, 'Delete 3 jobs').click();
  await announced(page, '3 jobs deleted.');
  await button(page, 'Kick 1 job of mail: without a note').click();
  await dialog(page).getByText('Those that have no note.').waitFor();
  await button(page, 'Kick 1 job').click();
  await announced(page, '1 job kicked.');
  await page.goto(`${server.url}/jobs?view=failed`);
  await eventually(async () => (await wrong(page)).length, 1);
  assert.deepEqual(changes(server).filter((change) => change !== 'POST /jobs/batch'), []);
}, {needs_mock: true});

page_test('A list of jobs goes up and down, forward and back', async (page, server) => {
  for (let i = 0; i < 250; ++i) server.queue.put('mail', 'x');
  await page.goto(`${server.url}/tubes/mail/ready`);
  const shown = () => page.locator('.pages .quiet').innerText();
  await eventually(shown, 'Jobs 1 to 100, by id');
  assert.equal(await button(page, 'Previous page').isDisabled(), true);
  await button(page, 'Next page').click();
  await eventually(shown, 'Jobs 101 to 200, by id');
  await button(page, 'Next page').click();
  await eventually(shown, 'Jobs 201 to 250, by id');
  await button(page, 'Previous page').click();
  await eventually(shown, 'Jobs 101 to 200, by id');
  await button(page, 'Previous page').click();
  await eventually(shown, 'Jobs 1 to 100, by id');
  await eventually(() => button(page, 'Previous page').isDisabled(), true);
  await button(page, 'Newest first').click();
  await eventually(shown, 'Jobs 250 to 151, by id');
  await button(page, 'Next page').click();
  await eventually(shown, 'Jobs 150 to 51, by id');
  await button(page, 'Previous page').click();
  await eventually(shown, 'Jobs 250 to 151, by id');
}, {needs_mock: true});

page_test('Keys act on the job of the focused row, and the focus stays in the table', async (page, server) => {
  const {queue} = server;
  const ids = Array.from({length: 4}, () => fail(queue, 'mail', 'exit 3'));
  const ready = String(queue.put('mail', 'x').id);
  await page.goto(`${server.url}/tubes/mail/buried`);
  const focused = () => page.evaluate(() => document.activeElement.closest('[data-row]') && document.activeElement.textContent);
  await page.getByRole('link', {name: ids[1], exact: true}).focus();
  await page.keyboard.press('t');
  await announced(page, '1 job kicked.');
  await eventually(focused, ids[2]);
  await page.keyboard.press('d');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Cancel');
  await page.keyboard.press('Escape');
  await eventually(focused, ids[2]);
  await page.keyboard.press('d');
  await button(page, 'Delete').click();
  await announced(page, '1 job deleted.');
  await eventually(focused, ids[3]);
  await page.keyboard.press('b');
  await announced(page, `To bury job ${ids[3]} is not possible: it is buried.`);
  await page.keyboard.press('m');
  await dialog(page).getByLabel('To tube').fill('later');
  await button(page, 'Move').click();
  await announced(page, '1 job moved.');
  await eventually(focused, ids[0]);
  await page.goto(`${server.url}/tubes/mail/ready`);
  await page.getByRole('link', {name: ready, exact: true}).focus();
  await page.keyboard.press('b');
  await announced(page, '1 job buried.');
  assert.deepEqual(ids.map((id) => queue.jobs.get(Number(id))?.state ?? 'gone'), ['buried', 'ready', 'gone', 'buried']);
}, {needs_mock: true});

page_test('The settings of a tube are changed', async (page, server) => {
  server.queue.put('mail', 'x');
  server.queue.set.set('mail', {tries: 5, dead: 'graves'});
  Object.assign(server.queue.settings_of('mail'), {tries: 5, dead: 'graves', keep_max: 7});
  await page.goto(`${server.url}/tubes/mail`);
  await button(page, 'Settings…').click();
  assert.equal(await dialog(page).getByLabel('Tries').inputValue(), '5');
  await dialog(page).getByText('By default 7.').waitFor();
  await dialog(page).getByLabel('Tries').fill('3');
  await dialog(page).getByLabel('Dead tube').fill('');
  await dialog(page).getByLabel('Keep ended jobs for').fill('soon');
  await dialog(page).getByLabel('Drain: refuse new jobs').check();
  await button(page, 'Set').click();
  await dialog(page).getByText('Keep ended jobs for: soon is no time. Write it as 1h 30m, or in seconds.').waitFor();
  await dialog(page).getByLabel('Keep ended jobs for').fill('1h 0.5s');
  await button(page, 'Set').click();
  await announced(page, 'The settings are changed.');
  assert.deepEqual(server.queue.set.get('mail'), {tries: 3, keep_seconds: 3600.5, drain: true});
  // Somebody else was faster.
  await button(page, 'Settings…').click();
  assert.equal(await dialog(page).getByLabel('Keep ended jobs for').inputValue(), '1h 0.5s');
  await dialog(page).getByLabel('Tries').fill('9');
  server.queue.set.set('mail', {tries: 4});
  await button(page, 'Set').click();
  await dialog(page).getByText('Somebody else has changed the settings meanwhile.').waitFor();
  assert.deepEqual(server.queue.set.get('mail'), {tries: 4});
}, {needs_mock: true});

page_test('A body is edited and put again', async (page, server) => {
  const {queue} = server;
  const id = fail(queue, 'graves', 'exit 3', {from: 'mail', priority: 7});
  await page.goto(`${server.url}/jobs/${id}`);
  await button(page, 'Edit and put…').click();
  assert.equal(await dialog(page).getByLabel('Body').inputValue(), '{"n":1}');
  assert.equal(await dialog(page).getByLabel('Tube').inputValue(), 'mail');
  await dialog(page).getByLabel('Body').fill('{"n":2}\n');
  await dialog(page).getByLabel(`Delete job ${id} when the new one is put`).check();
  await button(page, 'Put').click();
  await announced(page, '1 job deleted, and job 2 is put.');
  assert.equal(String(queue.jobs.get(2).body), '{"n":2}\n');
  assert.equal(queue.jobs.get(2).priority, 7);
  assert.equal(queue.jobs.has(Number(id)), false);
  // What a form would change is not edited.
  for (const body of [Buffer.from([0xff, 0x61]), Buffer.from('a\r\n'), Buffer.from([0x61, 0xc3])]) {
    const other = queue.put('mail', body);
    await page.goto(`${server.url}/jobs/${other.id}`);
    await button(page, 'Edit and put…').click();
    await announced(page, 'A form would change this body');
  }
}, {needs_mock: true});

page_test('A limited user has a first page, a menu of what is allowed, and is told what is missing', async (page, server) => {
  const {queue} = server;
  fail(queue, 'mine', 'why');
  fail(queue, 'theirs', 'hidden');
  server.mock.users = new Map([['prn_one_x', {name: 'one', may: {monitor: false, admin: false}, tubes: {mine: ['inspect'], theirs: []}}],
    ['prn_put_x', {name: 'put', may: {monitor: false, admin: false}, inspect: false, tubes: {mine: ['produce'], theirs: []}}]]);
  const menu = () => page.getByRole('navigation', {name: 'Screens'}).getByRole('link').allInnerTexts();
  for (const [token, places] of [['prn_one_x', ['Overview', 'Tubes', 'Jobs', 'Ended', 'Search', 'Schedules']], ['prn_put_x', ['Overview', 'Tubes']]]) {
    await page.goto(server.url);
    await page.getByLabel('Token').fill(token);
    await page.keyboard.press('Enter');
    await eventually(menu, places);
    await page.getByText('The numbers of the whole server need the verb monitor.').waitFor();
    if (token === 'prn_one_x') {
      await eventually(async () => (await wrong(page)).length, 1);
      await page.getByRole('link', {name: 'why'}).waitFor();
      await page.goto(`${server.url}/tubes/theirs/ended`);
      await page.goto(`${server.url}/server`);
    } else {
      await page.getByText('Nothing is wrong: no job waits longer than 5 min.').waitFor();
    }
    await button(page, 'Sign out').click();
    await page.getByLabel('Token').waitFor();
  }
  assert.match(forbidden_text('manage', 'mail'), /verb manage on the tube mail\. A grant that gives it: \{tubes: \["mail"\], verbs: \[manage\]\}/);
}, {needs_mock: true});

page_test('T7 Notes that attack are text', async (page, server) => {
  const attack = '<img src=x onerror="document.title=1">\u202eevil';
  fail(server.queue, 'mail', `${attack}\n${attack}`);
  for (const path of ['/', '/jobs?view=failed', '/tubes/mail/buried']) {
    await page.goto(server.url + path);
    await page.getByText('⟨U+202E⟩evil').first().waitFor();
    assert.equal(await page.locator('main img').count(), 0);
  }
  await page.goto(`${server.url}/jobs?view=failed`);
  await page.getByRole('link', {name: '1 buried job'}).click();
  await page.getByText('Jobs whose newest note says:').waitFor();
  await eventually(async () => (await rows(page, 'Table of jobs')).length, 1);
}, {needs_mock: true});
