// The search in bodies: what it finds, page after page, and each way in which it does not come to its end.

import assert from 'node:assert/strict';
import {announced, changes, eventually, is_mock, page_test, rows} from './support.mjs';

const button = (page, name) => page.getByRole('button', {name, exact: true});
const ids = async (page) => (await rows(page, 'Table of jobs')).map((cells) => cells[1]);
const said = (page, text) => page.locator('.found p', {hasText: text}).waitFor();
const searches = (server) => server.mock.requests.filter(({path}) => path === '/search').map(({query}) => query);

page_test('Search finds jobs, and its address can be linked', async (page, server) => {
  const first = await server.put('seek-a', 'a needle & more', {state: 'buried'});
  await server.put('seek-a', 'hay');
  const second = await server.put('seek-b', 'hay, needle & mo', {state: 'delayed'});
  await server.put('seek-b', 'needle without more');
  await page.goto(server.url);
  await page.getByRole('link', {name: 'Search', exact: true}).click();
  await page.getByRole('heading', {name: 'Search', exact: true}).waitFor();
  assert.equal(await page.title(), 'Search · Perennial');
  await page.getByLabel('Text').fill('needle & mo');
  await button(page, 'Search').click();
  await eventually(() => ids(page), [first, second]);
  await said(page, /^Search ended: [\d,]+ bodies looked at, 2 jobs found\.$/);
  await announced(page, '2 jobs found.');
  assert.equal(new URL(page.url()).search, '?q=needle%20%26%20mo');

  await page.getByLabel('Tube').fill('seek-b');
  await page.getByRole('checkbox', {name: 'delayed'}).check();
  await page.getByRole('checkbox', {name: 'ready'}).check();
  await page.keyboard.press('Enter');
  await eventually(() => ids(page), [second]);
  assert.equal(new URL(page.url()).search, '?q=needle%20%26%20mo&tube=seek-b&state=ready%2Cdelayed');
  await said(page, '2 bodies looked at, 1 job found');
  await page.reload();
  await eventually(() => ids(page), [second]);
  assert.equal(await page.getByLabel('Tube').inputValue(), 'seek-b');
  assert.deepEqual(await Promise.all(['ready', 'buried'].map((name) => page.getByRole('checkbox', {name}).isChecked())), [true, false]);

  await page.goBack();
  await eventually(() => ids(page), [first, second]);
  assert.equal(await page.getByLabel('Tube').inputValue(), '');
  if (is_mock) assert.equal(searches(server).at(-1), '?q=needle%20%26%20mo&limit=100');
});

page_test('Search finds a value in JSON, by its path', async (page, server) => {
  const first = await server.put('seek-path', '{"customer": {"id": 42}}');
  await server.put('seek-path', '{"customer": {"id": "42"}}');
  await server.put('seek-path', 'customer.id is 42');
  await page.goto(`${server.url}/search?q=42&tube=seek-path`);
  await said(page, '3 jobs found');
  await page.getByLabel('JSON path').fill('$.customer.id');
  await button(page, 'Search').click();
  await eventually(() => ids(page), [first]);
  await said(page, 'Bodies that hold 42 at $.customer.id');
  assert.equal(new URL(page.url()).search, '?q=42&path=%24.customer.id&tube=seek-path');
  await page.reload();
  await eventually(() => ids(page), [first]);
  assert.equal(await page.getByLabel('JSON path').inputValue(), '$.customer.id');
  await page.getByLabel('JSON path').fill('customer');
  await button(page, 'Search').click();
  await page.getByText('path must be a path such as $.customer.id').waitFor();
});

page_test('Search says that nothing is found', async (page, server) => {
  await server.put('seek-none', 'hay');
  await page.goto(`${server.url}/search?q=no-such-needle&tube=seek-none`);
  await page.getByText('No body holds this text.').waitFor();
  await said(page, 'Search ended: 1 body looked at, 0 jobs found.');
  await page.goto(`${server.url}/search?q=hay&tube=no-such-tube`);
  await said(page, 'Search ended: 0 bodies looked at, 0 jobs found.');
  assert.equal(await button(page, 'Go on').count(), 0);
});

page_test('Search that is asked for again is made again', async (page, server) => {
  const first = await server.put('seek-again', 'needle');
  await page.goto(`${server.url}/search?q=needle&tube=seek-again`);
  await eventually(() => ids(page), [first]);
  const second = await server.put('seek-again', 'needle');
  await button(page, 'Search').click();
  await eventually(() => ids(page), [first, second]);
});

page_test('Search goes on by itself through pages in which nothing is', async (page, server) => {
  server.mock.search_bodies_max = 10;
  const put = [];
  for (let i = 0; i < 55; ++i) put.push(await server.put('sparse', i === 34 || i === 51 ? 'needle' : 'hay'));
  await page.goto(`${server.url}/search?q=needle`);
  await said(page, 'Search ended: 55 bodies looked at, 2 jobs found.');
  assert.deepEqual(await ids(page), [put[34], put[51]]);
  assert.deepEqual(searches(server).map((query) => new URLSearchParams(query).get('after')), [null, ...[9, 19, 29, 39, 49].map((index) => put[index])]);
}, {needs_mock: true});

page_test('Search shows what is found before it ends', async (page, server) => {
  server.mock.search_bodies_max = 5;
  for (let i = 0; i < 10; ++i) await server.put('early', 'needle');
  server.mock.before_answer = (method, path) => {
    if (path === '/search' && searches(server).length === 2) server.mock.search_ms = 60000;
  };
  await page.goto(`${server.url}/search?q=needle`);
  await said(page, 'Looking: 5 bodies looked at, 5 jobs found so far.');
  assert.equal((await ids(page)).length, 5);
}, {needs_mock: true});

page_test('Search rests at 200 jobs, and goes on when it is told', async (page, server) => {
  for (let i = 0; i < 450; ++i) await server.put('many', 'needle');
  await page.goto(`${server.url}/search?q=needle`);
  for (const found of [200, 400]) {
    await said(page, `${found} bodies looked at, ${found} jobs found. There may be more.`);
    assert.equal((await ids(page)).length, found);
    assert.equal(searches(server).length, found / 100);
    await button(page, 'Go on').click();
  }
  await said(page, 'Search ended: 450 bodies looked at, 450 jobs found.');
  assert.equal(new Set(await ids(page)).size, 450);
}, {needs_mock: true});

page_test('Search is stopped by its button and by Escape, and goes on', async (page, server) => {
  server.mock.search_bodies_max = 5;
  for (let i = 0; i < 12; ++i) await server.put('slow', 'needle');
  const hold = () => {
    const held = searches(server).length + 2;
    server.mock.before_answer = (method, path) => {
      if (path === '/search' && searches(server).length === held) server.mock.search_ms = 60000;
    };
  };
  hold();
  await page.goto(`${server.url}/search?q=needle`);
  await eventually(() => server.mock.is_searching && server.mock.search_ms, 60000);
  await said(page, 'Looking: 5 bodies');
  await button(page, 'Stop').click();
  await said(page, 'Stopped: 5 bodies looked at, 5 jobs found.');
  await eventually(() => server.mock.is_searching, false);
  assert.equal(searches(server).length, 2);

  server.mock.search_ms = 0;
  hold();
  await button(page, 'Go on').click();
  await said(page, 'Looking: 10 bodies');
  await page.getByLabel('Text').focus();
  await page.keyboard.press('Escape');
  await said(page, 'Stopped: 10 bodies looked at, 10 jobs found.');
  await announced(page, 'Stopped: 10 bodies');
  await eventually(() => server.mock.is_searching, false);
  assert.equal(await page.getByLabel('Text').inputValue(), 'needle');
  server.mock.search_ms = 0;
  await button(page, 'Go on').click();
  await said(page, 'Search ended: 12 bodies looked at, 12 jobs found.');
}, {needs_mock: true});

page_test('Search ends when its screen is left', async (page, server) => {
  server.mock.search_ms = 60000;
  await page.goto(`${server.url}/search?q=needle`);
  await eventually(() => server.mock.is_searching, true);
  await page.getByRole('link', {name: 'Tubes'}).click();
  await eventually(() => server.mock.is_searching, false);
}, {needs_mock: true});

page_test('Search waits while another one runs', async (page, server) => {
  await server.put('busy', 'needle');
  server.mock.is_searching = true;
  await page.goto(`${server.url}/search?q=needle`);
  await said(page, 'Another search runs. Try again when it has ended. This page does so by itself: try 1 of 10.');
  await announced(page, 'Another search runs.');
  server.mock.is_searching = false;
  await said(page, 'Search ended: 1 body looked at, 1 job found.');
  assert.equal(searches(server).length, 2);
}, {needs_mock: true});

page_test('Search does not wait for ever, and can be stopped while it waits', async (page, server) => {
  server.mock.is_searching = true;
  await page.clock.install();
  await page.goto(`${server.url}/search?q=needle`);
  await said(page, 'try 1 of 10');
  // The page's time stands still between the steps: on a slow machine the two seconds of a try were over before the click.
  await page.clock.pauseAt(await page.evaluate(() => Date.now()) + 100);
  await button(page, 'Stop').click();
  await said(page, 'Stopped: 0 bodies');
  await page.clock.fastForward(5000);
  assert.equal(searches(server).length, 1);
  await button(page, 'Go on').click();
  for (let tries = 1; tries <= 10; ++tries) {
    await said(page, `try ${tries} of 10`);
    await page.clock.fastForward(2100);
  }
  await page.locator('.problem', {hasText: 'Another search runs. Try again when it has ended.'}).waitFor();
  assert.equal(searches(server).length, 12);
  server.mock.is_searching = false;
  await button(page, 'Go on').click();
  await said(page, 'Search ended: 0 bodies');
  assert.equal(await page.locator('.problem').count(), 0);
}, {needs_mock: true, locale: 'en-GB'});  // A page of its own: its clock is not the world's.

page_test('Search says a refusal, and when the server is gone', async (page, server) => {
  await server.put('refused', 'needle');
  server.mock.refuse = (method, path) => path === '/search' && 'The user anna may not do this here.';
  await page.goto(`${server.url}/search?q=needle`);
  await page.locator('.problem', {hasText: 'The user anna may not do this here.'}).waitFor();
  server.mock.refuse = null;
  await server.mock.stop();
  await button(page, 'Go on').click();
  await page.locator('.problem', {hasText: 'The server does not answer.'}).waitFor();
  await server.mock.restart();
  await button(page, 'Go on').click();
  await said(page, 'Search ended: 1 body looked at, 1 job found.');
}, {needs_mock: true});

page_test('Search for what the server does not look for is refused in its words', async (page, server) => {
  await page.goto(`${server.url}/search?q=${'é'.repeat(501)}`);
  await page.locator('.problem', {hasText: 'longer than 1000'}).waitFor();
  await page.goto(`${server.url}/search?q=x&state=asleep`);
  await page.locator('.problem', {hasText: 'state must be some of'}).waitFor();
  assert.equal(await button(page, 'Go on').count(), 0);
  // The form asks for no such thing in the first place.
  const problem = () => page.getByLabel('Text').evaluate((input) => input.validationMessage);
  await page.getByLabel('Text').fill('é'.repeat(501));
  assert.equal(await problem(), 'At most 1,000 bytes: these are 1,002.');
  await page.getByLabel('Text').fill('é'.repeat(500));
  assert.equal(await problem(), '');
  await page.getByLabel('Text').fill('');
  await button(page, 'Search').click();
  assert.match(page.url(), /q=x&state=asleep$/);
});

page_test('Jobs that are found are acted on, and the rows show it', async (page, server) => {
  const put = [];
  for (let i = 0; i < 5; ++i) put.push(await server.put(`acted-${i % 2}`, 'needle in acted', {state: 'buried'}));
  await page.goto(`${server.url}/search?q=needle%20in%20acted&state=buried`);
  await eventually(() => ids(page), put);
  await page.getByRole('checkbox', {name: `Select job ${put[1]}`, exact: true}).click();
  await page.getByRole('checkbox', {name: `Select job ${put[2]}`, exact: true}).click();
  await button(page, 'Kick').click();
  await announced(page, '2 jobs kicked.');
  await eventually(async () => (await rows(page, 'Table of jobs')).map((cells) => cells[3]), ['buried', 'ready', 'ready', 'buried', 'buried']);
  await button(page, 'Delete…').click();
  await page.getByRole('dialog').getByRole('button', {name: 'Delete', exact: true}).click();
  await announced(page, '2 jobs deleted.');
  await eventually(() => ids(page), [put[0], put[3], put[4]]);
  if (is_mock) {
    assert.equal(searches(server).length, 1);
    // What others do is seen when it is asked for.
    server.queue.remove(server.queue.jobs.get(Number(put[3])));
    await page.keyboard.press('r');
    await eventually(() => ids(page), [put[0], put[4]]);
  }
});

page_test('What is typed as soon as a screen is there stays in its field', async (page, server) => {
  await page.goto(server.url);
  await page.getByRole('heading', {name: 'Overview'}).waitFor();
  // Before the first frame of the new screen, when nobody has told its effects yet.
  await page.evaluate(() => new MutationObserver((_changes, observer) => {
    const field = document.querySelector('main form[role=search] [data-filter]');
    if (!(field instanceof HTMLInputElement)) return;
    observer.disconnect();
    field.focus();
    document.execCommand('insertText', false, 'needle');
  }).observe(document.body, {childList: true, subtree: true}));
  await page.keyboard.press('g');
  await page.keyboard.press('f');
  const field = page.getByLabel('Text', {exact: true});
  await field.waitFor();
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => requestAnimationFrame(done), 100))));
  await page.keyboard.type(' of keys');
  assert.equal(await field.inputValue(), 'needle of keys');
});

page_test('Search by the keyboard alone', async (page, server) => {
  const put = [await server.put('keys', 'needle of keys'), await server.put('keys', 'needle of keys')];
  await page.goto(server.url);
  await page.getByRole('heading', {name: 'Overview'}).waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('f');
  await page.getByRole('heading', {name: 'Search', exact: true}).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('needle of keys');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');  // Past the path.
  await page.keyboard.type('keys');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Space');
  await page.keyboard.press('Enter');
  await eventually(() => ids(page), put);
  assert.equal(new URL(page.url()).search, '?q=needle%20of%20keys&tube=keys&state=ready');
  await said(page, 'Search ended: 2 bodies');
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('x');
  await page.getByText('1 selected').waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', {name: `Job ${put[1]}`}).waitFor();
  await page.goBack();
  await eventually(() => ids(page), put);
  await said(page, 'Search ended');
  await page.keyboard.press('Escape');  // Nothing runs: it leads up.
  await page.getByRole('heading', {name: 'Overview'}).waitFor();
  if (is_mock) assert.deepEqual(changes(server), []);
});
