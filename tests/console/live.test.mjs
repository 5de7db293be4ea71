// Numbers move by themselves: by one stream for a page, by polling where there is none, and not while nobody looks.

import assert from 'node:assert/strict';
import {eventually, page_test} from './support.mjs';

const ready = (page) => page.locator('.tile', {hasText: 'Ready'}).last().locator('dd').first().innerText();
const live = (page) => page.locator('button.live').innerText().then((text) => text.trim());
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

page_test('Numbers follow the queue, by one stream', async (page, server) => {
  await server.put('flow', 'x');
  await page.goto(`${server.url}/tubes/flow`);
  const tab = () => page.getByRole('link', {name: /^\s*Ready/}).locator('b').innerText();
  await eventually(tab, '1');
  await server.put('flow', 'x');
  await eventually(tab, '2');
  await eventually(() => live(page), 'Live');
  if (server.mock) assert.equal(server.mock.streams, 1);
  await page.getByRole('link', {name: 'Overview'}).click();
  await page.getByRole('heading', {name: 'Overview'}).waitFor();
  if (server.mock) {
    await eventually(() => server.mock.streams, 1);
    await page.goto('about:blank');
    await eventually(() => server.mock.streams, 0);
  }
});

page_test('A hidden page has no stream', async (page, server) => {
  await page.goto(server.url);
  await eventually(() => server.mock.streams, 1);
  const hide = (hidden) => page.evaluate((is_hidden) => {
    Object.defineProperty(document, 'hidden', {value: is_hidden, configurable: true});
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
  await hide(true);
  await eventually(() => server.mock.streams, 0);
  await wait(600);
  const before = server.mock.requests.length;
  await wait(2500);
  assert.equal(server.mock.requests.length, before);
  await hide(false);
  await eventually(() => server.mock.streams, 1);
}, {needs_mock: true});

page_test('p pauses, and goes on', async (page, server) => {
  server.queue.put('t', 'x');
  await page.goto(server.url);
  await eventually(() => ready(page), '1');
  await page.keyboard.press('p');
  await eventually(() => live(page), 'Paused');
  await eventually(() => server.mock.streams, 0);
  server.queue.put('t', 'x');
  await wait(2500);
  assert.equal(await ready(page), '1');
  await page.keyboard.press('p');
  await eventually(() => ready(page), '2');
  await eventually(() => live(page), 'Live');
}, {needs_mock: true});

page_test('Without a stream it polls, each request after the last answer', async (page, server) => {
  server.mock.streams_max = 0;
  const open = new Map();
  let most = 0;
  server.mock.before_answer = async (method, path) => {
    if (path === '/events') return;
    open.set(path, (open.get(path) ?? 0) + 1);
    most = Math.max(most, open.get(path));
    await wait(400);
    open.set(path, open.get(path) - 1);
  };
  await page.goto(`${server.url}/tubes`);
  await eventually(() => live(page), 'Polling');
  server.queue.put('later', 'x');
  await page.getByRole('link', {name: 'later'}).waitFor();
  most = 0;
  const before = server.mock.requests.length;
  await wait(5000);
  assert.equal(most, 1);
  const asked = server.mock.requests.slice(before).filter(({path}) => path === '/server').length;
  assert.ok(asked >= 1 && asked <= 3, `${asked} requests in 5 s`);
}, {needs_mock: true});

page_test('A server that is gone is said to be, and what was seen stays', async (page, server) => {
  server.queue.put('t', 'x');
  await page.goto(server.url);
  await eventually(() => ready(page), '1');
  await server.mock.stop();
  await eventually(() => live(page), 'No connection');
  assert.equal(await ready(page), '1');
  server.queue.put('t', 'x');
  await server.mock.restart();
  await eventually(() => live(page), 'Live');
  await eventually(() => ready(page), '2');
}, {needs_mock: true});

const no_answer = (page) => page.getByText('The server does not answer.');

page_test('A page that says that the server does not answer is not live', async (page, server) => {
  await server.put('t', 'x');
  await page.goto(server.url);
  await eventually(() => live(page), 'Live');
  await page.route('**/api/v1/tubes?*', (route) => route.abort());  // The stream goes on.
  await no_answer(page).waitFor();
  await eventually(() => live(page), 'No connection');
  await page.unroute('**/api/v1/tubes?*');
  await eventually(() => live(page), 'Live');
  assert.equal(await no_answer(page).count(), 0);
});

page_test('What was asked for while the server was gone is asked for again', async (page, server) => {
  const id = await server.put('t', 'a letter');
  await page.route('**/api/v1/jobs/*/body*', (route) => route.abort());
  await page.goto(`${server.url}/jobs/${id}`);
  await no_answer(page).waitFor();
  await page.unroute('**/api/v1/jobs/*/body*');
  await eventually(() => page.locator('pre.body').innerText(), 'a letter');
  assert.equal(await no_answer(page).count(), 0);
});

page_test('A server that stands still is not live', async (page, server) => {
  server.queue.put('t', 'x');
  await page.goto(server.url);
  await eventually(() => live(page), 'Live');
  server.mock.is_silent = true;
  await eventually(() => live(page), 'No connection');
  assert.equal(await ready(page), '1');
  server.queue.put('t', 'x');
  server.mock.is_silent = false;
  await server.mock.stop();  // What it was asked meanwhile it does not answer.
  await server.mock.restart();
  await eventually(() => live(page), 'Live');
  await eventually(() => ready(page), '2');
}, {needs_mock: true});

page_test('A page that was opened while the server was gone comes up by itself', async (page, server) => {
  await page.route('**/api/v1/session*', (route) => route.abort());
  await page.goto(server.url);
  await page.getByText('The server does not answer.').waitFor();
  await page.unroute('**/api/v1/session*');
  await page.getByRole('heading', {name: 'Overview'}).waitFor();
});

page_test('The frame and the chosen theme are there before the script is', async (page, server) => {
  await page.goto(server.url);
  await page.getByLabel('Theme').selectOption('dark');
  await page.route('**/app-*.js', () => {});  // It never comes.
  await page.goto(`${server.url}/tubes`, {waitUntil: 'commit'});
  const screens = page.getByRole('navigation', {name: 'Screens'}).getByRole('link');
  await eventually(() => screens.allInnerTexts(), ['Overview', 'Tubes', 'Jobs', 'Ended', 'Search', 'Schedules', 'Connections', 'Server']);
  assert.equal(await page.locator('html').getAttribute('data-theme'), 'dark');
  await page.unroute('**/app-*.js');
  await page.goto(`${server.url}/tubes`);
  await page.getByRole('heading', {name: 'Tubes'}).waitFor();
  // The script goes on with what is there.
  assert.deepEqual(await screens.allInnerTexts(), ['Overview', 'Tubes', 'Jobs', 'Ended', 'Search', 'Schedules', 'Connections', 'Server']);
  assert.equal(await page.locator('header').count(), 1);
  assert.equal(await page.getByLabel('Theme').inputValue(), 'dark');
  await page.getByLabel('Theme').selectOption('system');
}, {viewport: {width: 1280, height: 800}});

page_test('The first numbers need one request, and a page one stream', async (page, server) => {
  await server.put('first', 'x');
  const answered = new Promise((resolve) => (server.release = resolve));
  server.mock.before_answer = (method, path) => (path === '/session' ? Promise.resolve() : answered);
  await page.goto(server.url, {waitUntil: 'commit'});
  await page.locator('.tile', {hasText: 'Ready'}).nth(1).locator('dd', {hasText: /^1$/}).waitFor();
  server.release();
  await page.getByRole('button', {name: 'Live'}).waitFor();
  const asked = (wanted) => server.mock.requests.filter(({path}) => path === wanted).length;
  assert.equal(asked('/session'), 1);
  assert.equal(asked('/events'), 1);
  assert.equal(asked('/server'), 0);
}, {needs_mock: true});
