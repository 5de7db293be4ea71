// Jobs that have ended and that a tube keeps for a while: the list of a tube, one of them, and the way back for all.

import {useRef} from 'preact/hooks';
import {ApiError, get, query, tube_path} from '../api.js';
import {ask} from '../dialogs.js';
import {put_back} from '../ended_jobs.js';
import {bytes, count, failed_attempts, time, visible_line} from '../format.js';
import {html} from '../html.js';
import {Badge} from '../icon.js';
import {filter_in, match_of} from '../job_filter.js';
import {use_poll} from '../live.js';
import {begin_operation} from '../operations.js';
import {EmptyRow, Facts, Heading, Problem, TubeLink} from '../parts.js';
import {ended_href, go, job_href, tube_href} from '../router.js';
import {use_row_focus} from '../row_focus.js';
import {Body, Life} from './job.js';

/** @typedef {import('../types.js').EndedJob} EndedJob */

const page_jobs = 100;
const seen_seconds = 5;  // Each look reads the disk.
const minutes_max = 71582788;  // In seconds they are 32 bits.

const ended_by = (/** @type {EndedJob} */ job) => (job.ended_by === null ? '–' : html`<bdi class="name">${visible_line(job.ended_by)}</bdi>`);

/** @param {{tube: string, route: import('../router.js').Route, may?: import('../types.js').TubeMay}} props */
export function EndedList({tube, route, may}) {
  const after = route.query.get('after');
  const path = tube_href(tube, 'ended');
  const {value, error} = use_poll((signal) => get(tube_path(tube, '/ended') + query({after, limit: page_jobs}), signal), [tube, after], {seconds: seen_seconds});
  const jobs = /** @type {EndedJob[]} */ (value?.jobs ?? []);
  const row_focus = use_row_focus();
  return html`<section class="jobs" aria-label="Jobs that have ended">
    <${Problem} error=${error} />
    <div class="toolbar"><span class="quiet">The last one first.</span>
      ${may?.manage && html`<div class="actions end"><button onClick=${() => ask_restore(tube)}>Put back…</button></div>`}</div>
    <div class="scroll tall" tabindex="0" role="region" aria-label="Table of jobs that have ended">
      <table>
        <thead><tr>
          <th class="number" scope="col">Id</th>
          <th scope="col">Ended</th>
          <th class="number" scope="col">Ago</th>
          <th scope="col">By</th>
          <th class="number" scope="col">Priority</th>
          <th class="number" scope="col">Reserves</th>
          <th class="number" scope="col">Failed</th>
          <th class="number" scope="col">Notes</th>
          <th class="number" scope="col">Size</th>
          ${may?.manage && html`<th scope="col"><span class="hidden-text">Put back</span></th>`}
        </tr></thead>
        <tbody ...${row_focus}>
          ${jobs.map((job) => html`<tr key=${job.id} data-row>
            <th class="number" scope="row"><a href=${ended_href(job.id)}>${job.id}</a></th>
            <td>${job.ended}</td>
            <td class="number">${time(job.ended_age_seconds)}</td>
            <td>${ended_by(job)}</td>
            <td class="number">${count(job.priority)}</td>
            <td class="number">${count(job.reserves)}</td>
            <td class="number">${failed_attempts(job)}</td>
            <td class="number">${job.notes ? count(job.notes) : '–'}</td>
            <td class="number">${bytes(job.body_bytes)}</td>
            ${may?.manage && html`<td><button aria-label=${`Put back job ${job.id}`} onClick=${() => put_back([job])}>Put back</button></td>`}
          </tr>`)}
          ${!jobs.length && !error && html`<${EmptyRow} columns=${may?.manage ? 10 : 9} empty=${!value ? 'Loading…' : after ? 'No more jobs.' : 'No job that has ended is kept.'} />`}
        </tbody>
      </table>
    </div>
    <nav class="pages" aria-label="Pages of jobs that have ended">
      <button disabled=${!after} onClick=${() => go(path)}>First page</button>
      <button disabled=${!value?.next} onClick=${() => go(path + query({after: value.next}))}>Next page</button>
    </nav>
  </section>`;
}

/** @type {[EndedJob['ended'], string][]} */
const ways_to_end = [['flushed', 'flushed, that is, deleted all together'], ['deleted', 'deleted one by one, also by workers that had done the work'], ['expired', 'expired']];

/** @param {string} tube */
function ask_restore(tube) {
  ask({
    title: 'Put back jobs that have ended',
    text: `Jobs of ${visible_line(tube)} come back as new jobs, as they were: with their body, notes, priority, delay, tries and key. One whose key another job has by now stays where it is.`,
    action: 'Put back',
    fields: [
      {name: 'minutes', label: 'Ended in the last minutes', type: 'number', value: '60', min: 1, max: minutes_max, hint: 'Empty: whenever they ended.'},
      {name: 'how', label: 'Those that were', type: 'checks', value: 'flushed', checks: ways_to_end},
    ],
    filter: true,
    run: async ({minutes, how, ...values}) => {
      if (!how) throw new ApiError(0, 'Nothing is to be put back: choose how they have ended.');
      const match = match_of(filter_in(values));
      await begin_operation({
        action: 'restore',
        tube,
        how: how.split(','),
        ...(minutes ? {since_seconds: Number(minutes) * 60} : {}),
        ...(Object.keys(match).length ? {match} : {}),
      });
    },
  });
}

/** @param {{id: string}} props */
export function EndedScreen({id}) {
  const {value, error} = use_poll((signal) => get(`/ended/${encodeURIComponent(id)}`, signal), [id], {seconds: seen_seconds});
  const shown = useRef(/** @type {EndedJob|undefined} */ (undefined));
  if (value) shown.current = value;
  const job = shown.current;
  const is_gone = error?.status === 404;
  if (!job) {
    return html`<${Heading} title=${`Job ${visible_line(id)}`} />${is_gone
      ? html`<p class="banner">No job of this id that has ended is kept.</p>` : html`<${Problem} error=${error} />`}`;
  }
  return html`
    <${Heading} title=${`Job ${job.id}`}>
      <${Badge} kind="" icon="gone">${is_gone ? 'no longer kept' : job.ended}<//>
      <span data-up>in <${TubeLink} name=${job.tube} state="ended" /></span>
      ${!is_gone && job.may.manage && html`<div class="actions end"><button onClick=${async () => {
        const back = await put_back([job]);
        if (back !== null) go(job_href(back));
      }}>Put back</button></div>`}
    <//>
    ${error && !is_gone && html`<${Problem} error=${error} />`}
    <div class="columns">
      <section aria-label="Fields"><h2>Fields</h2><${Facts} class="list" facts=${facts(job)} /></section>
      <div>
        <${Life} id=${job.id} had=${job.notes} />
        <${Body} id=${job.id} size=${job.body_bytes} place="ended" />
      </div>
    </div>`;
}

/** @param {EndedJob} job @returns {[string, any][]} */
function facts(job) {
  /** @type {[string, any][]} */
  const list = [
    ['Ended', `${job.ended} ${time(job.ended_age_seconds)} ago`],
    ['By', ended_by(job)],
    ['Age', time(job.age_seconds)],
    ['Priority', count(job.priority)],
    ['Time to run', time(job.ttr_seconds)],
    ['Delay', time(job.delay_seconds)],
    ['Reserves', count(job.reserves)],
    ['Tries', job.tries ? count(job.tries) : 'no limit'],
    ['Failed attempts', failed_attempts(job)],
    ['Timeouts', count(job.timeouts)],
    ['Releases', count(job.releases)],
    ['Buries', count(job.buries)],
    ['Kicks', count(job.kicks)],
    ['Size', bytes(job.body_bytes)],
  ];
  if (job.from) list.push(['Died in', html`<${TubeLink} name=${job.from} />`]);
  if (job.key) list.push(['Key', html`<bdi class="name">${visible_line(job.key)}</bdi>`]);
  return list;
}
