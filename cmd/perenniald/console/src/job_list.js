// A table of jobs with a selection and what can be done with it, and the list of jobs, 100 to a page by the order of their ids.

import {useEffect, useRef, useState} from 'preact/hooks';
import {announce} from './announce.js';
import {get, get_body_window, query, tube_path} from './api.js';
import {ask_operation} from './ask_operation.js';
import {first_line} from './bytes_text.js';
import {ask_act} from './failed.js';
import {bytes, count, failed_attempts, jobs as jobs_text, time, visible_line} from './format.js';
import {html} from './html.js';
import {StateBadge} from './icon.js';
import * as actions from './job_actions.js';
import {JobFilter, filter_of} from './job_filter.js';
import {use_poll} from './live.js';
import {EmptyRow, Problem, TubeLink} from './parts.js';
import {go, job_href} from './router.js';
import {use_row_focus} from './row_focus.js';

/** @typedef {import('./types.js').Job} Job @typedef {import('./types.js').JobState} JobState */

const page_jobs = 100;
// A page of the server may be short though there are more jobs, when it has looked at enough of them.
const requests_max = 20;
const preview_bytes = 80;
const list_seconds = 5;
const filtered_seconds = 30;  // The server may look at very many jobs for one page of these.

/**
 * Which page of a list: by the ids of the jobs, up or down, behind a job or before one.
 * @typedef {{order: 'oldest'|'newest', after: string|null, before: string|null, note: string|null}} Place Note: only jobs whose newest note has this line; empty: without one.
 */

/**
 * @param {string|null} tube
 * @param {JobState[]} states
 * @param {import('./job_filter.js').Filter} filter
 * @param {Place} place
 * @param {AbortSignal} signal
 * @returns {Promise<{jobs: Job[], next: string|null, has_previous: boolean}>}
 */
async function get_page(tube, states, filter, {order, after, before, note}, signal) {
  const jobs = [];
  // The page before a job is the one behind it in the other order.
  const is_back = before !== null;
  let next = is_back ? before : after;
  for (let request = 0; request < requests_max; ++request) {
    const path = (tube === null ? '/jobs' : tube_path(tube, '/jobs')) + query({state: states.join(), ...filter, with: 'note', order: is_back ? other_order[order] : order,
      after: next, limit: page_jobs - jobs.length}) + (note === null ? '' : `&note=${encodeURIComponent(note)}`);
    const page = await get(path, signal);
    jobs.push(...page.jobs);
    next = page.next;
    if (next === null || jobs.length >= page_jobs) break;
  }
  if (!is_back) return {jobs, next, has_previous: after !== null};
  return {jobs: jobs.reverse(), next: jobs.length ? jobs.at(-1).id : null, has_previous: next !== null};
}

const other_order = /** @type {const} */ ({oldest: 'newest', newest: 'oldest'});

/**
 * @param {{tube: string|null, states: JobState[], path: string, route: import('./router.js').Route, matching?: number, may?: import('./types.js').TubeMay}} props
 *   Path: where the pages of this list are, to which `route` adds one of them and the filter. Matching: how many jobs there are of these states, if that is known. May: what may be done with the tube.
 */
export function JobList({tube, states, path, route, matching, may}) {
  const of = (/** @type {string} */ name) => route.query.get(name);
  const place = /** @type {Place} */ ({order: of('order') === 'newest' ? 'newest' : 'oldest', after: of('after'), before: of('before'), note: of('no_note') ? '' : of('note')});
  const filter = filter_of(route.query);
  const has_note = place.note !== null;
  const is_filtered = Object.keys(filter).length > 0 || has_note;
  const kept = {order: of('order'), note: of('note'), no_note: of('no_note')};
  const page = (more, only = filter) => path + query({...only, ...kept, ...more}).replace('?', path.includes('?') ? '&' : '?');
  const {value, error} = use_poll((signal) => get_page(tube, states, filter, place, signal), [tube, states.join(), JSON.stringify(filter), JSON.stringify(place)],
    {seconds: is_filtered ? filtered_seconds : list_seconds});
  const jobs = value?.jobs ?? [];
  const total = Math.max(matching ?? 0, jobs.length);
  const acts_on_all = tube !== null && may?.manage;
  const all = has_note ? html`<${OfNote} kind=${{tube, how: states[0] === 'ready' ? 'dead' : 'buried', line: place.note}} />`
    : html`<${Matching} tube=${tube} states=${states} filter=${filter} matching=${is_filtered ? null : matching} />`;
  const empty = place.after || place.before ? 'No more jobs.' : is_filtered ? value?.next ? 'No job of this page fits the filter.' : 'No job fits the filter.' : 'No jobs.';
  return html`<section class="jobs" aria-label="Jobs">
    ${has_note && html`<p class="banner">${place.note ? html`Jobs whose newest note says: <bdi class="name">${visible_line(place.note)}</bdi>` : 'Jobs without a note'}
      ${' '}<a href=${page({note: null, no_note: null})}>Show all</a></p>`}
    <${JobFilter} filter=${filter} show=${(next) => go(page({}, next))} />
    <${Problem} error=${error} />
    <${JobTable} jobs=${jobs} shows_tube=${tube === null} unselected=${acts_on_all && (is_filtered ? jobs.length : matching) > 0 && all}
      all_selected=${acts_on_all && (is_filtered ? value?.next : total > jobs.length) && html`<p class="banner">
        All ${count(jobs.length)} jobs of this page are selected. To act on <b>all ${is_filtered ? 'jobs' : jobs_text(total, states.length === 1 ? states[0] : '')}</b> that ${
          is_filtered ? 'fit the filter' : 'match'}: ${all}</p>`}
      empty=${value ? empty : error ? '' : 'Loading…'} />
    <nav class="pages" aria-label="Pages of jobs">
      <button disabled=${!place.after && !place.before} onClick=${() => go(page({}))}>First page</button>
      <button disabled=${!value?.has_previous || !jobs.length} onClick=${() => go(page({before: jobs[0].id}))}>Previous page</button>
      <button disabled=${!value?.next} onClick=${() => go(page({after: value.next}))}>Next page</button>
      <span class="segments" role="group" aria-label="Order">${Object.keys(other_order).map((order) => html`
        <button key=${order} aria-pressed=${order === place.order} onClick=${() => go(page({order: order === 'oldest' ? null : order}))}>${order === 'oldest' ? 'Oldest first' : 'Newest first'}</button>`)}</span>
      <span class="quiet">${jobs.length ? `Jobs ${jobs[0].id} to ${jobs.at(-1).id}, by id` : ''}</span>
    </nav>
  </section>`;
}

/** What is done with all jobs of a group. @param {{kind: import('./failed.js').Kind}} props */
const OfNote = ({kind}) => html`<div class="actions" role="group" aria-label="All jobs with this note">
  <span class="quiet">All with this note:</span>
  ${kind.how === 'buried' ? html`<button onClick=${() => ask_act('kick', kind)}>Kick all…</button>` : html`<button onClick=${() => ask_act('move', kind)}>Move all back…</button>`}
  <button class="danger apart" onClick=${() => ask_act('delete', kind)}>Delete all…</button></div>`;

/**
 * @param {{jobs: Job[], shows_tube: boolean, unselected?: any, all_selected?: any, empty: string}} props
 *   Unselected: what stands above the table while nothing is selected. All_selected: what is said when every row is.
 *   Empty: what a table without jobs says.
 */
export function JobTable({jobs, shows_tube, unselected, all_selected, empty}) {
  const [selected, set_selected] = useState(/** @type {Set<string>} */ (new Set()));
  const [shows_bodies, set_shows_bodies] = useState(false);
  const anchor = useRef(/** @type {string|null} */ (null));
  const chosen = jobs.filter(({id}) => selected.has(id));
  const all_chosen = jobs.length > 0 && chosen.length === jobs.length;
  const previews = use_previews(jobs, shows_bodies);
  const row_focus = use_row_focus();

  /** @param {string} id @param {boolean} with_range */
  const toggle = (id, with_range) => {
    const next = new Set(selected);
    const put = !selected.has(id);
    const ids = jobs.map((job) => job.id);
    const from = with_range && anchor.current !== null ? ids.indexOf(anchor.current) : -1;
    const at = ids.indexOf(id);
    const range = from === -1 ? [id] : ids.slice(Math.min(from, at), Math.max(from, at) + 1);
    range.forEach((each) => (put ? next.add(each) : next.delete(each)));
    anchor.current = id;
    set_selected(next);
  };
  const clear = () => set_selected(new Set());
  const shows_notes = jobs.some(({note}) => note);
  const columns = 9 + (shows_tube ? 1 : 0) + (shows_notes ? 1 : 0) + (shows_bodies ? 1 : 0);

  return html`
    <div class="toolbar">
      ${chosen.length ? html`<${Selection} jobs=${chosen} clear=${clear} />`
        : unselected || html`<span class="quiet">${jobs.length ? 'Select jobs to act on them.' : ''}</span>`}
      <label class="check"><input type="checkbox" checked=${shows_bodies} onChange=${() => set_shows_bodies(!shows_bodies)} /> Show bodies</label>
    </div>
    ${all_chosen && all_selected}
    <div class="scroll tall" tabindex="0" role="region" aria-label="Table of jobs">
      <table>
        <thead><tr>
          <th class="select"><input type="checkbox" aria-label="Select all jobs of this page" checked=${all_chosen}
            indeterminate=${chosen.length > 0 && !all_chosen} onChange=${() => set_selected(new Set(all_chosen ? [] : jobs.map(({id}) => id)))} /></th>
          <th class="number" scope="col">Id</th>
          ${shows_tube && html`<th scope="col">Tube</th>`}
          <th scope="col">State</th>
          ${shows_notes && html`<th scope="col">Last note</th>`}
          <th class="number" scope="col">Age</th>
          <th class="number" scope="col">Priority</th>
          <th class="number" scope="col">Reserves</th>
          <th class="number" scope="col">Failed</th>
          <th class="number" scope="col">Time left</th>
          <th class="number" scope="col">Size</th>
          ${shows_bodies && html`<th scope="col">Body</th>`}
        </tr></thead>
        <tbody ...${row_focus}>
          ${jobs.map((job) => html`<tr key=${job.id} data-row onact=${(event) => act_by_key(job, event)} class=${selected.has(job.id) ? 'selected' : ''}>
            <td class="select"><input type="checkbox" aria-label=${`Select job ${job.id}`} checked=${selected.has(job.id)}
              onClick=${(event) => toggle(job.id, event.shiftKey)} /></td>
            <th class="number" scope="row"><a href=${job_href(job.id)}>${job.id}</a></th>
            ${shows_tube && html`<td><${TubeLink} name=${job.tube} /></td>`}
            <td><${StateBadge} state=${job.state} />${job.parked && html` <span class="quiet">parked</span>`}</td>
            ${shows_notes && html`<td class="preview"><bdi>${job.note ? visible_line(job.note.last_line) : ''}</bdi></td>`}
            <td class="number">${time(job.age_seconds)}</td>
            <td class="number">${count(job.priority)}</td>
            <td class="number">${count(job.reserves)}</td>
            <td class="number">${failed_attempts(job)}</td>
            <td class="number">${job.left_seconds > 0 ? time(job.left_seconds) : '–'}</td>
            <td class="number">${bytes(job.body_bytes)}</td>
            ${shows_bodies && html`<td class="preview"><bdi>${previews.get(job.id) ?? '…'}</bdi></td>`}
          </tr>`)}
          ${!jobs.length && empty && html`<${EmptyRow} columns=${columns} empty=${empty} />`}
        </tbody>
      </table>
    </div>`;
}

/**
 * What is done with all jobs that match, by an operation of the server. How many fit a filter only the server knows: it is asked, and the question
 * says it.
 */
function Matching({tube, states, filter, matching}) {
  const movable = states.filter((state) => state !== 'reserved');
  if (!movable.length) return html`<span class="quiet">Reserved jobs are held by workers.</span>`;
  const can_kick = states.length === 1 && (states[0] === 'buried' || states[0] === 'delayed');
  const act = async (action) => {
    try {
      const job_count = matching ?? (await get(tube_path(tube, '/jobs/count') + query({state: movable.join(), ...filter}))).count;
      if (job_count === 0) return announce('No job fits the filter any more.');
      ask_operation(action, tube, movable, job_count, filter);
    } catch (error) {
      announce(error.message);
    }
  };
  return html`<div class="actions" role="group" aria-label="All jobs that match">
    <span class="quiet">All ${matching === null ? 'that fit' : count(matching)}${states.includes('reserved') && ' that no worker holds'}:</span>
    ${can_kick && html`<button onClick=${() => act('kick')}>Kick all…</button>`}
    <button onClick=${() => act('move')}>Move all…</button>
    <button class="danger apart" onClick=${() => act('delete')}>Delete all…</button>
  </div>`;
}

/** @param {{jobs: Job[], clear: () => void}} props */
function Selection({jobs, clear}) {
  return html`<div class="actions" role="group" aria-label="Selected jobs">
    <b>${count(jobs.length)} selected</b>
    <${JobButtons} jobs=${jobs} done=${clear} />
    <button class="plain" onClick=${clear}>Clear selection</button>
  </div>`;
}

/** What can be done with some of these jobs, and is granted for all of them. @param {Job[]} jobs */
function may_do(jobs) {
  const some = (/** @type {JobState[]} */ ...states) => jobs.some(({state}) => states.includes(state));
  const may = (/** @type {keyof import('./types.js').TubeMay} */ verb) => jobs.every((job) => job.may[verb]);
  const can_change = may('manage') && some('ready', 'delayed', 'buried');
  return {kick: may('manage') && some('buried', 'delayed'), bury: may('consume') && some('ready', 'delayed'), move: can_change, delete: can_change, copy: may('produce')};
}

/** What a key does with the job of the focused row. @param {Job} job @param {CustomEvent} event */
function act_by_key(job, event) {
  event.preventDefault();
  if (!may_do([job])[event.detail]) return announce(`To ${event.detail} job ${job.id} is not possible: it is ${job.state}${job.may.manage ? '' : ', and no grant of the user allows it'}.`);
  const acts = {kick: actions.kick, bury: actions.bury, move: actions.ask_move, delete: actions.ask_delete};
  acts[event.detail]([job]);
}

/**
 * What can be done with these jobs, and is granted for all of them. A job that a worker holds is not changed behind its back. To bury is to reserve
 * first, so it needs the right to.
 * @param {{jobs: Job[], done?: () => void}} props
 */
export function JobButtons({jobs, done}) {
  const can = may_do(jobs);
  return html`
    ${can.kick && html`<button onClick=${() => actions.kick(jobs)}>Kick</button>`}
    ${can.bury && html`<button onClick=${() => actions.bury(jobs)}>Bury</button>`}
    ${can.move && html`<button onClick=${() => actions.ask_change(jobs)}>Change…</button>
      <button onClick=${() => actions.ask_move(jobs, done)}>Move…</button>`}
    ${can.copy && html`<button onClick=${() => actions.ask_copy(jobs)}>Copy…</button>
      ${jobs.length === 1 && html`<button onClick=${() => actions.ask_edit(jobs[0])}>Edit and put…</button>`}`}
    <button onClick=${() => actions.copy_ids(jobs)}>${jobs.length === 1 ? 'Copy id' : 'Copy ids'}</button>
    <button onClick=${() => actions.download(jobs)}>Download</button>
    ${can.delete && html`<button class="danger apart" onClick=${() => actions.ask_delete(jobs, done)}>Delete…</button>`}`;
}

/**
 * The first bytes of bodies, asked for one after another and once each.
 * @param {Job[]} jobs
 * @param {boolean} is_on
 */
function use_previews(jobs, is_on) {
  const [previews, set_previews] = useState(/** @type {Map<string, string>} */ (new Map()));
  const ids = jobs.map(({id}) => id).join();
  useEffect(() => {
    if (!is_on) return;
    const controller = new AbortController();
    (async () => {
      for (const {id} of jobs) {
        if (previews.has(id)) continue;
        let text;
        try {
          text = first_line((await get_body_window(id, 0, preview_bytes, controller.signal)).bytes);
        } catch (error) {
          if (controller.signal.aborted) return;
          text = error.status === 404 ? '(gone)' : `(${error.message})`;
        }
        previews.set(id, text);
        set_previews(new Map(previews));
      }
    })();
    return () => controller.abort();
  }, [ids, is_on]);
  return previews;
}
