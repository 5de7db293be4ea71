// Screens that are not part of the first load: when they are loaded, what is seen meanwhile, and what is said where they cannot be.

import assert from 'node:assert/strict';
import {eventually, page_test} from './support.mjs';

const heading = (page) => page.locator('main h1').innerText();
const focused = (page) => page.evaluate(() => document.activeElement?.textContent.trim());
const link = (page, name) => page.getByRole('navigation', {name: 'Screens'}).getByRole('link', {name, exact: true});

/** The names of the later files that the page asks for. */
function asked(page) {
  const names = [];
  const note = (request) => names.push(...(/\/(of_\w+)-\w+\.js$/.exec(request.url())?.slice(1) ?? []));
  page.on('request', note);
  return {names, stop: () => page.off('request', note)};
}

page_test('The first screens need none of the later files, and each of these is asked for once', async (page, server) => {
  const {names, stop} = asked(page);
  await page.goto(server.url);
  await page.locator('.tiles').first().waitFor();
  await link(page, 'Tubes').click();
  await eventually(() => heading(page), 'Tubes');
  // The times of jobs are far down on the first screen.
  await eventually(() => names, ['of_times']);
  for (const name of ['Jobs', 'Search', 'Jobs', 'Server', 'Connections']) {
    await link(page, name).click();
    await eventually(() => heading(page), name);
  }
  await eventually(() => names, ['of_times', 'of_jobs', 'of_server', 'of_leases']);
  stop();
});

page_test('A screen that comes late is read from its heading on', async (page, server) => {
  let go_on;
  const held = new Promise((resolve) => (go_on = resolve));
  await page.route(/\/of_jobs-/, async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(server.url);
  await link(page, 'Jobs').click();
  await eventually(() => focused(page), 'Loading…');
  assert.equal(await link(page, 'Jobs').getAttribute('aria-current'), 'page');
  go_on();
  await eventually(() => focused(page), 'Jobs');
  // The first screen of a page takes the focus from nobody, late or not.
  await page.goto(`${server.url}/search`);
  await eventually(() => heading(page), 'Search');
  assert.equal(await page.evaluate(() => document.activeElement === document.body), true);
  await page.unrouteAll();
});

page_test('A file that a server of another version does not have is said, and the page can be loaded again', async (page, server) => {
  await page.goto(server.url);
  await page.locator('.tiles').first().waitFor();
  await page.route(/\/of_jobs-/, (route) => route.fulfill({status: 404, contentType: 'application/problem+json', body: '{}'}));
  await link(page, 'Search').click();
  await page.getByRole('alert').getByText('The server does not answer, or it has another version than this page.').waitFor();
  await eventually(() => focused(page), 'This screen could not be loaded');
  // What is there works as before.
  await link(page, 'Tubes').click();
  await eventually(() => heading(page), 'Tubes');
  await link(page, 'Search').click();
  await page.unrouteAll();
  await page.getByRole('button', {name: 'Reload the page'}).click();
  await eventually(() => heading(page), 'Search');
});

page_test('A tube and a job can be the first screen', async (page, server) => {
  const id = await server.put('first', 'x', {state: 'buried'});
  await page.goto(`${server.url}/jobs/${id}`);
  await eventually(() => heading(page), `Job ${id}`);
  await page.goto(`${server.url}/tubes/first/buried`);
  await eventually(() => heading(page), 'Tube first');
});
