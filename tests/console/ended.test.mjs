// Jobs that have ended: whether there is a way back is said before they do, offered after it, and taken; for one, for some and for all.

import assert from 'node:assert/strict';
import {visible} from '../../cmd/perenniald/console/src/format.js';
import {announced, api, changes, eventually, is_mock, page_test, rows} from './support.mjs';

const dialog = (page) => page.getByRole('dialog');
const button = (page, name) => page.getByRole('button', {name, exact: true});
const confirm = (page, name) => dialog(page).getByRole('button', {name, exact: true}).click();
const announcer = (page) => page.locator('.announcer');
const bar = (page) => page.getByRole('region', {name: 'Way back'});
const says = (page) => bar(page).innerText().then((text) => text.replace(/\s+/g, ' '));

async function put_many(server, tube, jobs, state) {
  const ids = [];
  for (let i = 0; i < jobs; ++i) ids.push(await server.put(tube, `body ${i}`, {state}));
  return ids;
}

const ended = (page) => rows(page, 'Table of jobs that have ended');
const ended_ids = (page) => ended(page).then((found) => found.map(([id]) => id));
const restores = (server) => server.mock.requests.filter(({method, path, body}) => method === 'POST' && path === '/operations' && body.action === 'restore').map(({body}) => body);

/** Jobs that have ended so, the last one first, without a click. */
function end(server, tube, how, jobs = 1, fields = {}) {
  return Array.from({length: jobs}, () => {
    const job = server.queue.put(tube, 'x', fields);
    server.queue.remove(job, how);
    return String(job.id);
  }).reverse();
}

// ---------------------------------------------------------------------------------------------- said before

page_test('A question about deletes says whether there is a way back, and for how long', async (page, server, t) => {
  for (const [tube, settings, one, some] of [
    ['keeps-not', {}, 'It cannot be put back: its tube keeps no jobs that have ended.', 'They cannot be put back: the tube keeps no jobs that have ended.'],
    ['keeps-day', {keep_seconds: 86400}, 'It can be put back for 1 d, unless the disk is short of space by then: nothing is kept then.', 'They can be put back for 1 d, unless the disk is short of space by then: nothing is kept then.'],
    ['keeps-two', {keep_max: 2}, 'It can be put back, unless the disk is short of space by then: nothing is kept then. The tube keeps only the last 2 jobs that have ended.',
      'They can be put back, unless the disk is short of space by then: nothing is kept then. The tube keeps only the last 2 jobs that have ended: the other one cannot be put back.'],
    ['keeps-one', {keep_max: 1, keep_seconds: 5400}, 'It can be put back for 1 h 30 min, unless the disk is short of space by then: nothing is kept then. The tube keeps only the last job that has ended.',
      'They can be put back for 1 h 30 min, unless the disk is short of space by then: nothing is kept then. The tube keeps only the last job that has ended: the other 2 cannot be put back.'],
    ['keeps-many', {keep_max: 1000}, 'The tube keeps only the last 1,000 jobs that have ended.', 'The tube keeps only the last 1,000 jobs that have ended.'],
  ]) {
    await t.test(tube, async () => {
      await server.keep(tube, settings);
      const [id] = await put_many(server, tube, 3, 'buried');
      await page.goto(`${server.url}/jobs/${id}`);
      await button(page, 'Delete…').click();
      await dialog(page).getByText(one).waitFor();
      assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Cancel');
      await page.keyboard.press('Escape');
      await page.goto(`${server.url}/tubes/${tube}/buried`);
      await button(page, 'Delete all…').click();
      await dialog(page).getByText('Every buried job of this tube is deleted.').waitFor();
      await dialog(page).getByText(some).waitFor();
      assert.doesNotMatch(await dialog(page).innerText(), /come back/);
      await page.keyboard.press('Escape');
    });
  }
});

page_test('A question about jobs of several tubes says it of each', async (page, server) => {
  await server.keep('keeps', {keep_seconds: 600});
  for (const tube of ['keeps', 'keeps-not', 'keeps']) await server.put(tube, 'x');
  await server.put('neither', 'x');
  await page.goto(`${server.url}/jobs`);
  const ask = async (...jobs) => {
    for (const id of jobs) await page.getByLabel(`Select job ${id}`).check();
    await button(page, 'Delete…').click();
    const said = dialog(page).locator('p');
    await said.filter({hasText: 'put back'}).first().waitFor();
    return said.allInnerTexts().then((texts) => texts.filter((text) => text.includes('put back')));
  };
  assert.deepEqual(await ask(1, 2, 3), ['2 jobs in keeps. They can be put back for 10 min, unless the disk is short of space by then: nothing is kept then.',
    '1 job in keeps-not. It cannot be put back: its tube keeps no jobs that have ended.']);
  await page.keyboard.press('Escape');
  for (const id of [1, 3]) await page.getByLabel(`Select job ${id}`).uncheck();
  assert.deepEqual(await ask(4), ['They cannot be put back: their tubes keep no jobs that have ended.']);
  await page.keyboard.press('Escape');
  for (let i = 0; i < 9; ++i) await server.put(`more-${i}`, 'x');
  await page.getByLabel('Select job 13').waitFor();
  await page.getByLabel('Select all jobs of this page').check();
  server.mock.requests.length = 0;
  await button(page, 'Delete…').click();
  await dialog(page).getByText('What their tubes keep can be put back for a while. The others do not come back.').waitFor();
  assert.deepEqual(server.mock.requests.filter(({path}) => path.startsWith('/tubes/')), []);
}, {needs_mock: true});

page_test('Where the settings cannot be read, nothing is promised', async (page, server) => {
  const id = await server.put('secret', 'x');
  await page.goto(`${server.url}/jobs/${id}`);
  server.mock.refuse = (method, path) => path === '/tubes/secret' && 'Not yours.';
  await button(page, 'Delete…').click();
  await dialog(page).getByText('It is not known whether it can be put back.').waitFor();
  await confirm(page, 'Delete');
  await announced(page, '1 job deleted.');
}, {needs_mock: true});

page_test('The focus stays in the table when the job of its row is put back', async (page, server) => {
  const tubes = ['a-keeps', 'b-keeps', 'c-keeps'];
  for (const tube of tubes) await server.keep(tube, {keep_seconds: 600});
  end(server, tubes[0], 'deleted', 3);
  const put_back_the_first = async (left) => {
    await page.locator('[data-row]').first().getByRole('button').focus();
    await page.keyboard.press('Enter');
    await eventually(() => page.locator('[data-row]').count(), left);
    await eventually(() => page.evaluate(() => Boolean(document.activeElement.closest('[data-row]'))), true);
  };
  await page.goto(`${server.url}/tubes/${tubes[0]}/ended`);
  await put_back_the_first(2);
  await put_back_the_first(1);
  for (const tube of tubes.slice(1)) end(server, tube, 'deleted');
  await page.goto(`${server.url}/ended`);
  await put_back_the_first(2);
  await put_back_the_first(1);
}, {needs_mock: true});

// ---------------------------------------------------------------------------------------------- offered after

page_test('A job that was deleted is put back by the bar that says so', async (page, server) => {
  await server.keep('undo', {keep_seconds: 600});
  const id = await server.put('undo', 'once more', {state: 'buried'});
  await page.goto(`${server.url}/jobs/${id}`);
  await button(page, 'Delete…').click();
  await confirm(page, 'Delete');
  await announced(page, '1 job deleted.');
  await page.getByText('It was deleted, and is kept for a while: look at it.').waitFor();
  assert.equal(await page.locator('main .problem').count(), 0);
  await bar(page).getByRole('button', {name: 'Put back'}).click();
  await announced(page, new RegExp(`^Job ${id} is back, as job \\d+\\. Job \\d+$`));
  await announcer(page).getByRole('link').click();
  await page.getByText(`restored: ${id}`).waitFor();
  await page.locator('.badge', {hasText: 'buried'}).waitFor();
  await eventually(() => page.locator('pre.body').innerText(), 'once more');
  assert.equal(await announcer(page).innerText(), '');
  assert.equal(await bar(page).count(), 0);
});

page_test('The jobs of a selection are put back together, and those that cannot be are counted', async (page, server) => {
  await server.keep('some', {keep_max: 2});
  await put_many(server, 'some', 4, 'buried');
  await page.goto(`${server.url}/tubes/some/buried`);
  await page.getByLabel('Select all jobs of this page').check();
  await button(page, 'Delete…').click();
  await confirm(page, 'Delete');
  await announced(page, '4 jobs deleted.');
  await eventually(() => says(page), 'Deleted 4 jobs of some. Put back 2 of them 9 min left Dismiss');
  // Another job takes the place of one of them.
  end(server, 'some', 'deleted');
  await bar(page).getByRole('button', {name: 'Put back 2 of them'}).dblclick();
  await announced(page, '1 job put back. 1 could not be: No job of this id that has ended is kept.');
  await eventually(() => page.locator('tr[data-row]').count(), 1);
  assert.equal(changes(server).filter((change) => change.endsWith('/restore')).length, 2);
  await bar(page).waitFor({state: 'detached'});
}, {needs_mock: true});

page_test('Nothing is offered where nothing is kept', async (page, server) => {
  const [id] = await put_many(server, 'gone-for-good', 3, 'buried');
  const asked = (part) => page.waitForResponse((response) => response.url().includes(part));
  await page.goto(`${server.url}/jobs/${id}`);
  await button(page, 'Delete…').click();
  await Promise.all([asked(`/ended/${id}`), confirm(page, 'Delete')]);
  await announced(page, '1 job deleted.');
  await page.locator('.badge', {hasText: 'gone'}).waitFor();
  assert.equal(await bar(page).count(), 0);
  assert.equal(await page.getByText('is kept for a while').count(), 0);
  await page.goto(`${server.url}/tubes/gone-for-good/buried`);
  await button(page, 'Delete all…').click();
  await Promise.all([asked('/tubes/gone-for-good/ended'), confirm(page, 'Delete 2 jobs')]);
  await announced(page, '2 jobs deleted in gone-for-good.');
  assert.equal(await bar(page).count(), 0);
});

page_test('A flush leads to what it has ended, and all of it is put back', async (page, server) => {
  await server.keep('lost', {keep_seconds: 600});
  const ids = await put_many(server, 'lost', 4, 'buried');
  await page.goto(`${server.url}/tubes/lost`);
  await page.getByText('Keeps ended jobs').waitFor();
  await button(page, 'Delete all…').click();
  await confirm(page, 'Delete 4 jobs');
  await announced(page, '4 jobs deleted in lost.');
  await eventually(() => says(page), 'Deleted 4 jobs of lost. Put back what was flushed 9 min left Dismiss');
  await bar(page).getByRole('link', {name: 'Put back what was flushed'}).click();
  await bar(page).waitFor({state: 'detached'});
  await eventually(() => ended_ids(page).then((found) => found.sort()), [...ids].sort());
  assert.deepEqual((await ended(page)).map((cells) => cells[1]), Array(4).fill('flushed'));
  assert.equal(new URL(page.url()).pathname, '/tubes/lost/ended');
  await button(page, 'Put back…').click();
  await confirm(page, 'Put back');
  await announced(page, '4 jobs put back in lost.');
  await page.getByText('No job that has ended is kept.').waitFor();
  await eventually(() => server.stats_tube('lost').then(({buried}) => buried), 4);
  const {value} = await api(server, '/tubes/lost/jobs');
  assert.deepEqual(value.jobs.map(({restored}) => restored), ids);
  if (is_mock) assert.deepEqual(restores(server), [{action: 'restore', tube: 'lost', how: ['flushed'], since_seconds: 3600}]);
});

page_test('A flush by somebody else is told, and offers nothing', async (page, server) => {
  await server.keep('theirs', {keep_seconds: 600});
  await put_many(server, 'theirs', 3, 'buried');
  await page.goto(`${server.url}/tubes`);
  await page.locator('tr[data-row]').first().waitFor();
  server.queue.step_ms = 1500;
  await api(server, '/operations', 'POST', {action: 'delete', tube: 'theirs', states: ['buried'], confirmed: 3});
  await announced(page, '3 jobs deleted in theirs.');
  assert.deepEqual(server.mock.requests.filter(({path}) => path.endsWith('/ended')), []);
}, {needs_mock: true});

// ---------------------------------------------------------------------------------------------- it stays in sight

/** A clock that the test moves, from its time on. A page with one is no page for other tests. */
const with_clock = {needs_mock: true, locale: 'en-GB'};

async function delete_some(page, server, tube, jobs, settings = {keep_seconds: 86400}) {
  await server.keep(tube, settings);
  await put_many(server, tube, jobs, 'buried');
  await page.goto(`${server.url}/tubes/${tube}/buried`);
  await page.getByLabel('Select all jobs of this page').check();
  await button(page, 'Delete…').click();
  await confirm(page, 'Delete');
  await bar(page).waitFor();
}

page_test('The way back stays for ten minutes, whatever screen is shown', async (page, server) => {
  await page.clock.install();
  await delete_some(page, server, 'mail', 12);
  await eventually(() => says(page), 'Deleted 12 jobs of mail. Put back 9 min left Dismiss');
  for (const [name, title] of [['Overview', 'Overview'], ['Search', 'Search'], ['Server', 'Server'], ['Tubes', 'Tubes']]) {
    await page.getByRole('navigation', {name: 'Screens'}).getByRole('link', {name, exact: true}).click();
    await page.getByRole('heading', {name: title, level: 1}).waitFor();
    assert.equal(await bar(page).count(), 1);
  }
  // Other messages do not take its place.
  await page.keyboard.press('r');
  await announced(page, 'Refreshed.');
  await page.clock.fastForward('05:00');
  await eventually(() => says(page), 'Deleted 12 jobs of mail. Put back 4 min left Dismiss');
  await page.clock.fastForward('04:15');
  await eventually(() => says(page).then((text) => /Put back [1-4]\d s left/.test(text)), true);
  await bar(page).getByRole('button', {name: 'Put back'}).click();
  await announced(page, '12 jobs put back.');
  await bar(page).waitFor({state: 'detached'});
  assert.equal((await server.stats_tube('mail')).buried, 12);
  await delete_some(page, server, 'mail', 1);
  await page.clock.fastForward('10:01');
  await bar(page).waitFor({state: 'detached'});
}, with_clock);

page_test('The way back goes when what is kept for less is over, and counts what is left', async (page, server) => {
  await page.clock.install();
  await server.keep('brief', {keep_seconds: 120});
  await server.keep('long', {keep_seconds: 3600});
  for (const tube of ['brief', 'long', 'long', 'never']) await server.put(tube, 'x');
  await page.goto(`${server.url}/jobs`);
  await page.getByLabel('Select all jobs of this page').check();
  await button(page, 'Delete…').click();
  await confirm(page, 'Delete');
  await eventually(() => says(page), 'Deleted 4 jobs of 3 tubes. Put back 3 of them 9 min left Dismiss');
  await page.clock.fastForward('02:01');
  await eventually(() => says(page), 'Deleted 4 jobs of 3 tubes. Put back 2 of them 7 min left Dismiss');
  await bar(page).getByRole('button', {name: 'Put back 2 of them'}).click();
  await announced(page, '2 jobs put back.');
  await delete_some(page, server, 'brief', 1, {keep_seconds: 120});
  await eventually(() => says(page), 'Deleted 1 job of brief. Put back 1 min left Dismiss');
  await page.clock.fastForward('02:01');
  await bar(page).waitFor({state: 'detached'});
}, with_clock);

page_test('The way back is replaced by a newer one, dismissed, and gone with the page', async (page, server) => {
  await delete_some(page, server, 'first', 1);
  await delete_some_more(page, server, 'second');
  await eventually(() => says(page), 'Deleted 1 job of second. Put back 9 min left Dismiss');
  // A delete without a way back leaves the one that there is.
  await delete_some_more(page, server, 'third', {});
  await eventually(() => says(page), 'Deleted 1 job of second. Put back 9 min left Dismiss');
  await bar(page).getByRole('button', {name: 'Dismiss'}).click();
  await bar(page).waitFor({state: 'detached'});
  await delete_some(page, server, 'fourth', 1);
  await page.reload();
  await page.locator('.tabs').waitFor();
  assert.equal(await bar(page).count(), 0);
}, {needs_mock: true});

/** Without loading the page anew. */
async function delete_some_more(page, server, tube, settings = {keep_seconds: 86400}) {
  await server.keep(tube, settings);
  const id = await server.put(tube, 'x');
  await page.getByRole('button', {name: 'Go to job…'}).click();
  await dialog(page).getByLabel('Id').fill(id);
  await confirm(page, 'Go');
  await page.getByRole('heading', {name: `Job ${id}`}).waitFor();
  await Promise.all([page.waitForResponse((response) => response.url().includes(settings.keep_seconds ? `/tubes/${tube}/settings` : `/ended/${id}`)),
    button(page, 'Delete…').click().then(() => confirm(page, 'Delete'))]);
  await announced(page, '1 job deleted.');
}

page_test('The way back stays while the server does not take the jobs', async (page, server) => {
  await delete_some(page, server, 'held', 2);
  server.queue.draining = true;
  await bar(page).getByRole('button', {name: 'Put back'}).click();
  await announced(page, 'The server drains, and takes no new jobs.');
  server.queue.draining = false;
  await bar(page).getByRole('button', {name: 'Put back'}).click();
  await announced(page, '2 jobs put back.');
  await bar(page).waitFor({state: 'detached'});
  // Put back elsewhere, it is no longer offered.
  await delete_some(page, server, 'elsewhere', 1);
  await page.locator('.tabs').getByRole('link', {name: 'Ended'}).click();
  await button(page, `Put back job ${server.queue.ended[0].job.id}`).click();
  await bar(page).waitFor({state: 'detached'});
}, {needs_mock: true});

page_test('The way back is reached by the keyboard, which changes nothing by itself', async (page, server) => {
  await delete_some(page, server, 'keys', 1);
  const focused = () => page.evaluate(() => document.activeElement.textContent);
  const before = changes(server).length;
  await page.keyboard.press('u');
  assert.equal(await focused(), 'Put back');
  await page.keyboard.press('Tab');
  assert.equal(await focused(), 'Dismiss');
  await page.keyboard.press('Shift+Tab');
  assert.equal(changes(server).length, before);
  await page.keyboard.press('Enter');
  await announced(page, /is back, as job/);
  await bar(page).waitFor({state: 'detached'});
  assert.match(await focused(), /keys/);
}, {needs_mock: true});

page_test('T7 The way back covers nothing at 390 px, and its names are text', async (page, server) => {
  const name = 'a-name-without-any-place-to-break-'.repeat(5);
  await server.keep(name, {keep_seconds: 86400});
  await put_many(server, name, 60, 'ready');
  await delete_one_of(page, server, name);
  const boxes = () => page.evaluate(() => ['header', '.way-back', 'main'].map((each) => document.querySelector(each).getBoundingClientRect()).map(({top, bottom}) => [top, bottom]));
  await page.evaluate(() => scrollTo(0, 0));
  const [header, itself, main] = await boxes();
  assert.ok(header[1] <= itself[0] && itself[1] <= main[0], JSON.stringify([header, itself, main]));
  assert.ok(itself[1] - itself[0] < 110);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
  // It stays at the top, and what has the focus is below it.
  await page.evaluate(() => {
    document.activeElement.blur();
    scrollTo(0, document.body.scrollHeight);
  });
  assert.equal((await boxes())[1][0], 0);
  for (const key of [...Array(40).fill('k'), ...Array(25).fill('Shift+Tab')]) {
    await page.keyboard.press(key);
    const [top, bottom] = await page.evaluate(() => [document.activeElement.getBoundingClientRect().top, document.querySelector('.way-back').getBoundingClientRect().bottom]);
    if (await page.evaluate(() => document.activeElement.matches('main *'))) assert.ok(top >= bottom, `${key}: ${top} ${bottom}`);
  }
  for (const text of ['<img src=x onerror="window.hacked = 1">', '\u202egpj.exe']) {
    await server.keep(text, {keep_seconds: 86400});
    await delete_one_of(page, server, text);
    await eventually(() => bar(page).locator('bdi').textContent(), visible(text));
  }
  assert.equal(await page.evaluate(() => window.hacked), undefined);
}, {needs_mock: true, viewport: {width: 390, height: 740}});

async function delete_one_of(page, server, tube) {
  await server.put(tube, 'x');
  await page.goto(`${server.url}/tubes/${encodeURIComponent(tube)}`);
  await page.getByLabel(/^Select job/).first().check();
  await button(page, 'Delete…').click();
  await confirm(page, 'Delete');
  await bar(page).waitFor();
}

// ---------------------------------------------------------------------------------------------- the list and one of them

page_test('What has ended is listed in pages, the last one first', async (page, server) => {
  await server.keep('ends', {keep_max: 500});
  const ids = end(server, 'ends', 'deleted', 130);
  const [expired] = end(server, 'ends', 'expired', 1, {priority: 7, reserves: 3, attempts: 2, tries: 3});
  await page.goto(`${server.url}/tubes/ends`);
  await page.locator('main').getByRole('link', {name: 'Ended'}).click();
  await eventually(() => ended_ids(page), [expired, ...ids.slice(0, 99)]);
  const [first] = await ended(page);
  assert.deepEqual([first[1], first[3], first[4], first[5], first[7], first[8]], ['expired', '–', '7', '3', '–', '1 B']);
  await button(page, 'Next page').click();
  await eventually(() => ended_ids(page), ids.slice(99));
  assert.equal(await button(page, 'Next page').isDisabled(), true);
  await button(page, 'First page').click();
  await eventually(() => ended_ids(page).then((found) => found.length), 100);
}, {needs_mock: true});

page_test('A job that has ended is shown as it was, and put back', async (page, server) => {
  await server.keep('shown', {keep_seconds: 600});
  const id = await server.put('shown', '{"a":1}', {state: 'buried', priority: 7});
  await api(server, `/jobs/${id}/notes`, 'POST', {text: 'no such url'});
  await api(server, `/jobs/${id}`, 'DELETE');
  // The way there from its id, where jobs are looked for.
  await page.goto(server.url);
  await page.getByRole('button', {name: 'Go to job…'}).click();
  await dialog(page).getByLabel('Id').fill(id);
  await confirm(page, 'Go');
  await page.getByRole('heading', {name: `Job ${id}`}).waitFor();
  assert.equal(new URL(page.url()).pathname, `/ended/${id}`);
  await eventually(() => page.locator('.notes pre').allInnerTexts(), ['no such url']);
  await eventually(() => page.locator('pre.body[role=region]').innerText(), '{\n  "a": 1\n}');
  const facts = await page.getByRole('region', {name: 'Fields'}).innerText();
  assert.match(facts, /Ended\s+deleted \d+(\.\d)? s ago/);
  assert.match(facts, /Priority\s+7/);
  // Up is the list that it is in.
  await page.keyboard.press('Escape');
  await eventually(() => ended_ids(page), [id]);
  await page.getByRole('link', {name: id, exact: true}).click();
  await page.getByRole('heading', {name: `Job ${id}`}).waitFor();
  await button(page, 'Put back').click();
  await page.getByText(`restored: ${id}`).waitFor();
  await eventually(() => page.locator('.notes pre').allInnerTexts(), ['no such url']);
  await page.goto(`${server.url}/ended/${id}`);
  await page.getByText('No job of this id that has ended is kept.').waitFor();
});

page_test('A job whose key is taken, or that is no longer kept, says so', async (page, server) => {
  await server.keep('keyed', {keep_seconds: 600});
  const [id] = end(server, 'keyed', 'deleted', 1, {key: 'only-one'});
  const holder = server.queue.put('keyed', 'x', {key: 'only-one'});
  await page.goto(`${server.url}/tubes/keyed/ended`);
  await button(page, `Put back job ${id}`).click();
  await announced(page, `Job ${holder.id} has its key by now.`);
  await page.goto(`${server.url}/ended/${id}`);
  await button(page, 'Put back').click();
  await announced(page, `Job ${holder.id} has its key by now.`);
  server.queue.draining = true;
  server.queue.remove(holder);
  await button(page, 'Put back').click();
  await announced(page, 'The server drains, and takes no new jobs.');
  await server.keep('keyed', {keep_seconds: 0});
  await page.locator('.badge', {hasText: 'no longer kept'}).waitFor();
  assert.equal(await button(page, 'Put back').count(), 0);
}, {needs_mock: true});

page_test('A tube that is gone shows what it keeps', async (page, server) => {
  await server.keep('was', {keep_seconds: 600});
  const id = await server.put('was', 'x');
  await api(server, `/jobs/${id}`, 'DELETE');
  await server.leave('was');
  for (const path of ['/tubes/was', '/tubes/was/ended']) {
    await page.goto(server.url + path);
    await page.getByText('There is no tube of this name now.').waitFor();
    await eventually(() => ended_ids(page), [id]);
  }
  await button(page, `Put back job ${id}`).click();
  await announced(page, `Job ${id} is back`);
  await page.getByRole('link', {name: /^\s*Ready\s*1/}).waitFor();
  await page.getByText('No job that has ended is kept.').waitFor();
});

// ---------------------------------------------------------------------------------------------- all of them

page_test('What is put back is chosen by time, by how it ended, and by numbers', async (page, server) => {
  await server.keep('chosen', {keep_seconds: 86400});
  for (const [how, priority] of [['flushed', 1], ['flushed', 5], ['deleted', 5], ['expired', 5], ['deleted', 9]]) end(server, 'chosen', how, 1, {priority});
  await page.goto(`${server.url}/tubes/chosen/ended`);
  await eventually(() => ended(page).then((found) => found.length), 5);
  await button(page, 'Put back…').click();
  await dialog(page).getByText('Jobs of chosen come back as new jobs').waitFor();
  const how = (name) => dialog(page).getByRole('checkbox', {name: new RegExp(`^${name}`)});
  for (const name of ['flushed', 'deleted', 'expired']) assert.equal(await how(name).isChecked(), name === 'flushed');
  await how('flushed').uncheck();
  await confirm(page, 'Put back');
  await dialog(page).getByText('Nothing is to be put back: choose how they have ended.').waitFor();
  assert.deepEqual(restores(server), []);
  await how('deleted').check();
  await how('expired').check();
  await dialog(page).getByLabel('Ended in the last minutes').fill('');
  await dialog(page).getByText('Filter by age, priority and reserves').click();
  await dialog(page).getByLabel('Priority, at least').fill('2');
  await dialog(page).getByLabel('Priority, at most').fill('5');
  await confirm(page, 'Put back');
  await announced(page, '2 jobs put back in chosen.');
  assert.deepEqual(restores(server), [{action: 'restore', tube: 'chosen', how: ['deleted', 'expired'], match: {priority_min: 2, priority_max: 5}}]);
  await eventually(() => ended(page).then((found) => found.map((cells) => cells[1])), ['deleted', 'flushed', 'flushed']);

  // Nothing fits: that is said, and no number.
  await button(page, 'Put back…').click();
  await dialog(page).getByText('Filter by age, priority and reserves').click();
  await dialog(page).getByLabel('Reserves, at least').fill('99');
  await confirm(page, 'Put back');
  await announced(page, 'Nothing was put back in chosen: no job that is kept fits, or another one has its key by now.');
}, {needs_mock: true});

page_test('A restore shows how far it is, and stops when it is cancelled', async (page, server) => {
  await server.keep('long', {keep_seconds: 86400});
  end(server, 'long', 'flushed', 300);
  Object.assign(server.queue, {jobs_per_step: 1, step_ms: 100});
  await page.goto(`${server.url}/tubes/long/ended`);
  await button(page, 'Put back…').click();
  await confirm(page, 'Put back');
  const strip = page.getByRole('region', {name: 'Operations'});
  await strip.getByText(/Putting back flushed jobs of long, ended in the last 1 h: [1-9]\d* so far/).waitFor();
  assert.equal(await strip.getByRole('progressbar').getAttribute('value'), null);
  await strip.getByRole('button', {name: 'Cancel operation'}).click();
  await announced(page, /Cancelled: \d+ jobs of long are put back, and stay so\./);
  const {ready} = await server.stats_tube('long');
  assert.ok(ready > 0 && ready < 300);
}, {needs_mock: true});

page_test('A restore that puts are refused to says why', async (page, server) => {
  await server.keep('full', {keep_seconds: 86400});
  end(server, 'full', 'flushed', 2);
  server.queue.draining = true;
  await page.goto(`${server.url}/tubes/full/ended`);
  await button(page, 'Put back…').click();
  await confirm(page, 'Cancel');
  await dialog(page).waitFor({state: 'detached'});
  assert.deepEqual(changes(server), []);
  server.mock.refuse = (method) => method === 'POST' && 'The user anna may not do this here.';
  await button(page, 'Put back…').click();
  await confirm(page, 'Put back');
  await dialog(page).getByText('The user anna may not do this here.').waitFor();
  server.mock.refuse = null;
  await confirm(page, 'Put back');
  await announced(page, 'Failed after 0 jobs: The server drains, and takes no new jobs.');
}, {needs_mock: true});

// ---------------------------------------------------------------------------------------------- who may, and where

page_test('Who may only look sees no way back, and who may not look asks for nothing', async (page, server) => {
  const tubes = {look: ['inspect'], manage: ['inspect', 'manage'], blind: ['produce', 'manage']};
  server.mock.users = new Map([['prn_some_x', {name: 'some', may: {monitor: true, admin: false}, tubes}]]);
  const ids = {};
  for (const tube of Object.keys(tubes)) {
    await server.keep(tube, {keep_seconds: 600});
    [ids[tube]] = end(server, tube, 'flushed');
  }
  await page.goto(`${server.url}/tubes/look`);
  await page.getByLabel('Token').fill('prn_some_x');
  await page.keyboard.press('Enter');
  await page.locator('main').getByRole('link', {name: 'Ended'}).waitFor();
  const back = page.getByRole('main').getByRole('button', {name: /Put back/});
  for (const [tube, shown] of [['look', [0, 0]], ['manage', [2, 1]]]) {
    await page.goto(`${server.url}/tubes/${tube}`);
    await page.locator('main').getByRole('link', {name: 'Ended'}).click();
    await eventually(() => ended_ids(page), [ids[tube]]);
    assert.equal(await back.count(), shown[0], tube);
    await page.goto(`${server.url}/ended/${ids[tube]}`);
    await page.locator('pre.body').waitFor();
    assert.equal(await back.count(), shown[1], tube);
  }
  server.mock.requests.length = 0;
  await page.goto(`${server.url}/tubes/blind`);
  await page.getByText('No grant of the user shows the jobs of this tube.').waitFor();
  assert.equal(await page.locator('main').getByRole('link', {name: 'Ended'}).count(), 0);
  await page.goto(`${server.url}/tubes/blind/ended`);
  await page.getByText('No grant of the user shows the jobs of this tube.').waitFor();
  assert.deepEqual(server.mock.requests.filter(({path}) => path.endsWith('/ended')), []);
}, {needs_mock: true});

page_test('A standby shows nothing that has ended, and what has when it leads', async (page, server) => {
  await server.keep('mail', {keep_seconds: 600});
  const [id] = end(server, 'mail', 'flushed');
  server.mock.node = {state: 'standby', cluster: {name: 'orders', node: 'b', leader: null, forwards: false, log: null}};
  for (const [path, there] of [['/tubes/mail/ended', `Put back job ${id}`], [`/ended/${id}`, 'Put back']]) {
    const standby = server.mock.node;
    server.mock.requests.length = 0;
    await page.goto(server.url + path);
    await page.getByRole('heading', {name: 'Standby'}).waitFor();
    assert.deepEqual(new Set(server.mock.requests.map(({path: asked}) => asked)), new Set(['/session', '/node']));
    server.mock.node = {state: 'serving', cluster: null};
    await button(page, there).waitFor();
    // And the other way round, as when its leader's process has ended.
    server.mock.node = standby;
    await page.getByRole('heading', {name: 'Standby'}).waitFor();
  }
}, {needs_mock: true});

// ---------------------------------------------------------------------------------------------- T7

const attacks = ['<script>window.hacked = 1</script>', '"><img src=x onerror="window.hacked = 1">', '\u202egpj.exe', '</pre></textarea></title><script>window.hacked=1</script>'];

page_test('T7 What jobs that have ended say is text', async (page, server, t) => {
  for (const text of attacks) {
    await t.test(JSON.stringify(text), async () => {
      await server.keep(text, {keep_seconds: 600});
      const job = server.queue.put(text, text, {key: text, from: text});
      server.queue.note(job, text, text);
      server.queue.remove(job, 'flushed', text);
      const tube = encodeURIComponent(text);
      const is_text = async () => {
        assert.equal(await page.evaluate(() => window.hacked), undefined);
        assert.equal(await page.locator('#app img, #app iframe, #app script, #app [onerror], #app [onload]').count(), 0);
      };
      await page.goto(`${server.url}/tubes/${tube}/ended`);
      await eventually(() => ended(page).then((found) => found.map((cells) => cells[3])), [visible(text)]);
      await is_text();
      await page.goto(`${server.url}/ended/${job.id}`);
      await eventually(() => page.locator('pre.body').evaluateAll((found) => found.map((each) => each.textContent)), [visible(text), visible(text)]);
      const shown = await page.locator('main').innerText();
      for (const name of ['By', 'Key', 'Died in']) assert.ok(shown.includes(`${name}\n${visible(text)}`), name);
      // By whom it ended, in which tube it died, and who wrote the note; how it ended is no word of theirs.
      assert.deepEqual((await page.locator('.notes bdi').allInnerTexts()).filter((each) => each !== 'flushed'), [visible(text), visible(text), visible(text)]);
      await is_text();
      await page.goto(`${server.url}/jobs/${job.id}`);
      await page.getByRole('link', {name: 'look at it'}).waitFor();
      await page.goto(`${server.url}/tubes/${tube}/ended`);
      await button(page, 'Put back…').click();
      await dialog(page).getByText(visible(text)).waitFor();
      server.queue.step_ms = 700;
      await confirm(page, 'Put back');
      await page.getByRole('region', {name: 'Operations'}).getByText(visible(text)).waitFor();
      await is_text();
      await announced(page, `1 job put back in ${visible(text)}.`);
      await page.goto(`${server.url}/jobs`);
      await page.getByLabel('Select all jobs of this page').check();
      await button(page, 'Delete…').click();
      await dialog(page).getByText(/can be put back/).first().waitFor();
      await is_text();
      await page.keyboard.press('Escape');
    });
  }
}, {needs_mock: true});

page_test('T7 A refusal to put back, and an address of one that has ended, are text', async (page, server) => {
  await server.keep('mail', {keep_seconds: 600});
  const [id] = end(server, 'mail', 'flushed');
  await page.goto(`${server.url}/ended/${id}`);
  server.mock.refuse = (method) => method === 'POST' && attacks[1];
  await button(page, 'Put back').click();
  await announced(page, attacks[1]);
  for (const text of attacks) {
    await page.goto(`${server.url}/ended/${encodeURIComponent(text)}`);
    await page.getByText('No job of this id that has ended is kept.').waitFor();
  }
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.locator('#app img, #app script').count(), 0);
}, {needs_mock: true});

page_test('Long names of ended jobs do not widen the page', async (page, server) => {
  const long = 'a-name-without-any-place-to-break-'.repeat(5);
  await server.keep(long, {keep_seconds: 600});
  const job = server.queue.put(long, 'x'.repeat(5000), {key: long, from: long});
  server.queue.note(job, long, long);
  server.queue.remove(job, 'flushed', long);
  const other = server.queue.put(long, 'x');
  const fits = async () => assert.deepEqual(await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]), [360, 360]);
  for (const path of [`/tubes/${long}/ended`, `/ended/${job.id}`]) {
    await page.goto(server.url + path);
    await page.getByRole('main').getByRole('button', {name: /Put back/}).first().waitFor();
    await fits();
  }
  await page.goto(`${server.url}/tubes/${long}/ended`);
  await button(page, 'Put back…').click();
  await dialog(page).getByText('Filter by age, priority and reserves').click();
  await fits();
  assert.equal(await dialog(page).evaluate((element) => element.scrollWidth > element.clientWidth), false);
  await page.keyboard.press('Escape');
  await page.goto(`${server.url}/jobs/${other.id}`);
  await button(page, 'Delete…').click();
  await dialog(page).getByText('It can be put back').waitFor();
  assert.equal(await dialog(page).evaluate((element) => element.scrollWidth > element.clientWidth), false);
  await confirm(page, 'Delete');
  await bar(page).waitFor();
  await fits();
}, {needs_mock: true, viewport: {width: 360, height: 740}, deviceScaleFactor: 2});
