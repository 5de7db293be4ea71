// The whole server at a glance. The age of the oldest ready job comes first: it says whether the workers keep up.

import {useEffect, useState} from 'preact/hooks';
import {ApiError, get} from '../api.js';
import {Chart, history_series, use_history} from '../charts.js';
import {bytes, count, rate, time} from '../format.js';
import {frame_rate, frame_series} from '../frames.js';
import {WorkTimes} from '../histogram.js';
import {html} from '../html.js';
import {Badge, Icon} from '../icon.js';
import {use_poll, use_topic} from '../live.js';
import {EmptyRow, Heading, Oldest, PausedBadge, Problem, TubeLink, age_kind} from '../parts.js';

const puts = (frame) => frame.server.totals.puts;
const deletes = (frame) => frame.server.totals.deletes;

const not_granted = new ApiError(403, 'No grant of the user allows this.');

/** @param {{may: import('../types.js').May}} props */
export function Overview({may}) {
  const server = use_topic('server');
  const oldest = use_poll((signal) => get('/tubes?sort=oldest_ready_seconds&order=desc&limit=10', signal), []);
  // Where it is granted, the stream tells it.
  const refused = may.monitor ? null : not_granted;
  // What is further down is drawn when the numbers are seen.
  const [is_seen, set_is_seen] = useState(false);
  useEffect(() => set_is_seen(true), []);
  if (!server) return html`<${Heading} title="Overview" /><${Problem} error=${refused} />${!refused && html`<p class="quiet">Loading…</p>`}`;
  const first = oldest.value?.tubes[0];
  const age = first ? first.oldest_ready_seconds : server.oldest_ready_seconds;
  const in_rate = frame_rate(puts);
  const out_rate = frame_rate(deletes);
  const {jobs, connections, store} = server;
  return html`
    <${Heading} title="Overview"><span class="quiet">${server.hostname}, up for ${time(server.uptime_seconds)}</span><//>
    ${server.draining && html`<p class="banner warn"><${Icon} name="warning" /> The server drains: it refuses new jobs and serves everything else.</p>`}
    ${store.jobs_without_body > 0 && html`<p class="banner warn"><${Icon} name="warning" /> Damage on disk has cost ${count(store.jobs_without_body)} ${store.jobs_without_body === 1 ? 'job its body: it is' : 'jobs their bodies: they are'} buried, and everything else works. The log names them.</p>`}
    ${!store.accepts_puts && html`<p class="banner warn"><${Icon} name="warning" /> The disk has no space for new jobs: the state of the store is ${store.state}.</p>`}
    <dl class="tiles">
      <div class=${`tile first ${age_kind(age)}`}><dt>Oldest ready job</dt><dd><${Oldest} seconds=${age} /></dd>
        <dd class="quiet">${server.parked > 0 && server.parked === jobs.ready ? 'the ready jobs are parked' : age > 0 ? first && html`in <${TubeLink} name=${first.name} />` : 'no job waits'}</dd></div>
      <${Tile} name="Ready" icon="ready" value=${count(jobs.ready)} note=${`${count(jobs.urgent)} urgent${server.parked ? `, ${count(server.parked)} parked` : ''}`} />
      <${Tile} name="Reserved" icon="reserved" value=${count(jobs.reserved)} note=${`${count(connections.workers)} workers`} />
      <${Tile} name="Delayed" icon="delayed" value=${count(jobs.delayed)} />
      <${Tile} name="Buried" icon="buried" value=${count(jobs.buried)} note=${jobs.buried ? 'wait for a kick' : ''} />
      <${Tile} name="In" value=${in_rate === null ? '–' : `${rate(in_rate)}/s`} note=${`${count(server.totals.puts)} puts`} />
      <${Tile} name="Out" value=${out_rate === null ? '–' : `${rate(out_rate)}/s`} note=${`${count(server.totals.deletes)} deletes`} />
    </dl>
    <dl class="facts strip">
      <div><dt>Store</dt><dd><${Badge} kind=${store.state === 'ok' ? 'good' : 'warn'} icon=${store.state === 'ok' ? 'ok' : 'warning'}>${store.state}<//></dd></div>
      <div><dt>Sync p99</dt><dd>${time(store.sync_p99_seconds)}</dd></div>
      <div><dt>Loop lag</dt><dd>${time(server.loop_lag_seconds)}</dd></div>
      <div><dt>Connections</dt><dd>${count(connections.all)}, ${count(connections.waiting)} waiting</dd></div>
      <div><dt>Tubes</dt><dd>${count(server.tubes)}</dd></div>
      <div><dt>Memory</dt><dd>${bytes(server.memory_bytes)}</dd></div>
      <div><dt>Timeouts</dt><dd>${count(server.totals.timeouts)}</dd></div>
      ${server.totals.damaged > 0 && html`<div><dt>Damaged</dt><dd><${Badge} kind="bad" icon="warning">${count(server.totals.damaged)}<//></dd></div>`}
    </dl>
    <h2>Tubes with the oldest ready jobs</h2>
    <${Problem} error=${oldest.error} />
    <div class="scroll" tabindex="0" role="region" aria-label="Tubes with the oldest ready jobs">
      <table>
        <thead><tr><th scope="col">Tube</th><th class="number" scope="col">Oldest ready</th><th class="number" scope="col">Ready</th>
          <th class="number" scope="col">Reserved</th><th class="number" scope="col">Delayed</th><th class="number" scope="col">Buried</th>
          <th class="number" scope="col">Waiting</th></tr></thead>
        <tbody>${(oldest.value?.tubes ?? []).map((tube) => html`<tr key=${tube.name} data-row>
          <th scope="row"><${TubeLink} name=${tube.name} /> <${PausedBadge} seconds=${tube.pause_left_seconds} /></th>
          <td class="number"><${Oldest} seconds=${tube.oldest_ready_seconds} /></td>
          <td class="number">${count(tube.ready)}</td><td class="number">${count(tube.reserved)}</td><td class="number">${count(tube.delayed)}</td>
          <td class="number">${count(tube.buried)}</td><td class="number">${count(tube.waiting)}</td></tr>`)}
          ${oldest.value && !oldest.value.tubes.length && html`<${EmptyRow} columns=${7} empty="No tubes." />`}
        </tbody>
      </table>
    </div>
    ${is_seen && html`<${Charts} /><${WorkTimes} />`}`;
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
