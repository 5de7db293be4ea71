// The whole server at a glance: what is wrong, then numbers. The age of the oldest ready job is the first of them: it says whether the workers keep up.
// Whoever may not see the server sees their tubes.

import {useEffect, useState} from 'preact/hooks';
import {get} from '../api.js';
import {Chart, history_series, use_history} from '../charts.js';
import {bytes, count, rate, time} from '../format.js';
import {frame_rate, frame_series} from '../frames.js';
import {html} from '../html.js';
import {Badge, Icon} from '../icon.js';
import {use_later} from '../later.js';
import {use_poll, use_topic} from '../live.js';
import {EmptyRow, Heading, Oldest, PausedBadge, Problem, TubeLink, age_kind} from '../parts.js';
import {Problems} from '../problems.js';

const puts = (frame) => frame.server.totals.puts;
const deletes = (frame) => frame.server.totals.deletes;

/** @param {{may: import('../types.js').May}} props */
export function Overview({may}) {
  const server = /** @type {import('../types.js').Server|undefined} */ (use_topic('server'));
  const oldest = use_poll((signal) => get('/tubes?sort=oldest_ready_seconds&order=desc&limit=10', signal), []);
  const tubes = oldest.value?.tubes;
  // What is further down is drawn when the numbers are seen.
  const [is_seen, set_is_seen] = useState(false);
  useEffect(() => set_is_seen(true), []);
  const times = use_later(is_seen && server ? 'times' : undefined);
  if (may.monitor && !server) return html`<${Heading} title="Overview" /><p class="quiet">Loading…</p>`;
  return html`
    <${Heading} title="Overview">${server && html`<span class="quiet">${server.hostname}, up for ${time(server.uptime_seconds)}</span>`}<//>
    <${Problems} server=${server} tubes=${tubes} may=${may} />
    ${server ? html`<${Numbers} server=${server} first=${tubes?.[0]} />`
      : html`<p class="quiet">These are your tubes. The numbers of the whole server need the verb <code>monitor</code>.</p>`}
    <h2>Tubes with the oldest ready jobs</h2>
    <${Problem} error=${oldest.error} />
    <div class="scroll" tabindex="0" role="region" aria-label="Tubes with the oldest ready jobs">
      <table>
        <thead><tr><th scope="col">Tube</th><th class="number" scope="col">Oldest ready</th><th class="number" scope="col">Ready</th>
          <th class="number" scope="col">Reserved</th><th class="number" scope="col">Delayed</th><th class="number" scope="col">Buried</th>
          <th class="number" scope="col">Waiting</th></tr></thead>
        <tbody>${(tubes ?? []).map((tube) => html`<tr key=${tube.name} data-row>
          <th class="tube" scope="row"><${TubeLink} name=${tube.name} /> <${PausedBadge} seconds=${tube.pause_left_seconds} /></th>
          ${tube.ready === undefined ? html`<td colspan="6" class="quiet">its counters need the verb <code>inspect</code></td>` : html`
            <td class="number"><${Oldest} seconds=${tube.oldest_ready_seconds} /></td>
            <td class="number">${count(tube.ready)}</td><td class="number">${count(tube.reserved)}</td><td class="number">${count(tube.delayed)}</td>
            <td class="number">${count(tube.buried)}</td><td class="number">${count(tube.waiting)}</td>`}</tr>`)}
          ${tubes && !tubes.length && html`<${EmptyRow} columns=${7} empty=${may.monitor ? 'No tubes.' : 'No tubes that you may see.'} />`}
        </tbody>
      </table>
    </div>
    ${is_seen && server && html`<${Charts} />${times && html`<${times.WorkTimes} />`}`}`;
}

/** @param {{server: import('../types.js').Server, first: import('../types.js').Tube|undefined}} props First: the tube with the oldest ready job. */
function Numbers({server, first}) {
  const age = first ? first.oldest_ready_seconds : server.oldest_ready_seconds;
  const in_rate = frame_rate(puts);
  const out_rate = frame_rate(deletes);
  const {jobs, connections, store, limits} = server;
  const of = (/** @type {number} */ used, /** @type {number|null} */ most, text = count) => `${text(used)}${most ? ` of ${text(most)}` : ''}`;
  return html`
    <dl class="tiles">
      <div class=${`tile first ${age_kind(age)}`}><dt>Oldest ready job</dt><dd><${Oldest} seconds=${age} /></dd>
        <dd class="quiet one-line">${server.parked > 0 && server.parked === jobs.ready ? 'the ready jobs are parked' : age > 0 ? first && html`in <${TubeLink} name=${first.name} />` : 'no job waits'}</dd></div>
      <${Tile} name="Ready" icon="ready" value=${count(jobs.ready)} note=${`${count(jobs.urgent)} urgent${server.parked ? `, ${count(server.parked)} parked` : ''}`} />
      <${Tile} name="Reserved" icon="reserved" value=${count(jobs.reserved)} note=${`${count(connections.workers)} workers`} />
      <${Tile} name="Delayed" icon="delayed" value=${count(jobs.delayed)} />
      <${Tile} name="Buried" icon="buried" value=${count(jobs.buried)} note=${jobs.buried ? 'wait for a kick' : ''} />
      <${Tile} name="In" value=${in_rate === null ? '–' : `${rate(in_rate)}/s`} note=${`${count(server.totals.puts)} puts`} />
      <${Tile} name="Out" value=${out_rate === null ? '–' : `${rate(out_rate)}/s`} note=${`${count(server.totals.deletes)} deletes`} />
    </dl>
    <dl class="facts strip">
      <div><dt>Store</dt><dd><${Badge} kind=${store.state === 'ok' ? 'good' : 'warn'} icon=${store.state === 'ok' ? 'ok' : 'warning'}>${store.state}<//></dd></div>
      ${server.cluster && html`<div><dt>Cluster</dt><dd><${Badge} kind=${server.cluster.leads ? 'good' : 'warn'} icon=${server.cluster.leads ? 'ok' : 'warning'}>${
        server.cluster.node} ${server.cluster.leads ? 'leads' : 'does not lead'}<//></dd></div>`}
      <div><dt>Sync p99</dt><dd>${time(store.sync_p99_seconds)}</dd></div>
      <div><dt>Loop lag</dt><dd>${time(server.loop_lag_seconds)}</dd></div>
      <div><dt>Connections</dt><dd>${of(connections.all, limits.connections_max)}, ${count(connections.waiting)} waiting</dd></div>
      <div><dt>Tubes</dt><dd>${of(server.tubes, limits.tubes_max)}</dd></div>
      <div><dt>Memory</dt><dd>${of(server.memory_bytes, limits.memory_bytes_max, bytes)}</dd></div>
      <div><dt>Disk</dt><dd>${bytes(limits.disk_free_bytes)} free</dd></div>
      <div><dt>Timeouts</dt><dd>${count(server.totals.timeouts)}</dd></div>
      ${server.totals.damaged > 0 && html`<div><dt>Damaged</dt><dd><${Badge} kind="bad" icon="warning">${count(server.totals.damaged)}<//></dd></div>`}
    </dl>`;
}

/** @param {{name: string, icon?: any, value: string, note?: string}} props */
const Tile = ({name, icon, value, note}) => html`<div class="tile">
  <dt>${icon && html`<span class=${icon}><${Icon} name=${icon} /></span> `}${name}</dt><dd>${value}</dd><dd class="quiet">${note ?? ''}</dd></div>`;

const flow = [{name: 'in', kind: 'in'}, {name: 'out', kind: 'out'}];
const states = ['ready', 'reserved', 'delayed', 'buried'].map((name) => ({name, kind: name}));
const timeouts = [{name: 'timeouts', kind: 'buried'}];
const latency = [{name: 'sync p99', kind: 'in'}, {name: 'loop lag', kind: 'out'}];

function Charts() {
  const {history, chooser} = use_history('server');
  const seen = history ? {
    flow: history_series(history, ['puts', 'deletes']),
    states: history_series(history, ['ready', 'reserved', 'delayed', 'buried']),
    timeouts: history_series(history, ['timeouts']),
  } : {
    flow: frame_series({in: (_, index) => frame_rate(puts, index), out: (_, index) => frame_rate(deletes, index)}),
    states: frame_series(Object.fromEntries(states.map(({name}) => [name, ({server}) => server.jobs[name]]))),
    timeouts: frame_series({timeouts: (_, index) => frame_rate(({server}) => server.totals.timeouts, index)}),
  };
  const delays = frame_series({sync: ({server}) => server.store.sync_p99_seconds, lag: ({server}) => server.loop_lag_seconds});
  return html`
    <div class="heading"><h2>Charts</h2>${chooser}${history === null && html`<span class="quiet">since this page was opened</span>`}</div>
    <div class="charts">
      <${Chart} title="Jobs in and out, per second" lines=${flow} ...${seen.flow} format=${rate} />
      <${Chart} title="Jobs by state" lines=${states} ...${seen.states} format=${count} />
      <${Chart} title="Timeouts, per second" lines=${timeouts} ...${seen.timeouts} format=${rate} />
      <${Chart} title="Delay of sync and loop, since this page was opened" lines=${latency} ...${delays} format=${time} />
    </div>`;
}
