// Each screen loads and shows the numbers that the queue has.

import assert from 'node:assert/strict';
import {test} from 'node:test';
import {count, time} from '../../cmd/perenniald/console/src/format.js';
import {states} from './mock.mjs';
import {api, eventually, is_mock, open_server, page_test, rows} from './support.mjs';

const tile = (page, name) => page.locator('.tile', {has: page.locator('dt', {hasText: new RegExp(`^\\s*${name}$`)})}).locator('dd').first().innerText().then((text) => text.trim());

/** Some jobs of each state, whose numbers differ. */
async function fill(server, tube) {
  const many = {ready: 5, reserved: 2, delayed: 3, buried: 4};
  for (const state of states) for (let i = 0; i < many[state]; ++i) await server.put(tube, `${state} ${i}`, {state});
  return many;
}

page_test('Overview shows jobs by state, and the oldest ready job', async (page, server) => {
  await fill(server, 'over-view');
  if (is_mock) server.queue.put('slow', 'x', {age_seconds: 7300});
  await page.goto(server.url);
  await page.getByRole('heading', {name: 'Overview'}).waitFor();
  const stats = await server.stats();
  for (const state of states) await eventually(() => tile(page, state[0].toUpperCase() + state.slice(1)), count(stats[state]));
  if (is_mock) {
    await eventually(() => tile(page, 'Oldest ready job'), '2 h 1 min');
    assert.equal((await rows(page, 'Tubes with the oldest ready jobs'))[0][0], 'slow');
  }
  await page.locator('.plot canvas').nth(3).waitFor();
  assert.equal(await page.title(), 'Overview · Perennial');
});

page_test('Overview and Tube count parked jobs', async (page, server) => {
  server.queue.put('calls', 'x', {parked: true});
  server.queue.put('calls', 'x', {parked: true});
  server.queue.put('calls', 'x', {state: 'reserved'});
  await page.goto(server.url);
  await eventually(() => page.locator('.tile', {hasText: 'Ready'}).last().innerText().then((text) => text.replace(/\s+/g, ' ').trim()), 'Ready 2 0 urgent, 2 parked');
  await page.getByText('the ready jobs are parked').waitFor();
  await page.goto(`${server.url}/tubes/calls`);
  await page.locator('.facts.strip > div', {hasText: 'Parked'}).getByText('2', {exact: true}).waitFor();
  await eventually(() => page.getByText('parked', {exact: true}).count(), 2);
}, {needs_mock: true});

page_test('Overview warns of a drain and of a full disk', async (page, server) => {
  server.queue.draining = true;
  server.queue.store_state = 'low-space';
  await page.goto(server.url);
  await page.getByText('The server drains: it refuses new jobs').waitFor();
  await page.getByText('The disk has no space for new jobs: the state of the store is low-space.').waitFor();
}, {needs_mock: true});

page_test('Overview draws the history of a server that keeps one', async (page, server) => {
  const wave = Array.from({length: 600}, (_, index) => (index % 50 === 0 ? null : index % 60));
  server.mock.history = () => ({step_seconds: 1, ends_seconds_ago: 0.3,
    series: Object.fromEntries(['ready', 'reserved', 'delayed', 'buried', 'puts', 'deletes', 'timeouts'].map((name) => [name, wave]))});
  await page.goto(server.url);
  const day = page.getByRole('button', {name: '24 hours'});
  await day.click();
  await eventually(() => server.mock.requests.some(({query}) => query === '?series=server&span=86400'), true);
  await eventually(() => page.locator('.legend').first().innerText().then((text) => text.replace(/\s+/g, ' ')), 'in 59 out 59');
}, {needs_mock: true});

/** A history of six series with these values of ready jobs, at the step of its span. */
const history_of = (ready, step_seconds) => ({step_seconds, ends_seconds_ago: 0.3,
  series: Object.fromEntries(['ready', 'reserved', 'delayed', 'buried', 'puts', 'deletes'].map((name) => [name, name === 'ready' ? ready : ready.map(() => 0)]))});
const spans = (page) => page.getByRole('group', {name: 'Span of the charts'}).getByRole('button').allInnerTexts();
const legend = (page) => page.locator('.legend').first().innerText().then((text) => text.replace(/\s+/g, ' '));

page_test('Tube draws its history over the spans that the server names', async (page, server) => {
  server.queue.put('mail', 'x');
  server.mock.history = (series, span) => (series === 'tube:mail' ? history_of(Array(360).fill(span / 3600), 10) : null);
  await page.goto(`${server.url}/tubes/mail`);
  await eventually(() => spans(page), ['1 hour', '24 hours']);
  await eventually(() => legend(page), 'ready 1 reserved 0 delayed 0 buried 0');
  await page.getByRole('button', {name: '24 hours'}).click();
  await eventually(() => legend(page), 'ready 24 reserved 0 delayed 0 buried 0');
  assert.equal(await page.getByText('since this page was opened').count(), 0);
}, {needs_mock: true});

page_test('Tube of a real server has a history', async (page, server) => {
  await server.put('remembered', 'x');
  await eventually(async () => (await fetch(`${server.url}/api/v1/history?series=tube:remembered`)).status, 200);
  await page.goto(`${server.url}/tubes/remembered`);
  await eventually(() => spans(page), ['1 hour', '24 hours']);
  await page.getByRole('link', {name: 'Overview'}).click();
  await eventually(() => spans(page), ['10 minutes', '2 hours', '24 hours', '30 days']);
}, {needs_real: true});

page_test('Tube whose history comes later shows it when it is there', async (page, server) => {
  server.queue.put('mail', 'x');
  await page.clock.install();
  await page.goto(`${server.url}/tubes/mail`);
  await page.getByText('since this page was opened').waitFor();
  server.mock.history = () => history_of([7], 10);  // No line yet.
  await page.clock.fastForward(11000);
  await eventually(() => spans(page), ['1 hour', '24 hours']);
  assert.equal(await page.getByText('since this page was opened').count(), 1);
  server.mock.history = () => history_of([7, 8], 10);
  await page.clock.fastForward(11000);
  await eventually(() => legend(page), 'ready 8 reserved 0 delayed 0 buried 0');
  await eventually(() => page.getByText('since this page was opened').count(), 0);
}, {needs_mock: true});

page_test('Overview shows how long jobs waited and ran', async (page, server) => {
  if (is_mock) {
    server.queue.waits[6] = 10;  // From 0.5 s to 1 s.
    server.queue.runs.timeout[16] = 1;
  } else {
    await server.put('waited', 'x', {state: 'buried'});
  }
  await page.goto(server.url);
  const row = async (name) => (await rows(page, 'Waits and runs of jobs')).find((cells) => cells[0] === name);
  if (is_mock) {
    await eventually(() => row('Wait'), ['Wait', '10', '1 s', '1 s', '1 s', '1 s']);
    assert.deepEqual(await row('Run, timeout'), ['Run, timeout', '1', '1 d', 'over 1 d', 'over 1 d', 'over 1 d']);
    assert.deepEqual(await row('Run, closed'), ['Run, closed', '0', '–', '–', '–', '–']);
  } else {
    const {value: {run}} = await api(server, '/work-times');
    const buried = run.buried.counts.reduce((sum, each) => sum + each, 0);
    assert.ok(buried > 0);
    await eventually(async () => (await row('Run, buried'))?.[1], count(buried));
  }
  // Something is drawn.
  for (const bars of await page.locator('canvas.bars').all()) {
    await eventually(() => bars.evaluate((canvas) => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value > 0)), true);
  }
  assert.equal(await page.locator('canvas.bars').count(), 2);
});

page_test('Tubes lists, sorts and filters', async (page, server) => {
  for (const [tube, jobs] of [['list-a', 1], ['list-b', 3], ['list-c', 2], ['other/1', 5]]) for (let i = 0; i < jobs; ++i) await server.put(tube, 'x');
  await page.goto(`${server.url}/tubes?match=list-&sort=ready`);
  const names = async () => (await rows(page, 'Table of tubes')).map((cells) => cells[1]);
  await eventually(names, ['list-b', 'list-c', 'list-a']);
  await page.getByRole('button', {name: 'Ready', exact: true}).click();
  await eventually(names, ['list-a', 'list-c', 'list-b']);
  assert.equal(await page.locator('th[aria-sort]').getAttribute('aria-sort'), 'ascending');
  await page.getByRole('button', {name: 'Tube', exact: true}).click();
  await eventually(names, ['list-a', 'list-b', 'list-c']);
  await page.getByLabel('Filter').fill('o*r/');
  await page.getByText('No tube matches.').waitFor();
  await page.getByLabel('Filter').fill('her/');
  await eventually(names, ['other/1']);
  assert.equal((await rows(page, 'Table of tubes'))[0][3], '5');
  await page.getByRole('link', {name: 'other/1'}).click();
  await page.getByRole('heading', {name: 'Tube other/1'}).waitFor();
});

page_test('Tubes that were there lately are listed as gone', async (page, server) => {
  const id = await server.put('short-lived', 'x');
  await server.put('short-stays', 'x');
  if (is_mock) {
    server.queue.remove(server.queue.jobs.get(Number(id)));
    server.queue.tubes.delete('short-lived');
    server.queue.gone = ['short-lived', 'elsewhere'];
  } else {
    // The server has seen it.
    await eventually(async () => (await fetch(`${server.url}/api/v1/history?series=tube:short-lived&span=3600`)).status, 200);
    await server.command(`delete ${id}\r\n`);
    await server.command('use default\r\n');
  }
  await page.goto(`${server.url}/tubes?match=short-`);
  await eventually(() => rows(page, 'Table of tubes').then((found) => found.map((cells) => cells[1].replace(/seen .* ago/, 'seen'))), ['short-stays', 'short-lived gone, seen']);
  await page.getByText(/^1 of \d+ match, and 1 gone$/).waitFor();
  assert.equal(await page.getByRole('checkbox').count(), 1);
  await page.reload();
  await page.locator('tr.gone').waitFor();
});

page_test('Tubes shows 10,000 by drawing some', async (page, server) => {
  await server.put_all(Array.from({length: 10000}, (_, i) => `t-${String(i).padStart(5, '0')}`), 'x');
  await page.goto(`${server.url}/tubes?match=t-*&sort=name`);
  await page.getByText('10,000').first().waitFor();
  const region = page.getByRole('region', {name: 'Table of tubes'});
  for (const [name, where] of [['t-00000', 0], ['t-05000', 0.5], ['t-09999', 1]]) {
    await region.evaluate((element, part) => { element.scrollTop = part * (element.scrollHeight - element.clientHeight); }, where);
    await region.getByRole('link', {name, exact: true}).waitFor();
    assert.ok(await region.locator('tbody tr').count() <= 152);
  }
  const last = region.locator('tbody tr[data-row]').last();
  assert.equal(await last.getAttribute('aria-rowindex'), '10001');
  // What is drawn is where it would be if everything were drawn.
  const box = await region.getByRole('link', {name: 't-09999'}).boundingBox();
  const frame = await region.boundingBox();
  assert.ok(box.y > frame.y && box.y < frame.y + frame.height);
});

page_test('Tube shows its jobs by state', async (page, server) => {
  const many = await fill(server, 'by-state');
  await page.goto(`${server.url}/tubes/by-state`);
  const tabs = page.getByRole('navigation', {name: 'Jobs by state'});
  await eventually(() => tabs.getByRole('link').allInnerTexts().then((texts) => texts.map((text) => text.trim().replace(/\s+/g, ' '))),
    ['All 14', 'Ready 5', 'Reserved 2', 'Delayed 3', 'Buried 4', 'Failed']);
  for (const state of states) {
    await tabs.getByRole('link', {name: new RegExp(state, 'i')}).click();
    await eventually(() => rows(page, 'Table of jobs').then((found) => found.map((cells) => cells[2])), Array(many[state]).fill(state));
    assert.equal(new URL(page.url()).pathname, `/tubes/by-state/${state}`);
  }
  await page.locator('.plot canvas').nth(1).waitFor();
});

page_test('Tube says when there is none, or none any more', async (page, server) => {
  await page.goto(`${server.url}/tubes/nobody`);
  await page.getByText('There is no tube of this name now.').waitFor();
  server.queue.put('nobody', 'x');
  await page.getByRole('navigation', {name: 'Jobs by state'}).waitFor();
  server.queue.tubes.delete('nobody');
  await page.locator('.badge', {hasText: 'gone'}).waitFor();
}, {needs_mock: true});

page_test('Jobs come in pages, and each page has an address', async (page, server) => {
  const ids = [];
  for (let i = 0; i < 205; ++i) ids.push(await server.put('paged', `${i}`));
  await page.goto(`${server.url}/tubes/paged/ready`);
  const seen = async () => (await rows(page, 'Table of jobs')).map((cells) => cells[1]);
  await eventually(seen, ids.slice(0, 100));
  await page.getByRole('button', {name: 'Next page'}).click();
  await eventually(seen, ids.slice(100, 200));
  assert.equal(new URL(page.url()).search, `?after=${ids[99]}`);
  await page.reload();
  await eventually(seen, ids.slice(100, 200));
  await page.getByRole('button', {name: 'Next page'}).click();
  await eventually(seen, ids.slice(200));
  await page.goBack();
  await eventually(seen, ids.slice(100, 200));
  await page.getByRole('button', {name: 'First page'}).click();
  await eventually(seen, ids.slice(0, 100));
});

page_test('Jobs fills a page from short answers', async (page, server) => {
  for (let i = 0; i < 1500; ++i) await server.put('sparse', 'x', {state: i % 500 === 499 ? 'delayed' : 'ready'});
  await page.goto(`${server.url}/tubes/sparse/delayed`);
  await eventually(() => rows(page, 'Table of jobs').then((found) => found.length), 3);
});

page_test('Job says why it failed, the newest note first', async (page, server) => {
  const id = await server.put('noted', 'x', {state: 'buried'});
  for (const text of ['one', 'two', 'three', 'exit 3\n<img src=x onerror=alert(1)>']) await api(server, `/jobs/${id}/notes`, 'POST', {text});
  await page.goto(`${server.url}/jobs/${id}`);
  await page.getByText('the last 3 of 4 notes').waitFor();
  await eventually(() => page.locator('.notes pre').allInnerTexts(), ['exit 3\n<img src=x onerror=alert(1)>', 'three', 'two']);
  assert.equal(await page.locator('.notes img').count(), 0);
});

page_test('Job tells its life, the newest first, and goes on as it does', async (page, server) => {
  const id = await server.put('lives', 'x');
  await page.goto(`${server.url}/jobs/${id}`);
  const told = async () => (await page.getByRole('region', {name: 'Life'}).locator('p').allInnerTexts()).map((row) => row.replace(/, .*/, '').toLowerCase());
  await eventually(told, ['now: ready', 'put']);
  await api(server, `/jobs/${id}/notes`, 'POST', {text: 'seen'});
  await api(server, `/jobs/${id}/bury`, 'POST', {});
  await eventually(told, ['now: buried', 'note of attempt 0', 'put']);
});

page_test('Jobs of all tubes, with the first bytes of their bodies', async (page, server) => {
  const first = await server.put('all-a', 'one\ntwo', {state: 'buried'});
  const second = await server.put('all-b', Buffer.alloc(3000, 'z'), {state: 'buried'});
  await page.goto(`${server.url}/jobs?state=buried`);
  const seen = async (cell) => (await rows(page, 'Table of jobs')).filter((cells) => [first, second].includes(cells[1])).map((cells) => cells[cell]);
  await eventually(() => seen(2), ['all-a', 'all-b']);
  if (is_mock) assert.equal(server.mock.requests.some(({path}) => path.endsWith('/body')), false);
  await page.getByLabel('Show bodies').check();
  await eventually(() => seen(10), ['one two', 'z'.repeat(80)]);
  if (is_mock) assert.deepEqual(server.mock.requests.filter(({path}) => path.endsWith('/body')).map(({query}) => query), Array(2).fill('?offset=0&length=80'));
});

page_test('Jobs are filtered by their numbers, at an address of their own', async (page, server) => {
  const ids = [];
  for (let i = 0; i < 130; ++i) ids.push(await server.put('numbers', 'x', {priority: i}));
  await page.goto(`${server.url}/tubes/numbers/ready`);
  await eventually(() => rows(page, 'Table of jobs').then((found) => found.length), 100);
  await page.getByText('Filter by age, priority and reserves').click();
  await page.getByLabel('Priority, at least').fill('125');
  await page.getByLabel('Priority, at most').fill('127');
  await page.getByLabel('Reserves, at most').fill('0');
  await page.keyboard.press('Enter');
  const seen = async () => (await rows(page, 'Table of jobs')).map((cells) => cells[1]);
  await eventually(seen, ids.slice(125, 128));
  assert.equal(new URL(page.url()).search, '?priority_min=125&priority_max=127&reserves_max=0');
  await page.reload();
  await eventually(seen, ids.slice(125, 128));
  assert.equal(await page.getByLabel('Priority, at most').inputValue(), '127');
  await page.getByLabel('Age in seconds, at least').fill('86400');
  await page.getByRole('button', {name: 'Filter', exact: true}).click();
  await page.getByText('No job fits the filter.').waitFor();
  await page.goBack();
  await eventually(seen, ids.slice(125, 128));
  assert.equal(await page.getByLabel('Age in seconds, at least').inputValue(), '');
  await page.getByRole('button', {name: 'Clear filter'}).click();
  await eventually(() => seen().then((found) => found.length), 100);
  await page.getByRole('group', {name: 'All jobs that match'}).waitFor();

  if (!is_mock) return;  // The jobs of other tests are among all.
  await page.goto(`${server.url}/jobs?state=ready&priority_max=104&priority_min=3`);
  await eventually(() => seen().then((found) => found.length), 100);
  await page.getByRole('button', {name: 'Next page'}).click();
  await eventually(seen, ids.slice(103, 105));
  assert.equal(new URL(page.url()).search, `?state=ready&priority_min=3&priority_max=104&after=${ids[102]}`);
});

page_test('Jobs says what is wrong with a filter', async (page, server) => {
  await server.put('numbers', 'x');
  await page.goto(`${server.url}/tubes/numbers?priority_min=${encodeURIComponent('<img src=x onerror=alert(1)>')}`);
  await page.getByText(/priority_min.* must be /).waitFor();
  assert.equal(await page.locator('main img').count(), 0);
});

page_test('Job shows every field, and is found by its id', async (page, server) => {
  const id = await server.put('one', '{"b":[1,{}],"n":12345678901234567890.10}', {state: 'delayed', priority: 7});
  await page.goto(`${server.url}/tubes`);
  await page.getByRole('heading', {name: 'Tubes'}).waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('j');
  await page.getByLabel('Id').fill(id);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', {name: `Job ${id}`}).waitFor();
  const rows = page.locator('section[aria-label=Fields] .facts > div');
  await rows.first().waitFor();  // The heading is there before the job is.
  const fields = await rows.evaluateAll((found) =>
    Object.fromEntries(found.map((row) => [row.children[0].textContent, row.children[1].textContent])));
  const {value: job} = await api(server, `/jobs/${id}`);
  assert.equal(fields.Priority, '7, urgent');
  assert.equal(fields.Delay, '1 h');
  assert.equal(fields['Time to run'], time(job.ttr_seconds));
  assert.equal(fields.Size, '40 B');
  assert.match(fields['Time left'], /until it is ready$/);
  for (const counter of ['reserves', 'timeouts', 'releases', 'buries', 'kicks']) assert.equal(fields[counter[0].toUpperCase() + counter.slice(1)], String(job[counter]));
  const body = page.locator('pre.body');
  assert.equal(await body.innerText(), '{\n  "b": [\n    1,\n    {}\n  ],\n  "n": 12345678901234567890.10\n}');
  await page.getByRole('button', {name: 'Text'}).click();
  assert.equal(await body.innerText(), '{"b":[1,{}],"n":12345678901234567890.10}');
  await page.getByRole('button', {name: 'Hex'}).click();
  assert.match(await body.innerText(), /^00000000 {2}7b 22 62 22 .* {2}\{"b":/);
});

page_test('Jobs and Job say how often a job was reserved, and which of these attempts failed', async (page, server) => {
  const job = {state: 'reserved', reserves: 1, attempts: 0, tries: 5, left_seconds: 60};
  const {id} = server.queue.put('tries', 'x', job);
  server.queue.put('tries', 'x', {...job, state: 'buried', reserves: 6, attempts: 5});
  server.queue.put('tries', 'x', {reserves: 3, releases: 3});  // Nothing is counted without tries and back-off.
  server.queue.put('tries', 'x', {reserves: 3, releases: 3, attempts: 2});
  await page.goto(`${server.url}/tubes/tries`);
  const column = (name) => page.locator('th', {hasText: new RegExp(`^${name}$`)}).evaluate((cell) => cell.cellIndex);
  await eventually(async () => {
    const [reserves, failed] = [await column('Reserves'), await column('Failed')];
    return (await rows(page, 'Table of jobs')).map((cells) => [cells[reserves], cells[failed]]);
  }, [['1', '0 of 5'], ['6', '5 of 5'], ['3', '–'], ['3', '2']]);
  const fact = (name) => page.locator('.facts.list > div', {has: page.getByText(name, {exact: true})}).locator('dd').innerText();
  await page.goto(`${server.url}/jobs/${id}`);
  await eventually(() => fact('Tries'), 'number 1 of 5 is running');
  assert.equal(await fact('Reserves'), '1');
  assert.equal(await fact('Failed attempts'), '0 of 5');
  await page.goto(`${server.url}/jobs/${Number(id) + 1}`);
  await eventually(() => fact('Tries'), '5');
  await page.goto(`${server.url}/jobs/${Number(id) + 2}`);
  await eventually(() => fact('Tries'), 'no limit');
  assert.equal(await fact('Failed attempts'), '–');
}, {needs_mock: true});

page_test('Job shows what PHP has serialized', async (page, server) => {
  const id = await server.put('php', 'O:4:"Send":2:{s:2:"to";s:3:"a@b";s:5:"\0*\0no";i:7;}');
  await page.goto(`${server.url}/jobs/${id}`);
  const body = page.locator('pre.body');
  await eventually(() => body.innerText(), 'Send {\n  "to" => "a@b"\n  "no" (protected) => 7\n}');
  const views = page.getByRole('group', {name: 'Show the body as'}).getByRole('button');
  assert.deepEqual(await views.allInnerTexts(), ['JSON', 'PHP', 'Text', 'Hex']);
  await page.getByRole('button', {name: 'Text'}).click();
  assert.match(await body.innerText(), /^O:4:"Send"/);
  await page.getByRole('button', {name: 'PHP'}).click();
  assert.match(await body.innerText(), /^Send {/);
  await page.goto(`${server.url}/jobs/${await server.put('php', 'a:1:{i:0;')}`);
  await eventually(() => views.allInnerTexts(), ['JSON', 'Text', 'Hex']);
});

page_test('Job names the connection that holds it', async (page, server) => {
  const id = await server.put('held', 'x', {state: 'reserved'});
  if (is_mock) {
    server.queue.connections.set('41', {id: '41', address: '10.0.0.1:5000', user: 'anna', used: 'default', watched: [], watched_count: 0, held: 1, waiting: false, output_bytes: 0});
    server.queue.jobs.get(Number(id)).holder = '41';
  }
  const {value: {held_by}} = await api(server, `/jobs/${id}`);
  await page.goto(`${server.url}/jobs/${id}`);
  await page.getByText(`connection ${held_by.id} ${held_by.user === null ? '' : `of ${held_by.user} `}from ${held_by.address}`).waitFor();
  await page.getByRole('link', {name: `connection ${held_by.id}`}).click();
  await eventually(() => page.locator('tr[aria-current] th').allInnerTexts(), [held_by.id]);
  assert.equal((await rows(page, 'Table of connections'))[0][0], held_by.id);
});

page_test('Job leaves out who holds it where connections are not shown', async (page, server) => {
  server.mock.users = new Map([['token', {name: 'reader', may: {monitor: true, admin: false}}]]);
  const id = await server.put('held', 'x', {state: 'reserved'});
  server.queue.connections.set('41', {id: '41', address: '10.0.0.1:5000', user: null});
  server.queue.jobs.get(Number(id)).holder = '41';
  await page.goto(`${server.url}/jobs/${id}`);
  await page.getByLabel('Token').fill('token');
  await page.keyboard.press('Enter');
  await page.getByText('A worker holds it.').waitFor();
  assert.equal(await page.getByText('Held by').count(), 0);
}, {needs_mock: true});

page_test('Connections says when the one of a link is gone', async (page, server) => {
  await page.goto(`${server.url}/connections?id=18446744073709551000`);
  await page.getByText('Connection 18446744073709551000 is gone.').waitFor();
});

page_test('Job that does not exist is said to be none', async (page, server) => {
  await page.goto(`${server.url}/jobs/999999999`);
  await page.getByText('There is no job with this id.').waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('j');
  await page.getByLabel('Id').fill('999999998');
  await page.keyboard.press('Enter');
  await page.locator('dialog .problem', {hasText: /\w/}).waitFor();
});

page_test('Job with a large body is read in windows', async (page, server) => {
  const mebibytes = 50;
  const body = Buffer.alloc(mebibytes * 1024 * 1024, 'a');
  body.write('END', body.length - 3);
  const job = server.queue.put('large', body);
  await page.goto(`${server.url}/jobs/${job.id}`);
  await page.getByText('Bytes 0 to 65,535 of 52,428,800').waitFor();
  await page.getByRole('button', {name: 'Last'}).click();
  await page.getByText('Bytes 52,363,264 to 52,428,799 of 52,428,800').waitFor();
  await eventually(() => page.locator('pre.body').evaluate((element) => [element.textContent.length, element.textContent.slice(-3)]), [65536, 'END']);
  await page.getByRole('button', {name: 'Previous'}).click();
  await page.getByText('Bytes 52,297,728 to').waitFor();
  assert.ok(server.mock.requests.filter(({path}) => path.endsWith('/body')).length <= 4);
}, {needs_mock: true});

page_test('Connections shows who holds and waits', async (page, server) => {
  const connection = {address: '10.0.0.1:5000', user: null, used: 'default', watched: ['mail'], watched_count: 1, held: 2, waiting: false, output_bytes: 2048};
  server.queue.connections.set('1', {id: '1', ...connection});
  server.queue.connections.set('2', {id: '2', ...connection, user: 'anna', watched: ['a', 'b', 'c'], watched_count: 12, held: 0, waiting: true, output_bytes: 0});
  await page.goto(`${server.url}/connections`);
  await eventually(() => rows(page, 'Table of connections'), [
    ['1', '10.0.0.1:5000', 'none', 'works', '2', 'default', 'mail', '2 KiB', 'Close…'],
    ['2', '10.0.0.1:5000', 'anna', 'waits for a job', '0', 'default', 'a, b, c and 9 more', '0 B', 'Close…'],
  ]);
}, {needs_mock: true});

/** The rows of the panel without the times, which go on. */
const leases = (page) => rows(page, 'Table of leases').then((found) => found.map((cells) => cells.filter((cell) => !/ (s|min)$/.test(cell))));

page_test('Leases are shown where there are any: on Connections of all tubes, and on the page of a tube its own', async (page, server) => {
  const heading = page.getByRole('heading', {name: 'Leases over HTTP'});
  const asked = () => page.waitForResponse((response) => response.url().includes('/api/v1/leases'));
  const [mail, image] = ['mail', 'images'].map((tube) => server.queue.put(tube, 'x', {ttr_seconds: 900}));
  for (const path of ['/connections', '/tubes/mail']) {
    await Promise.all([asked(), page.goto(server.url + path)]);
    await page.locator('.pages').first().waitFor();
    assert.equal(await heading.count(), 0);
  }
  server.queue.lease(mail, {user: 'anna', address: '10.0.0.7:51820', ago_seconds: 125, left_seconds: 475});
  server.queue.lease(image, {ago_seconds: 125, left_seconds: 475});
  await eventually(() => leases(page), [[String(mail.id), 'anna', '10.0.0.7:51820', 'Take back…']]);
  const [[, , , held_for, ends_in]] = await rows(page, 'Table of leases');
  assert.match(held_for, /^2 min/);
  assert.match(ends_in, /^7 min/);
  await page.goto(`${server.url}/connections`);
  await eventually(() => leases(page), [[String(mail.id), 'mail', 'anna', '10.0.0.7:51820', 'Take back…'], [String(image.id), 'images', 'none', '10.0.0.9:51820', 'Take back…']]);
  await page.getByRole('region', {name: 'Table of leases'}).getByRole('link', {name: String(image.id), exact: true}).click();
  await page.getByRole('heading', {name: `Job ${image.id}`}).waitFor();
  await page.getByText('a lease over HTTP from 10.0.0.9:51820').waitFor();
  await page.goto(`${server.url}/jobs/${mail.id}`);
  await page.getByText('a lease over HTTP of anna from 10.0.0.7:51820').waitFor();
  await page.getByRole('button', {name: 'Take back…'}).waitFor();
  assert.equal(await page.getByText('A worker holds it.').count(), 0);
  server.queue.leases.clear();
  await page.goto(`${server.url}/connections`);
  await page.getByText('No connections.').waitFor();
  assert.equal(await heading.count(), 0);
}, {needs_mock: true});

page_test('Leases come in pages', async (page, server) => {
  const ids = Array.from({length: 130}, () => String(server.queue.lease(server.queue.put('mail', 'x')).job.id));
  const seen = () => leases(page).then((found) => found.map(([id]) => id));
  const turn = (name) => page.getByRole('navigation', {name: 'Pages of leases'}).getByRole('button', {name}).click();
  await page.goto(`${server.url}/tubes/mail`);
  await eventually(seen, ids.slice(0, 100));
  await turn('Next page');
  await eventually(seen, ids.slice(100));
  assert.equal(await page.getByRole('navigation', {name: 'Pages of leases'}).getByRole('button', {name: 'Next page'}).isDisabled(), true);
  await turn('First page');
  await eventually(seen, ids.slice(0, 100));
}, {needs_mock: true});

page_test('Leases are shown and asked for where the user manages the tube', async (page, server) => {
  server.mock.users = new Map([['token', {name: 'some', may: {monitor: true, admin: false}, tubes: {mine: ['inspect', 'manage'], theirs: ['inspect']}}]]);
  const [mine, theirs] = ['mine', 'theirs'].map((tube) => server.queue.lease(server.queue.put(tube, 'x', {ttr_seconds: 600}), {user: 'worker'}).job);
  await page.goto(`${server.url}/connections`);
  await page.getByLabel('Token').fill('token');
  await page.keyboard.press('Enter');
  await eventually(() => leases(page).then((found) => found.map(([id]) => id)), [String(mine.id)]);
  await page.goto(`${server.url}/tubes/mine`);
  await eventually(() => leases(page).then((found) => found.map(([id]) => id)), [String(mine.id)]);
  server.mock.requests.length = 0;
  await page.goto(`${server.url}/tubes/theirs`);
  await page.locator('tr[data-row]').first().waitFor();
  await page.goto(`${server.url}/jobs/${theirs.id}`);
  await page.getByText('A worker holds it.').waitFor();
  assert.equal(await page.getByText('Held by').count(), 0);
  assert.deepEqual(server.mock.requests.filter(({path}) => path === '/leases'), []);
}, {needs_mock: true});

page_test('Connections shows those of the queue', async (page, server) => {
  await page.goto(`${server.url}/connections`);
  // Connections of other tests may just be ending.
  await eventually(async () => {
    const {value} = await api(server, '/connections');
    const shown = (await rows(page, 'Table of connections')).map((cells) => cells[0]);
    return JSON.stringify(shown) === JSON.stringify(value.connections.map(({id}) => id));
  }, true);
});

page_test('Server shows its facts and its configuration', async (page, server) => {
  const {value} = await api(server, '/server');
  await page.goto(`${server.url}/server`);
  const facts = page.locator('section', {has: page.getByRole('heading', {name: 'Server', exact: true})});
  for (const text of [value.version, value.hostname, value.instance]) await facts.getByText(text, {exact: true}).waitFor();
  const {value: {yaml}} = await api(server, '/configuration');
  await eventually(() => page.locator('pre.body').evaluate((element) => element.textContent), yaml);
  assert.equal((await (await fetch(`${server.url}/licenses.txt`)).text()).includes('Apache License'), true);
});

page_test('Server shows its cluster, and what is wrong with it', async (page, server) => {
  server.queue.cluster_details = {name: 'orders', node: 'a', leads: true, epoch: 4, newest: 4711, applied: 4711, flushed: 4700, append_mean_seconds: 0.0031, append_failure: null,
    standbys: 2, standby_lag: 1, clock_ahead_seconds: 0.002, etcd_alarms_no_space: 0, etcd_alarms_corrupt: 0, settings_differ: 0};
  await page.goto(`${server.url}/server`);
  const facts = () => page.getByRole('region', {name: 'Cluster'}).or(page.locator('section[aria-labelledby=facts-cluster]')).innerText();
  await page.getByRole('heading', {name: 'Cluster'}).waitFor();
  for (const text of ['orders', 'leads', '1 entry', '4,711', 'takes entries', 'as the cluster’s'])
    assert.ok((await facts()).includes(text), `${text} in ${await facts()}`);
  await page.getByRole('button', {name: 'Hand over…'}).waitFor();
  Object.assign(server.queue.cluster_details, {append_failure: 'etcd: no space', standbys: 0, clock_ahead_seconds: -65, etcd_alarms_no_space: 2, settings_differ: 1});
  await page.goto(`${server.url}/server`);
  await page.getByText('none: nobody can take over').waitFor();
  for (const text of ['etcd: no space', '2 raised', '1 differs', '1 min 5 s behind']) assert.ok((await facts()).includes(text), `${text} in ${await facts()}`);
}, {needs_mock: true});

page_test('Server shows the store, certificates and the audit', async (page, server) => {
  if (is_mock) {
    server.queue.files_in_use = false;
    server.queue.certificates = [{listener: '0.0.0.0:1', left_seconds: 86400 * 60}, {listener: '0.0.0.0:2', left_seconds: 86400}, {listener: '0.0.0.0:3', left_seconds: -1}];
    server.queue.audit = [{age_seconds: 3, user: 'anna', action: 'kick', subject: 'mail', refused: false, via: 'queue', connection: '7', from: '10.0.0.1', left_out: 0},
      {age_seconds: 90, user: null, action: 'sign-in', subject: '', refused: true, via: 'http', connection: '0', from: 'unix', left_out: 4}];
  }
  const {value: details} = await api(server, '/server/details');
  await page.goto(`${server.url}/server`);
  const fact = (title, name) => page.locator('section', {has: page.getByRole('heading', {name: title, exact: true})}).locator('.facts > div', {has: page.getByText(name, {exact: true})}).locator('dd').innerText();
  await eventually(() => fact('Server', 'RocksDB'), details.rocksdb_version);
  assert.match(await fact('Store', 'Log'), /^\d+ files?, at most \S+ MiB$/);
  assert.match(await fact('Store', 'Free on the disk'), / [GT]iB$/);
  if (!is_mock) return page.getByText('There is an audit where there are users.').waitFor();
  await eventually(() => rows(page, 'Table of certificates'), [['0.0.0.0:1', 'valid', '60 d'], ['0.0.0.0:2', 'ends soon', '1 d'], ['0.0.0.0:3', 'expired', '–']]);
  await eventually(() => rows(page, 'Table of the audit'), [
    ['3 s', 'anna', 'kick', 'mail', 'allowed', 'queue', '10.0.0.1', '7'],
    ['1 min 30 s', 'nobody', 'sign-in', '–', 'refused and 4 before', 'http', 'unix', '–']]);
  await page.getByText('could not be used when it was read last').waitFor();
});

page_test('An address without a screen says so', async (page, server) => {
  for (const path of ['/nothing', '/tubes/a/sleeping', '/tubes/%E0%A4%A', '/jobs/1/2']) {
    await page.goto(server.url + path);
    await page.getByRole('heading', {name: 'No such screen'}).waitFor();
  }
});

test('Numbers of the protocol and of the API agree', {skip: is_mock && 'needs a real server'}, async () => {
  const server = await open_server();
  await fill(server, 'agree');
  const {value} = await api(server, '/tubes/agree');
  assert.deepEqual(Object.fromEntries(states.map((state) => [state, value[state]])), await server.stats_tube('agree'));
  await server.stop();
});
