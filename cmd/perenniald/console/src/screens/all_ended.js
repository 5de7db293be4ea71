// What has ended in all tubes, the newest first, and the way back for it. What ended together is one line: a flush of a thousand jobs is one
// act of one person.

import {useLayoutEffect, useState} from 'preact/hooks';
import {get, query} from '../api.js';
import {ask} from '../dialogs.js';
import {add_groups, ms_of} from '../ended_groups.js';
import {put_back} from '../ended_jobs.js';
import {count, jobs as jobs_text, time, visible_line} from '../format.js';
import {html} from '../html.js';
import {Icon} from '../icon.js';
import {use_poll} from '../live.js';
import {begin_operation} from '../operations.js';
import {EmptyRow, Heading, Problem, TubeLink} from '../parts.js';
import {ended_href, go, tube_href} from '../router.js';
import {use_row_focus} from '../row_focus.js';

/**
 * @typedef {import('../types.js').EndedGroup} EndedGroup
 * @typedef {import('../types.js').EndedPage & {at: number, hides_later: boolean}} Page At: when its ages were true. Hides later: not all that ended since then is in it.
 */

const page_groups = 50;
// The server looks at so many jobs for one answer and then says where to go on. This page goes on so often by itself.
const requests_max = 3;
const seen_seconds = 10;  // Each look reads the disk.

/** @type {[string, string][]} */
const ways_to_end = [['', 'All'], ['flushed', 'Flushed'], ['deleted', 'Deleted'], ['expired', 'Expired']];
/** @type {[string, string][]} */
const spans = [['', 'Any time'], ['3600', 'Last hour'], ['43200', 'Last 12 hours'], ['86400', 'Last 24 hours']];

/**
 * A page, which takes several answers where much else has ended between what is wanted.
 * @param {Record<string, string>} asked @param {AbortSignal} signal
 * @returns {Promise<Page>}
 */
async function get_page(asked, signal) {
  const at = Date.now();
  const page = await get('/ended' + query({...asked, limit: page_groups}), signal);
  for (let requests = 1; page.next && page.groups.length < page_groups && requests < requests_max; ++requests) {
    const more = await get('/ended' + query({...asked, after: page.next, limit: page_groups}), signal);
    add_groups(page.groups, more.groups);
    Object.assign(page, {next: more.next, looked_at: page.looked_at + more.looked_at});
    if (!page.next) page.groups.forEach((/** @type {EndedGroup} */ group) => (group.whole = true));
  }
  return {...page, at, hides_later: Boolean(asked.after || asked.by)};
}

/** On this day only the time of the day is said. @param {string} iso */
function clock(iso) {
  const at = new Date(iso);
  const two = (/** @type {number} */ n) => String(n).padStart(2, '0');
  const of_day = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':');
  const is_today = at.toDateString() === new Date().toDateString();
  return is_today ? of_day : `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${of_day}`;
}

/** @param {{route: import('../router.js').Route}} props */
export function AllEnded({route}) {
  const of = (/** @type {string} */ name) => route.query.get(name) ?? '';
  const after = of('after');
  const filter = {how: of('how'), tube: of('tube'), by: of('by'), since_seconds: of('since_seconds')};
  const is_filtered = Boolean(filter.how || filter.tube || filter.by || filter.since_seconds);
  const {value, error} = use_poll((signal) => get_page({...filter, after}, signal), [JSON.stringify(filter), after], {seconds: seen_seconds});
  const groups = value?.groups ?? [];
  const row_focus = use_row_focus();
  const show = (/** @type {Record<string, string>} */ changes) => go('/ended' + query({...filter, ...changes}));
  return html`
    <${Heading} title="Ended"><span class="quiet">what was deleted, flushed or has expired, and is kept for a while</span><//>
    <nav class="tabs" aria-label="How they ended">${ways_to_end.map(([how, name]) => html`
      <a key=${how} href=${'/ended' + query({...filter, how})} aria-current=${how === filter.how ? 'page' : undefined}>${name}</a>`)}</nav>
    <${Filter} filter=${filter} show=${show} />
    <${Problem} error=${error} />
    ${value && !value.all_tubes && html`<p class="banner warn"><${Icon} name="warning" /> More than ${count(value.tubes)} tubes keep jobs that have ended. Those with the last names are left out: choose a tube.</p>`}
    ${value && !value.tubes && !after ? html`<${NothingKept} tube=${filter.tube} />` : html`
      <div class="scroll" tabindex="0" role="region" aria-label="Table of what has ended">
        <table class="ended-groups">
          <thead><tr>
            <th scope="col">When</th><th scope="col">What</th><th scope="col">Tube</th><th scope="col">By</th><th scope="col"><span class="hidden-text">Put back</span></th>
          </tr></thead>
          <tbody ...${row_focus}>
            ${groups.map((group) => html`<${Row} key=${`${group.tube} ${group.newest.id}`} group=${group} page=${value} />`)}
            ${value && !groups.length && html`<${EmptyRow} columns=${5} empty=${value.next ? 'Nothing like this among what ended last: the next page looks further back.'
              : after ? 'Nothing more.' : is_filtered ? 'Nothing that is kept has ended like this.' : 'Nothing that is kept.'} />`}
            ${!value && !error && html`<${EmptyRow} columns=${5} empty="Loading…" />`}
          </tbody>
        </table>
      </div>
      <nav class="pages" aria-label="Pages of what has ended">
        <button disabled=${!after} onClick=${() => show({})}>First page</button>
        <button disabled=${!value?.next} onClick=${() => show({after: value.next})}>Next page</button>
        ${value && groups.length < page_groups && value.next && html`<span class="quiet">${jobs_text(value.looked_at)} looked at; there are older ones.</span>`}
      </nav>`}`;
}

/** @param {EndedGroup} group */
const number_of = ({jobs, whole}) => (whole ? jobs_text(jobs) : `${jobs_text(jobs)} or more`);

/** @param {{group: EndedGroup, page: Page}} props */
function Row({group, page}) {
  const {tube, ended, ended_by, jobs, whole, newest, oldest, after, may} = group;
  const is_one = jobs === 1 && whole;
  const what = is_one ? html`Job <a href=${ended_href(newest.id)}>${newest.id}</a> ${ended}`
    : html`<a href=${tube_href(tube, 'ended') + query({after})}>${number_of(group)}</a> ${ended}`;
  const begun = clock(oldest.ended_at);
  const is_long = jobs > 1 && begun !== clock(newest.ended_at);
  const name = is_one ? `job ${newest.id}` : `${number_of(group)} of ${tube}`;
  return html`<tr data-row>
    <td><time datetime=${newest.ended_at}>${clock(newest.ended_at)}</time> <span class="quiet">${time(newest.ended_age_seconds)} ago${is_long && `, from ${begun} on`}</span></td>
    <th scope="row">${what}</th>
    <td><${TubeLink} name=${tube} state="ended" /></td>
    <td>${ended_by === null ? html`<span class="quiet">–</span>` : html`<bdi class="name">${visible_line(ended_by)}</bdi>`}</td>
    <td class="end">${may.manage && html`<button class="small" aria-label=${`Put back ${name}`}
      onClick=${() => (is_one ? put_back([newest]) : ask_restore(group, page))}>Put back${!is_one && '…'}</button>`}</td>
  </tr>`;
}

/**
 * The way back for all of a group. The server takes what ended in the tube in a time that ends now, so what ended later comes back with it.
 * @param {EndedGroup} group @param {Page} page
 */
function ask_restore(group, page) {
  const {tube, ended, jobs, whole, oldest} = group;
  const later = page.groups.filter((each) => each !== group && each.tube === tube && each.ended === ended && ms_of(each.newest) >= ms_of(oldest))
    .reduce((sum, each) => sum + each.jobs, 0);
  ask({
    title: `Put back ${number_of(group)}`,
    text: `What was ${ended === 'expired' ? 'dropped as expired' : ended} in ${visible_line(tube)} since ${clock(oldest.ended_at)}, by whomever, comes back as new jobs, as it was: with body, notes, priority, delay, tries and key. One whose key another job has by now stays where it is.`,
    note: () => html`
      ${later > 0 && html`<p>With them ${later === 1 ? 'comes' : 'come'} <strong>${jobs_text(later)}</strong> that ended so in the same time or later.</p>`}
      ${!whole && html`<p>More of them may have ended before that. <a href=${tube_href(tube, 'ended')} data-plain>The list of the tube</a> puts back all that it keeps.</p>`}
      ${page.hides_later && html`<p>There may be more of these than this page shows: <a href=${'/ended' + query({how: ended, tube})} data-plain>all of them</a>.</p>`}
      ${ended === 'deleted' && html`<p>Workers delete jobs whose work is done: those are done again.</p>`}`,
    action: 'Put back',
    job_count: page.hides_later || !whole ? undefined : jobs + later,
    run: () => begin_operation({
      action: 'restore',
      tube,
      how: [ended],
      // Ages are whole seconds, and have grown since.
      since_seconds: oldest.ended_age_seconds + 2 + Math.floor((Date.now() - page.at) / 1000),
    }),
  });
}

/** @param {{filter: Record<string, string>, show: (changes: Record<string, string>) => void}} props */
function Filter({filter, show}) {
  const [values, set_values] = useState(filter);
  const given = JSON.stringify(filter);
  // The address may change by itself: back, forward, a link. Before the next key, or it would undo what was typed.
  useLayoutEffect(() => set_values(filter), [given]);
  // Half of a character that takes two units would not fit into an address.
  const input = (/** @type {string} */ name) => (/** @type {any} */ event) => set_values({...values, [name]: event.target.value.toWellFormed()});
  const is_set = filter.tube || filter.by || filter.since_seconds;
  return html`<form class="search" onSubmit=${(event) => {
    event.preventDefault();
    show(values);
  }}>
    <label class="short">Tube <input data-filter class="name" value=${values.tube} placeholder="all" autocomplete="off" spellcheck=${false} onInput=${input('tube')} /></label>
    <label class="short">By <input value=${values.by} placeholder="anybody" autocomplete="off" spellcheck=${false} onInput=${input('by')} /></label>
    <label class="short">When <select aria-label="When" value=${values.since_seconds} onChange=${(event) => show({...values, since_seconds: event.target.value})}>
      ${spans.map(([seconds, name]) => html`<option key=${seconds} value=${seconds}>${name}</option>`)}</select></label>
    <button type="submit">Filter</button>
    ${is_set && html`<button type="button" class="plain" onClick=${() => show({tube: '', by: '', since_seconds: ''})}>Clear filter</button>`}
  </form>`;
}

/** @param {{tube: string}} props */
const NothingKept = ({tube}) => html`<div class="banner">
  <p>${tube ? html`The tube <bdi class="name">${visible_line(tube)}</bdi> has` : 'No tube that you may inspect has'} jobs that have ended and are kept.</p>
  <p class="quiet">A tube keeps them once it is told so, for a time or up to a number: <code>${`perennial set tube ${tube ? visible_line(tube) : 'TUBE'} --keep 24h`}</code>. What has ended before does not come back.</p>
</div>`;
