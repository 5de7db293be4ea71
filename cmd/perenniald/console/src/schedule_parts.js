// What the screens of schedules have in common: the words for a schedule, when it is due next, and what is done with it.

import {useState} from 'preact/hooks';
import {announce} from './announce.js';
import {ApiError, get, post, put, query, remove} from './api.js';
import {ask} from './dialogs.js';
import {duration, seconds_of, visible_line} from './format.js';
import {html} from './html.js';
import {Badge, StateBadge} from './icon.js';
import {refresh, use_poll} from './live.js';
import {EmptyRow, Problem} from './parts.js';
import {job_href, tube_part} from './router.js';

/** @typedef {import('./types.js').Schedule} Schedule */

const shown_times = 10;

/** @param {string} name @param {string} [rest] */
export const schedule_path = (name, rest = '') => `/schedules/${tube_part(name)}${rest}`;

/** A time of the API without its parts of a second, where there are none. @param {string|null} time */
export const moment = (time) => (time === null ? '–' : visible_line(time).replace('T', ' ').replace(/\.000(?=Z|[+-])/, ''));

/** @param {Schedule} schedule */
export const when_text = ({cron, every_seconds, at}) => (cron !== null ? cron : every_seconds !== null ? `every ${duration(every_seconds)}` : `at ${moment(at)}`);

/** @type {Map<string, [string, 'ok'|'paused'|'gone'|'warning', string]>} */
const states = new Map([
  ['active', ['good', 'ok', 'active']],
  ['paused', ['warn', 'paused', 'paused']],
  ['over', ['', 'gone', 'over']],
  ['no-zone', ['bad', 'warning', 'no zone']],
]);

const why_refused = new Map([
  ['draining', 'the server or the tube drains'], ['space', 'the server has no space on its disk or in memory'], ['jobs_max', 'there are as many jobs as jobs_max allows'],
  ['keys_max', 'there are as many keys as keys_max allows'], ['tubes_max', 'there are as many tubes as tubes_max allows'],
]);

/** Why its put is refused, which it is. @param {Schedule} schedule */
export const refusal_text = ({refused_because}) => `Its put is refused, because ${why_refused.get(refused_because ?? '') ?? `of ${visible_line(refused_because ?? 'an unknown reason')}`}. It is tried again each second.`;

/** What there is to say of its state, and why it puts no jobs. @param {{schedule: Schedule}} props */
export function ScheduleState({schedule}) {
  const {state, refused} = schedule;
  const [kind, icon, word] = states.get(state) ?? ['', 'warning', visible_line(state)];
  return html`<${Badge} kind=${kind} icon=${icon}>${word}<//>${refused && html` <${Badge} kind="bad" icon="warning" title=${refusal_text(schedule)}>refused<//>`}`;
}

/** @param {{schedule: Schedule}} props */
export const LastJob = ({schedule: {last_job, last_job_state}}) => (last_job === null ? '–'
  : last_job_state === null ? html`${last_job} <span class="quiet">gone</span>` : html`<a href=${job_href(last_job)}>${last_job}</a> <${StateBadge} state=${last_job_state} />`);

/**
 * When such a schedule is due. It is asked for while somebody types, one request at a time.
 * @param {{when: Record<string, string|number>, label: string, seconds?: number}} props When: as the API takes it; empty: nothing is typed yet.
 *   Seconds: after so many it is asked for again; 0: never.
 */
export function NextTimes({when, label, seconds = 0}) {
  const given = JSON.stringify(when);
  const {value, error} = use_poll(async (signal) => {
    if (given === '{}') return {times: []};
    await new Promise((resolve) => setTimeout(resolve, 200));
    return signal.aborted ? {times: []} : get('/schedule-times' + query({...when, count: shown_times}), signal);
  }, [given], {seconds});
  const times = /** @type {{at: string, local: string}[]} */ (value?.times ?? []);
  return html`<${Problem} error=${error} />
    ${given !== '{}' && !error && html`<div class="scroll" tabindex="0" role="region" aria-label=${label}><table>
      <thead><tr><th scope="col">In its time zone</th><th scope="col">UTC</th></tr></thead>
      <tbody>${times.map(({at, local}) => html`<tr key=${at}><td class="name">${moment(local)}</td><td class="name">${moment(at)}</td></tr>`)}
        ${value && !times.length && html`<${EmptyRow} columns=${2} empty="There is no such time." />`}</tbody></table></div>`}`;
}

/** What is typed as times: an expression in a zone, a period, or one moment. @param {{kind: string, text: string, zone: string}} typed */
export function when_of({kind, text, zone}) {
  const trimmed = text.trim();
  if (!trimmed) return {};
  if (kind === 'cron') return zone.trim() ? {cron: trimmed, zone: zone.trim()} : {cron: trimmed};
  if (kind === 'at') return {at: trimmed};
  const seconds = seconds_of(trimmed);
  return {every_seconds: Number.isNaN(seconds) ? trimmed : seconds};
}

/** @param {{change: (typed: {kind: string, text: string, zone: string}) => void, typed: {kind: string, text: string, zone: string}}} props */
export const WhenInputs = ({typed, change}) => html`
  <label>Times <select value=${typed.kind} onChange=${(event) => change({...typed, kind: event.target.value, text: ''})}>
    <option value="cron">cron expression</option><option value="every">each</option><option value="at">once, at</option></select></label>
  <label>${{cron: 'Expression', every: 'Period', at: 'Time'}[typed.kind]} <input class="name" value=${typed.text} autocomplete="off" spellcheck=${false}
    placeholder=${{cron: '0 3 * * mon-fri', every: '90s', at: '2030-12-24T18:00:00+01:00'}[typed.kind]} onInput=${(event) => change({...typed, text: event.target.value})} /></label>
  ${typed.kind === 'cron' && html`<label>Time zone <input class="name" value=${typed.zone} autocomplete="off" spellcheck=${false} placeholder="UTC"
    onInput=${(event) => change({...typed, zone: event.target.value})} /></label>`}`;

/** When something would be due, while one types; and a schedule with these times. */
export function NewTimes() {
  const [typed, set_typed] = useState({kind: 'cron', text: '', zone: ''});
  const when = when_of(typed);
  return html`<section aria-labelledby="new-times">
    <h2 id="new-times">When would it be due?</h2>
    <form class="search" onSubmit=${(event) => {
      event.preventDefault();
      if (Object.keys(when).length) ask_new(when);
    }}>
      <${WhenInputs} typed=${typed} change=${set_typed} />
      <button type="submit">New schedule with these times…</button>
    </form>
    <${NextTimes} key=${JSON.stringify(when)} when=${when} label="The next ten times" />
  </section>`;
}

/** @param {Record<string, string|number>} when */
function ask_new(when) {
  ask({
    title: 'New schedule',
    text: 'What is not asked for here is as a put has it: priority 1024 and 60 seconds for a job.',
    action: 'Set',
    fields: [
      {name: 'name', label: 'Name', required: true},
      {name: 'tube', label: 'Tube', value: 'default', required: true},
      {name: 'body', label: 'Body', type: 'textarea'},
      {name: 'how', label: 'While its last job is still there', type: 'checks', value: '', checks: [['skip', 'Put no other one']]},
    ],
    run: async ({name, tube, body, how}) => {
      const path = schedule_path(name.trim());
      // Who wants a new one does not mean to replace another.
      const is_there = await get(path).then(() => true, (problem) => problem.status !== 404 && Promise.reject(problem));
      if (is_there) throw new ApiError(0, 'There is a schedule of this name already.');
      await put(path, {...when, tube: tube.trim(), body, overlap: how || 'allow'});
      announce(`Schedule ${visible_line(name.trim())} is set.`);
      refresh();
    },
  });
}

/** Does something at once, and says what came of it. @param {() => Promise<string>} act */
async function at_once(act) {
  try {
    announce(await act());
  } catch (problem) {
    announce(problem.message);
  }
  refresh();
}

/** @param {{schedule: Schedule, small?: boolean, deleted?: () => void}} props */
export function ScheduleActions({schedule: {name, paused}, small = false, deleted}) {
  const shown = visible_line(name);
  const kind = small ? 'small' : '';
  const run = () => at_once(async () => {
    const {id, duplicate} = await post(schedule_path(name, '/run'));
    return duplicate ? `Nothing was put: job ${id} is still there.` : `Schedule ${shown} has put job ${id}.`;
  });
  const pause = () => at_once(async () => {
    await post(schedule_path(name, '/pause'), {paused: !paused});
    return paused ? `Schedule ${shown} goes on.` : `Schedule ${shown} is paused.`;
  });
  const erase = () => ask({
    title: `Delete schedule ${shown}`,
    text: 'The jobs that it has put stay. There is no way back.',
    action: 'Delete schedule',
    danger: true,
    run: async () => {
      await remove(schedule_path(name));
      announce(`Schedule ${shown} is deleted.`);
      refresh();
      deleted?.();
    },
  });
  return html`
    <button class=${kind} aria-label=${`Run now: ${shown}`} onClick=${run}>Run now</button>
    <button class=${kind} aria-label=${`${paused ? 'Resume' : 'Pause'} ${shown}`} onClick=${pause}>${paused ? 'Resume' : 'Pause'}</button>
    <button class=${`danger ${kind}`} aria-label=${`Delete ${shown}`} onClick=${erase}>Delete…</button>`;
}
