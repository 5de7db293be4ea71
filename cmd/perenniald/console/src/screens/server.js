// The server itself: facts, settings in force, and what only its administrators do.

import {useState} from 'preact/hooks';
import {announce} from '../announce.js';
import {get, post} from '../api.js';
import {ask} from '../dialogs.js';
import {bytes, count, rate, time, visible, visible_line} from '../format.js';
import {html} from '../html.js';
import {Badge, Icon} from '../icon.js';
import {refresh, use_poll, use_topic} from '../live.js';
import {EmptyRow, Facts, Heading, Problem} from '../parts.js';

/** @param {{may: import('../types.js').May}} props */
export function ServerScreen({may}) {
  const {value, error} = use_poll((signal) => get('/server', signal), [], {seconds: 0});
  const server = /** @type {import('../types.js').Server|undefined} */ (use_topic('server') ?? value);
  const details = /** @type {import('../types.js').Details|undefined} */ (use_poll((signal) => get('/server/details', signal), [], {seconds: 10}).value);
  const [path, set_path] = useState('');
  const [read, set_read] = useState(/** @type {FileRead[]|null} */ (null));
  if (!server) return html`<${Heading} title="Server" /><${Problem} error=${error} />`;
  const {store, totals, connections} = server;
  return html`
    <${Heading} title="Server">
      ${server.draining && html`<${Badge} kind="warn" icon="warning">drains<//>`}
      ${may.admin && html`<div class="actions end" role="group" aria-label="This server">
        <button onClick=${() => make_checkpoint(set_path)}>Make a checkpoint</button>
        <button onClick=${() => ask_reload(set_read)}>Reload…</button>
        ${details?.cluster?.leads && html`<button onClick=${() => ask_handover(details.cluster, server.jobs.reserved)}>Hand over…</button>`}
        ${server.draining ? html`<button onClick=${() => undrain()}>End the drain</button>`
          : html`<button class="danger apart" onClick=${() => ask_drain(server)}>Drain…</button>`}
      </div>`}
    <//>
    ${path && html`<p class="banner">The checkpoint is in <code class="name">${visible(path)}</code></p>`}
    ${read && html`<${Read} files=${read} />`}
    ${details && !details.files_in_use && html`<p class="banner warn"><${Icon} name="warning" /> A file of users or of TLS could not be used when it was read last: the older one is in use.</p>`}
    <div class="cards">
      <section aria-labelledby="facts-server"><h2 id="facts-server">Server</h2><${Facts} class="list" facts=${[
        ['Version', server.version], ['Host', server.hostname], ['Instance', html`<code>${server.instance}</code>`],
        ['Up for', time(server.uptime_seconds)], ['Memory', bytes(server.memory_bytes)], ['CPU time', time(server.cpu_seconds)],
        ['Loop lag', time(server.loop_lag_seconds)], ['Largest job', bytes(server.job_bytes_max)], ...(details ? process_facts(details) : [])]} /></section>
      <section aria-labelledby="facts-store"><h2 id="facts-store">Store</h2><${Facts} class="list" facts=${[
        ['State', html`<${Badge} kind=${store.state === 'ok' ? 'good' : 'warn'} icon=${store.state === 'ok' ? 'ok' : 'warning'}>${store.state}<//>`],
        ['Takes puts', store.accepts_puts ? 'yes' : 'no'], ['Durability', store.durability], ['Sync p99', time(store.sync_p99_seconds)],
        ['Transitions', count(store.transitions)],
        ['Last checkpoint', store.checkpoint_age_seconds < 0 ? 'none' : `${time(store.checkpoint_age_seconds)} ago`],
        ...(details ? store_facts(details) : [])]} /></section>
      <section aria-labelledby="facts-totals"><h2 id="facts-totals">Since the start</h2><${Facts} class="list" facts=${
        Object.entries(totals).map(([name, value]) => [name[0].toUpperCase() + name.slice(1).replaceAll('_', ' '), count(value)])} /></section>
      <section aria-labelledby="facts-connections"><h2 id="facts-connections">Connections</h2><${Facts} class="list" facts=${[
        ['All', count(connections.all)], ['Producers', count(connections.producers)], ['Workers', count(connections.workers)],
        ['Waiting', count(connections.waiting)]]} /></section>
      ${details?.cluster && html`<section aria-labelledby="facts-cluster"><h2 id="facts-cluster">Cluster</h2><${Facts} class="list" facts=${cluster_facts(details.cluster)} /></section>`}
    </div>
    ${details?.certificates.length > 0 && html`<${Certificates} certificates=${details.certificates} />`}
    ${may.admin && html`<${Audit} /><${Configuration} />`}
    <p class="quiet foot">This console contains Preact, htm and uPlot: <a href="/licenses.txt" target="_blank" rel="noopener">their licences</a>. Programs
      use <a href="/api/v1/openapi.json" target="_blank" rel="noopener">the API</a>.</p>`;
}

/** @param {import('../types.js').Details} details @returns {[string, any][]} */
const process_facts = (details) => [
  ['Resident memory', bytes(details.resident_bytes)],
  ['File descriptors', `${details.descriptors_open === null ? 'many' : count(details.descriptors_open)} of ${count(details.descriptors_max)}`],
  ['RocksDB', details.rocksdb_version], ['OpenSSL', details.openssl_version],
];

/** @param {import('../types.js').Details} details @returns {[string, any][]} */
const store_facts = ({disk_free_bytes, store}) => [
  ['Free on the disk', bytes(disk_free_bytes)],
  ['Log', `${count(store.log_files)} ${store.log_files === 1 ? 'file' : 'files'}, at most ${bytes(store.log_bytes_max)}`],
  ['Batches', count(store.batches)], ['Jobs in a batch', rate(store.batch_jobs_mean)], ['Written', bytes(store.batch_bytes)],
];

const clock_off_seconds = 10;  // As the alert has it.

/** @param {number} n @param {string} text Of what there should be none. */
const none_of = (n, text) => (n ? html`<${Badge} kind="warn" icon="warning">${count(n)} ${text}<//>` : 'none');

/** @param {import('../types.js').ClusterDetails} cluster @returns {[string, any][]} */
const cluster_facts = (cluster) => [
  ['Cluster', html`<bdi class="name">${visible_line(cluster.name)}</bdi>`],
  ['This node', html`<bdi class="name">${visible_line(cluster.node)}</bdi> <${Badge} kind=${cluster.leads ? 'good' : 'warn'} icon=${cluster.leads ? 'ok' : 'warning'}>${cluster.leads ? 'leads' : 'does not lead'}<//>`],
  ['Standbys', cluster.standbys ? count(cluster.standbys) : html`<${Badge} kind="warn" icon="warning">none: nobody can take over<//>`],
  ['The slowest is behind', `${count(cluster.standby_lag)} ${cluster.standby_lag === 1 ? 'entry' : 'entries'}`],
  ['Newest entry', count(cluster.newest)], ['On this disk', count(cluster.flushed)], ['Epoch', count(cluster.epoch)],
  ['Append, in the mean', time(cluster.append_mean_seconds)],
  ['etcd', cluster.append_failure === null ? 'takes entries' : html`<${Badge} kind="bad" icon="warning">${visible_line(cluster.append_failure)}<//>`],
  ['Alarms of etcd', none_of(cluster.etcd_alarms_no_space + cluster.etcd_alarms_corrupt, 'raised')],
  ['Settings unlike the leader’s', none_of(cluster.settings_differ, cluster.settings_differ === 1 ? 'differs' : 'differ')],
  ['Clock', Math.abs(cluster.clock_ahead_seconds) < clock_off_seconds ? 'as the cluster’s'
    : html`<${Badge} kind="warn" icon="warning">${time(Math.abs(cluster.clock_ahead_seconds))} ${cluster.clock_ahead_seconds > 0 ? 'ahead' : 'behind'}<//>`],
];

const soon_seconds = 14 * 86400;

/** @param {{certificates: import('../types.js').Details['certificates']}} props */
function Certificates({certificates}) {
  return html`<section><h2>Certificates</h2>
    <div class="scroll" tabindex="0" role="region" aria-label="Table of certificates"><table>
      <thead><tr><th scope="col">Listener</th><th scope="col">State</th><th class="number" scope="col">Ends in</th></tr></thead>
      <tbody>${certificates.map(({listener, left_seconds}) => html`<tr key=${listener} data-row>
        <th scope="row"><bdi class="name">${visible_line(listener)}</bdi></th>
        <td>${left_seconds <= 0 ? html`<${Badge} kind="bad" icon="warning">expired<//>`
          : left_seconds < soon_seconds ? html`<${Badge} kind="warn" icon="warning">ends soon<//>` : html`<${Badge} kind="good" icon="ok">valid<//>`}</td>
        <td class="number">${left_seconds > 0 ? time(left_seconds) : '–'}</td></tr>`)}</tbody>
    </table></div></section>`;
}

function Audit() {
  const {value, error} = use_poll((signal) => get('/audit', signal), [], {seconds: 5});
  const lines = /** @type {import('../types.js').AuditLine[]} */ (value?.lines ?? []);
  return html`<section><h2>Audit</h2><${Problem} error=${error} />
    <div class="scroll tall" tabindex="0" role="region" aria-label="Table of the audit"><table>
      <thead><tr><th class="number" scope="col">Ago</th><th scope="col">User</th><th scope="col">Action</th><th scope="col">Of what</th>
        <th scope="col">Result</th><th scope="col">Via</th><th scope="col">From</th><th class="number" scope="col">Connection</th></tr></thead>
      <tbody>${lines.map((line, index) => html`<tr key=${index} data-row>
        <td class="number">${time(line.age_seconds)}</td>
        <th scope="row">${line.user === null ? html`<span class="quiet">nobody</span>` : html`<bdi>${visible_line(line.user)}</bdi>`}</th>
        <td>${visible_line(line.action || '–')}</td><td class="preview"><bdi>${visible_line(line.subject || '–')}</bdi></td>
        <td>${line.refused ? html`<${Badge} kind="warn" icon="gone">refused<//>` : html`<${Badge} kind="good" icon="ok">allowed<//>`}${
          line.left_out > 0 && html` <span class="quiet">and ${count(line.left_out)} before</span>`}</td>
        <td>${line.via}</td><td><bdi class="name">${visible_line(line.from)}</bdi></td><td class="number">${line.via === 'http' ? '–' : line.connection}</td></tr>`)}
        ${value && !lines.length && html`<${EmptyRow} columns=${8} empty="Nothing is recorded. There is an audit where there are users." />`}
        ${!value && !error && html`<${EmptyRow} columns=${8} empty="Loading…" />`}</tbody>
    </table></div></section>`;
}

/** @typedef {{name: string, error: string|null}} FileRead */

/** @param {{files: FileRead[]}} props */
const Read = ({files}) => html`<div class="banner"><p>${files.length ? 'These were read again:' : 'There is nothing to read again: no file of users, and no listener with TLS.'}</p>
  ${files.map(({name, error}) => html`<p key=${name}><${Badge} kind=${error === null ? 'good' : 'bad'} icon=${error === null ? 'ok' : 'warning'}>${
    error === null ? 'in use' : 'not used'}<//> <bdi class="name">${visible_line(name)}</bdi>${error !== null && html` <span>${visible(error)}</span>`}</p>`)}</div>`;

/** @param {(read: FileRead[]) => void} show */
function ask_reload(show) {
  ask({
    title: 'Reload files',
    text: 'Reads the file of users, and the certificates and keys of TLS, again. Connections whose user or right is gone are closed. A file that cannot be used changes nothing.',
    action: 'Reload',
    run: async () => {
      const {read} = await post('/reload');
      show(read);
      const bad = read.filter(({error}) => error !== null).length;
      announce(bad ? `${count(bad)} of ${count(read.length)} cannot be used.` : 'The files are read again.');
      refresh();
    },
  });
}

/** @param {import('../types.js').ClusterDetails} cluster @param {number} reserved Jobs. */
function ask_handover({node, standbys}, reserved) {
  ask({
    title: `Hand over the lead of ${visible_line(node)}`,
    text: 'What this node has accepted is committed and answered, and the standby that comes first leads then. Connections end, and what workers hold becomes ready again, as when a server restarts.',
    note: () => standbys === 0 && html`<p>There is <strong>no standby</strong> that could lead.</p>`,
    action: 'Hand over',
    danger: true,
    job_count: reserved,
    run: async () => {
      await post('/cluster/handover');
      announce('Another node leads in a moment.');
    },
  });
}

function Configuration() {
  const {value, error} = use_poll((signal) => get('/configuration', signal), [], {seconds: 0});
  return html`<section><h2 id="configuration">Configuration in force</h2><${Problem} error=${error} />
    ${value && html`<pre class="body" tabindex="0" role="region" aria-labelledby="configuration">${visible(value.yaml)}</pre>`}</section>`;
}

/** @param {import('../types.js').Server} server */
function ask_drain({jobs}) {
  ask({
    title: 'Drain the server',
    text: 'The server refuses every new job until the drain ends, and serves everything else.',
    action: 'Drain',
    danger: true,
    job_count: jobs.ready + jobs.reserved + jobs.delayed + jobs.buried,
    run: async () => {
      await post('/drain');
      announce('The server drains.');
      refresh();
    },
  });
}

async function undrain() {
  try {
    await post('/undrain');
    announce('The drain has ended.');
    refresh();
  } catch (error) {
    announce(error.message);
  }
}

/** @param {(path: string) => void} show */
async function make_checkpoint(show) {
  announce('A checkpoint is being made.');
  try {
    show((await post('/checkpoint')).path);
    announce('The checkpoint is made.');
    refresh();
  } catch (error) {
    announce(error.message);
  }
}
