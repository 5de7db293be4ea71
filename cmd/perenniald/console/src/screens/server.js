// The server itself: facts, settings in force, and what only its administrators do.

import {useState} from 'preact/hooks';
import {announce} from '../announce.js';
import {get, post} from '../api.js';
import {ask} from '../dialogs.js';
import {bytes, count, time, visible} from '../format.js';
import {html} from '../html.js';
import {Badge} from '../icon.js';
import {refresh, use_poll, use_topic} from '../live.js';
import {Facts, Heading, Problem} from '../parts.js';

/** @param {{may: import('../types.js').May}} props */
export function ServerScreen({may}) {
  const {value, error} = use_poll((signal) => get('/server', signal), [], {seconds: 0});
  const server = /** @type {import('../types.js').Server|undefined} */ (use_topic('server') ?? value);
  const [path, set_path] = useState('');
  if (!server) return html`<${Heading} title="Server" /><${Problem} error=${error} />`;
  const {store, totals, connections} = server;
  return html`
    <${Heading} title="Server">
      ${server.draining && html`<${Badge} kind="warn" icon="warning">drains<//>`}
      ${may.admin && html`<div class="actions end" role="group" aria-label="This server">
        <button onClick=${() => make_checkpoint(set_path)}>Make a checkpoint</button>
        ${server.draining ? html`<button onClick=${() => undrain()}>End the drain</button>`
          : html`<button class="danger apart" onClick=${() => ask_drain(server)}>Drain…</button>`}
      </div>`}
    <//>
    ${path && html`<p class="banner">The checkpoint is in <code class="name">${visible(path)}</code></p>`}
    <div class="cards">
      <section aria-labelledby="facts-server"><h2 id="facts-server">Server</h2><${Facts} class="list" facts=${[
        ['Version', server.version], ['Host', server.hostname], ['Instance', html`<code>${server.instance}</code>`],
        ['Up for', time(server.uptime_seconds)], ['Memory', bytes(server.memory_bytes)], ['CPU time', time(server.cpu_seconds)],
        ['Loop lag', time(server.loop_lag_seconds)], ['Largest job', bytes(server.job_bytes_max)]]} /></section>
      <section aria-labelledby="facts-store"><h2 id="facts-store">Store</h2><${Facts} class="list" facts=${[
        ['State', html`<${Badge} kind=${store.state === 'ok' ? 'good' : 'warn'} icon=${store.state === 'ok' ? 'ok' : 'warning'}>${store.state}<//>`],
        ['Takes puts', store.accepts_puts ? 'yes' : 'no'], ['Durability', store.durability], ['Sync p99', time(store.sync_p99_seconds)],
        ['Transitions', count(store.transitions)],
        ['Last checkpoint', store.checkpoint_age_seconds < 0 ? 'none' : `${time(store.checkpoint_age_seconds)} ago`]]} /></section>
      <section aria-labelledby="facts-totals"><h2 id="facts-totals">Since the start</h2><${Facts} class="list" facts=${
        Object.entries(totals).map(([name, value]) => [name[0].toUpperCase() + name.slice(1).replaceAll('_', ' '), count(value)])} /></section>
      <section aria-labelledby="facts-connections"><h2 id="facts-connections">Connections</h2><${Facts} class="list" facts=${[
        ['All', count(connections.all)], ['Producers', count(connections.producers)], ['Workers', count(connections.workers)],
        ['Waiting', count(connections.waiting)]]} /></section>
    </div>
    ${may.admin && html`<${Configuration} />`}
    <p class="quiet foot">This console contains Preact, htm and uPlot: <a href="/licenses.txt" target="_blank" rel="noopener">their licences</a>. Programs
      use <a href="/api/v1/openapi.json" target="_blank" rel="noopener">the API</a>.</p>`;
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
