// A server without jobs to show: a standby of a cluster, and one that loads its jobs. Neither is a mistake, and each becomes a console by itself.

import assert from 'node:assert/strict';
import {eventually, page_test} from './support.mjs';

const cluster = () => ({name: 'orders', node: 'b', leader: {node: 'a', client_address: '10.0.0.1:11300', url: 'http://10.0.0.1:11380/'}, forwards: true,
  log: {epoch: 4, read: 5200, applied: 5190, flushed: 5166, forwarded_connections: 3}});

/** What a list of facts says. */
const facts = (page, name) => page.getByRole('region', {name}).locator('dl > div').evaluateAll((rows) =>
  Object.fromEntries(rows.map((row) => [row.querySelector('dt').innerText, row.querySelector('dd').innerText])));

page_test('A standby says that it is one, and who leads', async (page, server) => {
  server.mock.node = {state: 'standby', cluster: cluster()};
  await page.goto(`${server.url}/tubes/mail`);
  await page.getByRole('heading', {name: 'Standby'}).waitFor();
  await page.getByText('This node follows the leader of its cluster, and has no jobs to show.').waitFor();
  assert.deepEqual(await facts(page, 'Cluster'), {'Cluster': 'orders', 'This node': 'b', 'Leader': 'a', 'Clients reach it at': '10.0.0.1:11300',
    'Its console': 'http://10.0.0.1:11380/', 'Clients of this node': 'passed on to the leader: 3 now'});
  assert.deepEqual(await facts(page, 'Log'), {Behind: '10 entries', Read: '5,200', Applied: '5,190', 'On its disk': '5,166', Epoch: '4'});
  assert.equal(await page.getByRole('link', {name: 'http://10.0.0.1:11380/'}).getAttribute('href'), 'http://10.0.0.1:11380/');
  // There is nothing to go to, and nothing else is asked for.
  assert.equal(await page.getByRole('navigation').count(), 0);
  assert.deepEqual(new Set(server.mock.requests.map(({path}) => path)), new Set(['/session', '/node']));
  assert.equal(server.mock.streams, 0);
}, {needs_mock: true});

page_test('A standby without a leader, a peer address or the right to see its log says so', async (page, server) => {
  server.mock.node = {state: 'standby', cluster: {...cluster(), leader: null, forwards: false, log: null}};
  await page.goto(server.url);
  await eventually(() => facts(page, 'Cluster').then((told) => [told.Leader, told['Its console'], told['Clients of this node']]), ['no node leads', undefined, 'refused']);
  assert.equal(await page.getByRole('region', {name: 'Log'}).count(), 0);
  server.mock.node.cluster.leader = {node: 'a', client_address: '10.0.0.1:11300', url: null};
  await eventually(() => facts(page, 'Cluster').then((told) => told['Its console']), 'not known: it has no peer_address');
}, {needs_mock: true});

page_test('A standby that becomes the leader shows its console, and the other way round', async (page, server) => {
  await server.put('mail', 'x');
  server.mock.node = {state: 'standby', cluster: cluster()};
  await page.goto(`${server.url}/tubes/mail`);
  await page.getByRole('heading', {name: 'Standby'}).waitFor();
  server.mock.node = {state: 'loading', cluster: cluster()};
  await page.getByText('The server loads its jobs.').waitFor();
  server.mock.node = {state: 'serving', cluster: cluster()};
  await page.getByRole('heading', {name: 'Tube mail'}).waitFor();
  await page.getByRole('button', {name: 'Live'}).waitFor();
  // Its process ends, and comes back as a standby.
  await server.mock.stop();
  server.mock.node = {state: 'standby', cluster: cluster()};
  await server.mock.restart();
  await page.getByRole('heading', {name: 'Standby'}).waitFor();
}, {needs_mock: true});

page_test('A server that loads its jobs becomes a console', async (page, server) => {
  server.mock.node = {state: 'loading', cluster: null};
  await page.goto(server.url);
  await page.getByRole('heading', {name: 'Not serving yet'}).waitFor();
  assert.equal(await page.getByRole('region', {name: 'Cluster'}).count(), 0);
  server.mock.node = {state: 'serving', cluster: null};
  await page.getByRole('heading', {name: 'Overview'}).waitFor();
}, {needs_mock: true});

page_test('A standby with users asks who it is first', async (page, server) => {
  server.mock.users = new Map([['prn_k1_anna', {name: 'anna', may: {monitor: true, admin: true}}]]);
  server.mock.node = {state: 'standby', cluster: cluster()};
  await page.goto(server.url);
  await page.getByLabel('Token').fill('prn_k1_anna');
  await page.getByRole('button', {name: 'Sign in'}).click();
  await page.getByRole('heading', {name: 'Standby'}).waitFor();
  await page.getByRole('button', {name: 'Sign out'}).click();
  await page.getByLabel('Token').waitFor();
}, {needs_mock: true});

page_test('What another node says of itself is text', async (page, server) => {
  const attack = '"><img src=x onerror=alert(1)>';
  server.mock.node = {state: 'standby', cluster: {...cluster(), leader: {node: attack, client_address: attack, url: `http://${attack}/`}}};
  await page.goto(server.url);
  await eventually(() => facts(page, 'Cluster').then((told) => told['Clients reach it at']), attack);
  assert.equal(await page.locator('main img').count(), 0);
}, {needs_mock: true});
