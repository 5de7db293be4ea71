// One tube: its counters, its jobs by state, and what is done with the tube.

import {useRef} from 'preact/hooks';
import {announce} from '../announce.js';
import {post, get, tube_path} from '../api.js';
import {keeps_ended} from '../before_delete.js';
import {Chart, history_series, use_history} from '../charts.js';
import {ask} from '../dialogs.js';
import {count, jobs as jobs_text, rate, time, visible_line} from '../format.js';
import {html} from '../html.js';
import {Badge, Icon} from '../icon.js';
import {FailedList} from '../failed.js';
import {JobList} from '../job_list.js';
import {use_later} from '../later.js';
import {refresh, use_poll, use_topic} from '../live.js';
import {Facts, Heading, Oldest, PausedBadge, Problem, TubeLink, age_kind} from '../parts.js';
import {failed_href, job_states, tube_href} from '../router.js';
import {ask_settings} from '../tube_settings.js';
import {EndedList} from './ended.js';
import {ask_pause, resume} from './tubes.js';

/** @typedef {import('../types.js').Tube} Tube @typedef {import('../types.js').JobState} JobState */

const samples_max = 600;

/** @param {{name: string, state: string, route: import('../router.js').Route}} props */
export function TubeScreen({name, state, route}) {
  const {value: first, error} = use_poll((signal) => get(tube_path(name), signal), [name], {seconds: 0});
  const told = use_topic(`tube:${name}`);
  const shown = useRef(/** @type {Tube|undefined} */ (undefined));
  if (told ?? first) shown.current = told ?? first;
  const settings_seen = useRef(/** @type {Tube['settings']|undefined} */ (undefined));
  const known = useRef(/** @type {import('../types.js').TubeMay|undefined} */ (undefined));
  known.current = first?.may ?? error?.may ?? known.current;
  const may = known.current;
  const is_gone = told === null || (told === undefined && error?.status === 404);
  const tube = is_gone && shown.current ? emptied(shown.current) : shown.current;
  const samples = use_samples(told);
  const leases = use_later(may?.manage ? 'leases' : undefined);
  const title = html`<span class="quiet">Tube</span> <bdi class="name">${visible_line(name)}</bdi>`;
  // What may not be seen is not asked for, so what the user may do must be known first.
  const ended = () => (may || error) && (may?.inspect === false ? html`<p class="quiet">No grant of the user shows the jobs of this tube.</p>`
    : html`<${EndedList} tube=${name} route=${route} may=${may} />`);
  if (!tube) {
    return html`<${Heading} title=${title} />${is_gone
      ? html`<p class="banner">There is no tube of this name now. A tube exists while it has jobs, or clients that use or watch it.</p>
          <div class="actions">${may?.produce && html`<button onClick=${() => ask_put(name)}>Put a job…</button>`}
            ${may?.manage && html`<button onClick=${() => ask_settings(name)}>Settings…</button>`}</div>
          ${(state === 'ended' || may?.inspect) && html`<h2>Jobs that have ended</h2>${ended()}`}`
      : html`<${Problem} error=${error} />`}`;
  }
  settings_seen.current = tube.settings ?? first?.settings ?? settings_seen.current;
  const settings = settings_seen.current;
  const is_of_state = job_states.some((each) => each === state);
  const states = is_of_state ? [/** @type {JobState} */ (state)] : job_states;
  const matching = (is_of_state ? states : job_states.filter((each) => each !== 'reserved')).reduce((sum, each) => sum + tube[each], 0);
  return html`
    <${Heading} title=${title}>
      <${PausedBadge} seconds=${tube.pause_left_seconds} />
      ${is_gone && html`<${Badge} kind="warn" icon="gone">gone<//>`}
      ${settings?.drain && html`<${Badge} kind="warn" icon="warning">drains<//>`}
      <div class="actions end">
        ${may?.produce && html`<button onClick=${() => ask_put(name)}>Put a job…</button>`}
        ${may?.manage && html`
          ${tube.pause_left_seconds > 0 && html`<button onClick=${() => resume([name])}>Resume</button>`}
          <button onClick=${() => ask_settings(name)}>Settings…</button>
          <button onClick=${() => ask_pause([name])}>Pause…</button>
          <button onClick=${() => ask_kick(name, tube)}>Kick…</button>`}
      </div>
    <//>
    <dl class="tiles">
      <div class=${`tile first ${age_kind(tube.oldest_ready_seconds)}`}><dt>Oldest ready job</dt><dd><${Oldest} seconds=${tube.oldest_ready_seconds} /></dd>
        <dd class="quiet">${tube.waiting ? `${count(tube.waiting)} connections wait` : 'no connection waits'}</dd></div>
      <div class="tile"><dt>Puts</dt><dd>${count(tube.puts)}</dd><dd class="quiet">${samples.rate('puts')}</dd></div>
      <div class="tile"><dt>Deletes</dt><dd>${count(tube.deletes)}</dd><dd class="quiet">${samples.rate('deletes')}</dd></div>
      <div class="tile"><dt>Urgent</dt><dd>${count(tube.urgent)}</dd><dd class="quiet">below priority 1,024</dd></div>
      <div class="tile"><dt>Watching</dt><dd>${count(tube.watching)}</dd><dd class="quiet">${count(tube.using)} use it</dd></div>
    </dl>
    <${Facts} class="strip" facts=${[
      ['Parked', count(tube.parked)], ['Duplicates', count(tube.duplicates)], ['Dead', count(tube.dead)], ['Expired', count(tube.expired)],
      ...(settings ? setting_facts(settings) : []),
    ]} />
    <nav class="tabs" aria-label="Jobs by state">
      <${Tab} name=${name} state="" now=${state} jobs=${job_states.reduce((sum, each) => sum + tube[each], 0)} />
      ${job_states.map((each) => html`<${Tab} key=${each} name=${name} state=${each} now=${state} jobs=${tube[each]} />`)}
      ${(state === 'failed' || (may?.inspect && tube.buried > 0)) && html`<a href=${failed_href(name)} aria-current=${state === 'failed' ? 'page' : undefined}><${Icon} name="warning" /> Failed</a>`}
      ${(state === 'ended' || (keeps_ended(settings) && may?.inspect)) && html`<a href=${tube_href(name, 'ended')} aria-current=${state === 'ended' ? 'page' : undefined}><${Icon} name="gone" /> Ended</a>`}
    </nav>
    ${state === 'ended' ? ended() : may && !may.inspect ? html`<p class="quiet">No grant of the user shows the jobs of this tube.</p>`
      : state === 'failed' ? html`<${FailedList} tube=${name} />` : html`<${JobList} key=${state} tube=${name} states=${states} path=${tube_href(name, state)} route=${route} matching=${matching} may=${may} />`}
    ${leases && html`<${leases.Leases} key=${name} tube=${name} />`}
    <${TubeChart} name=${name} samples=${samples} />`;
}

/** A tube that is gone, as it was seen last, has no jobs and nobody who uses it. @param {Tube} tube @returns {Tube} */
const emptied = (tube) => ({...tube, ready: 0, reserved: 0, delayed: 0, buried: 0, urgent: 0, parked: 0, oldest_ready_seconds: 0, waiting: 0, watching: 0, using: 0});

/** @param {NonNullable<Tube['settings']>} settings @returns {[string, any][]} */
function setting_facts(settings) {
  /** @type {[string, any][]} */
  const facts = [];
  if (settings.tries) facts.push(['Tries', count(settings.tries)]);
  if (settings.dead) facts.push(['Dead tube', html`<${TubeLink} name=${settings.dead} />`]);
  if (settings.expire_seconds) facts.push(['Expire after', time(settings.expire_seconds)]);
  if (settings.reserved) facts.push(['At once', jobs_text(settings.reserved)]);
  if (settings.keep_seconds) facts.push(['Keeps ended jobs', time(settings.keep_seconds)]);
  if (settings.keep_max) facts.push(['Keeps the last', jobs_text(settings.keep_max)]);
  if (settings.rate) facts.push(['Rate', settings.rate]);
  if (settings.backoff) facts.push(['Back-off', settings.backoff]);
  return facts;
}

/** @param {{name: string, state: string, now: string, jobs: number}} props */
const Tab = ({name, state, now, jobs}) => html`<a href=${tube_href(name, state)} aria-current=${state === now ? 'page' : undefined}>
  ${state && html`<span class=${state}><${Icon} name=${/** @type {any} */ (state)} /></span>`} ${state ? state[0].toUpperCase() + state.slice(1) : 'All'} <b>${count(jobs)}</b></a>`;

/** @param {Tube|null|undefined} told */
function use_samples(told) {
  const samples = useRef(/** @type {{at: number, tube: Tube}[]} */ ([]));
  const list = samples.current;
  if (told && list.at(-1)?.tube !== told) {
    list.push({at: Date.now() / 1000, tube: told});
    if (list.length > samples_max) list.shift();
  }
  const rate_at = (total, index) => {
    const [before, after] = [list[Math.max(0, index - 5)], list[index]];
    return after && after.at - before.at > 0.5 ? Math.max(0, (after.tube[total] - before.tube[total]) / (after.at - before.at)) : null;
  };
  return {
    rate: (total) => {
      const now = rate_at(total, list.length - 1);
      return now === null ? '' : `${rate(now)} per second`;
    },
    series: (names, are_rates) => ({
      times: list.map(({at}) => at),
      values: names.map((name) => list.map(({tube}, index) => (are_rates ? rate_at(name, index) : tube[name]))),
    }),
  };
}

const state_lines = job_states.map((name) => ({name, kind: name}));
const flow_lines = [{name: 'in', kind: 'in'}, {name: 'out', kind: 'out'}];

/** @param {{name: string, samples: ReturnType<typeof use_samples>}} props */
function TubeChart({name, samples}) {
  const {history, chooser} = use_history(`tube:${name}`);
  const states = history ? history_series(history, job_states) : samples.series(job_states, false);
  const flow = history ? history_series(history, ['puts', 'deletes']) : samples.series(['puts', 'deletes'], true);
  return html`
    <div class="heading"><h2>Charts</h2>${chooser}${history === null && html`<span class="quiet">since this page was opened</span>`}</div>
    <div class="charts">
      <${Chart} title="Jobs by state" lines=${state_lines} ...${states} format=${count} />
      <${Chart} title="Jobs in and out, per second" lines=${flow_lines} ...${flow} format=${rate} />
    </div>`;
}

/** @param {string} tube */
function ask_put(tube) {
  ask({
    title: 'Put a job',
    action: 'Put',
    fields: [
      {name: 'tube', label: 'Tube', value: tube, required: true},
      {name: 'body', label: 'Body', type: 'textarea'},
      {name: 'priority', label: 'Priority', type: 'number', value: '1024', required: true, hint: 'Lower numbers are reserved first.'},
      {name: 'delay_seconds', label: 'Delay in seconds', type: 'number', value: '0', required: true},
      {name: 'ttr_seconds', label: 'Time to run in seconds', type: 'number', value: '60', min: 1, required: true},
      {name: 'key', label: 'Key', hint: 'At most one job of the tube holds a key. May be empty.'},
    ],
    run: async (values) => {
      const {id, duplicate} = await post('/jobs', {
        tube: values.tube,
        body: values.body,
        priority: Number(values.priority),
        delay_seconds: Number(values.delay_seconds),
        ttr_seconds: Number(values.ttr_seconds),
        ...(values.key ? {key: values.key} : {}),
      });
      announce(duplicate ? `Nothing was put: job ${id} has this key.` : `Job ${id} is put.`);
      refresh();
    },
  });
}

/** @param {string} name @param {Tube} tube */
function ask_kick(name, tube) {
  const kicked = tube.buried ? 'buried' : 'delayed';
  ask({
    title: 'Kick jobs',
    text: `Makes up to so many jobs ready: buried ones, or delayed ones where none is buried. This tube has ${jobs_text(tube[kicked], kicked)}.`,
    action: 'Kick',
    fields: [{name: 'count', label: 'How many', type: 'number', value: '10', min: 1, required: true}],
    run: async (values) => {
      const answer = await post(tube_path(name, '/kick'), {count: Number(values.count)});
      announce(`${jobs_text(answer.kicked)} kicked.`);
      refresh();
    },
  });
}
