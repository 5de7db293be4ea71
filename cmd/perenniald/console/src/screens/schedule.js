// One schedule: what is set, how far it is, when it is due next, and the body of its jobs.

import {get} from '../api.js';
import {bytes, count, duration, visible, visible_line} from '../format.js';
import {html} from '../html.js';
import {use_poll} from '../live.js';
import {Facts, Heading, Problem, TubeLink} from '../parts.js';
import {go} from '../router.js';
import {LastJob, NextTimes, ScheduleActions, ScheduleState, moment, refusal_text, schedule_path, when_text} from '../schedule_parts.js';

/** @typedef {import('../types.js').Schedule} Schedule */

// After so many the next times are asked for again.
const next_seconds = 30;

/** @param {Schedule} schedule @returns {Record<string, string|number>} */
function times_of({cron, zone, every_seconds, anchor}) {
  if (cron !== null) return {cron, zone};
  return every_seconds !== null ? {every_seconds, anchor} : {};
}

/** Values that are set only for some. @param {Schedule} schedule */
const options = ({tries, backoff, dead, expire_seconds, key, concurrency, jitter_seconds}) => /** @type {[string, any][]} */ ([
  ['Tries', tries], ['Back-off', backoff], ['Dead tube', dead && html`<${TubeLink} name=${dead} />`], ['Expire after', expire_seconds && duration(expire_seconds)],
  ['Key', key && visible_line(key)], ['Concurrency key', concurrency && visible_line(concurrency)], ['Jitter', jitter_seconds > 0 && duration(jitter_seconds)],
]).filter(([, value]) => value);

/** @param {{name: string}} props */
export function ScheduleScreen({name}) {
  const {value, error} = use_poll((signal) => get(schedule_path(name), signal), [name]);
  const schedule = /** @type {Schedule|undefined} */ (value);
  const heading = html`<${Heading} title=${html`Schedule <bdi class="name">${visible_line(name)}</bdi>`}>${schedule && html`<${ScheduleState} schedule=${schedule} />`}<//>`;
  if (!schedule) return html`${heading}${error ? html`<${Problem} error=${error} /><p><a href="/schedules">All schedules</a></p>` : html`<p>Loading…</p>`}`;
  return html`${heading}
    <${Problem} error=${error} />
    ${schedule.refused && html`<p class="problem banner" role="alert">${refusal_text(schedule)}</p>`}
    ${schedule.may.manage && html`<div class="actions"><${ScheduleActions} schedule=${schedule} deleted=${() => go('/schedules')} /></div>`}
    <${Facts} class="list" facts=${[
    ['Tube', html`<${TubeLink} name=${schedule.tube} />`],
    ['Times', html`<bdi class="name">${visible_line(when_text(schedule))}</bdi>`],
    ...(schedule.zone === null ? [] : [['Time zone', html`<bdi>${visible_line(schedule.zone)}</bdi>`]]),
    ...(schedule.anchor === null ? [] : [['Counted from', moment(schedule.anchor)]]),
    ['Next, UTC', moment(schedule.next)],
    ['Last planned, UTC', moment(schedule.last_planned)],
    ['Last put, UTC', moment(schedule.last_fired)],
    ['Last job', html`<${LastJob} schedule=${schedule} />`],
    ['Jobs put', count(schedule.fired)],
    ['Times skipped', count(schedule.skipped)],
    ['Times missed', count(schedule.missed_times)],
    ['Missed times', visible_line(schedule.missed)],
    ['Overlap', visible_line(schedule.overlap)],
    ['Priority', count(schedule.priority)],
    ['Delay', duration(schedule.delay_seconds)],
    ['Time to run', duration(schedule.ttr_seconds)],
    ...options(schedule),
  ]} />
    ${schedule.state !== 'over' && schedule.at === null && html`<h2>The next ten times</h2><${NextTimes} when=${times_of(schedule)} label="The next ten times" seconds=${next_seconds} />`}
    <h2>Body, ${bytes(schedule.bytes)}</h2>
    ${schedule.body === undefined ? html`<p class="quiet">It is no text, or not for you to see.</p>` : html`<pre class="body" tabindex="0">${visible(schedule.body)}</pre>`}`;
}
