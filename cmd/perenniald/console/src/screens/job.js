// One job: every field, and its body in windows of 64 KiB, as JSON, what PHP's serialize() has written, text or hexadecimal. Nothing of a body is
// ever more than text.

import {useRef, useState} from 'preact/hooks';
import {body_window_bytes, get, get_body_window} from '../api.js';
import {decode, hex_dump} from '../bytes_text.js';
import {path as ended_path} from '../ended_jobs.js';
import {bytes as bytes_text, count, failed_attempts, time, visible, visible_line} from '../format.js';
import {html} from '../html.js';
import {Badge, StateBadge} from '../icon.js';
import {JobButtons} from '../job_list.js';
import {format_json, json_fault, looks_like_json} from '../json_text.js';
import {use_later} from '../later.js';
import {use_poll} from '../live.js';
import {Facts, Heading, Problem, TubeLink} from '../parts.js';
import {format_php} from '../php_text.js';
import {connection_href, ended_href} from '../router.js';

/** @typedef {import('../types.js').Job} Job */

/** @param {{id: string}} props */
export function JobScreen({id}) {
  const {value, error} = use_poll((signal) => get(`/jobs/${encodeURIComponent(id)}`, signal), [id]);
  const shown = useRef(/** @type {Job|undefined} */ (undefined));
  if (value) shown.current = value;
  const job = shown.current;
  const is_gone = error?.status === 404;
  const lease = job?.leased_by?.lease;
  const leases = use_later(lease ? 'leases' : undefined);
  if (!job) {
    return html`<${Heading} title=${`Job ${visible_line(id)}`} />${is_gone
      ? html`<${KeptJob} id=${id} otherwise="There is no job with this id. It may have been deleted." />` : html`<${Problem} error=${error} />`}`;
  }
  const is_held = job.state === 'reserved';
  return html`
    <${Heading} title=${`Job ${job.id}`}>
      ${is_gone ? html`<${Badge} kind="warn" icon="gone">gone<//>` : html`<${StateBadge} state=${job.state} />`}
      <span>in <${TubeLink} name=${job.tube} /></span>
      ${!is_gone && html`<div class="actions end" role="group" aria-label="This job">
        ${lease && leases ? html`<button onClick=${() => leases.ask_take_back(lease, job.id)}>Take back…</button>`
          : is_held && html`<span class="quiet">A worker holds it.</span>`}
        <${JobButtons} jobs=${[job]} />
      </div>`}
    <//>
    ${error && (is_gone ? html`<${KeptJob} id=${id} />` : html`<${Problem} error=${error} />`)}
    <div class="columns">
      <section aria-label="Fields"><h2>Fields</h2><${Facts} class="list" facts=${facts(job)} /></section>
      <div>
        <${Life} id=${job.id} had=${job.notes} changes=${`${job.state} ${job.from}`} />
        <${Body} id=${job.id} size=${job.body_bytes} />
      </div>
    </div>`;
}

/** The way from a job that is gone to what is kept of it. @param {{id: string, otherwise?: string}} props Otherwise: what is said if nothing is. */
function KeptJob({id, otherwise}) {
  const {value} = use_poll((signal) => get(ended_path(id), signal), [id], {seconds: 0});
  if (!value) return otherwise && html`<p class="banner">${otherwise}</p>`;
  return html`<p class="banner">It was ${value.ended === 'expired' ? 'dropped when it expired' : value.ended}, and is kept for a while: <a href=${ended_href(id)}>look at it</a>.</p>`;
}

/** @param {Job} job @returns {[string, any][]} */
function facts(job) {
  /** @type {[string, any][]} */
  const list = [
    ['Age', time(job.age_seconds)],
    ['Priority', `${count(job.priority)}${job.priority < 1024 ? ', urgent' : ''}`],
    ['Time to run', time(job.ttr_seconds)],
    ['Delay', time(job.delay_seconds)],
    ['Time left', job.left_seconds > 0 ? `${time(job.left_seconds)} until ${job.state === 'reserved' ? 'it times out' : 'it is ready'}` : '–'],
    ['Reserves', count(job.reserves)],
    ['Tries', !job.tries ? 'no limit' : job.state === 'reserved' ? `number ${count(job.attempts + 1)} of ${count(job.tries)} is running` : count(job.tries)],
    ['Failed attempts', failed_attempts(job)],
    ['Timeouts', count(job.timeouts)],
    ['Releases', count(job.releases)],
    ['Buries', count(job.buries)],
    ['Kicks', count(job.kicks)],
    ['Size', bytes_text(job.body_bytes)],
  ];
  if (job.held_by) list.unshift(['Held by', html`<${Holder} ...${job.held_by} />`]);
  if (job.leased_by) list.unshift(['Held by', html`<${Holder} ...${job.leased_by} />`]);
  if (job.dead) list.push(['Dead tube', html`<${TubeLink} name=${job.dead} />`]);
  if (job.from) list.push(['Died in', html`<${TubeLink} name=${job.from} />`]);
  if (job.key) list.push(['Key', html`<bdi class="name">${visible_line(job.key)}</bdi>`]);
  if (job.expire_left_seconds > 0) list.push(['Expires in', time(job.expire_left_seconds)]);
  if (job.parked) list.push(['Parked', 'its concurrency key is full']);
  return list;
}

/** @param {{id?: string, address: string, user: string|null}} props Id: of a connection. Without one it is a lease. */
const Holder = ({id, address, user}) => html`${id === undefined ? 'a lease over HTTP' : html`<a href=${connection_href(id)}>connection ${id}</a>`} <span class="quiet">${
  user !== null && html`of <bdi>${visible_line(user)}</bdi> `}from <bdi class="name">${visible_line(address)}</bdi></span>`;

/**
 * What happened to a job, the newest first: it was put, first reserved, why attempts have failed, and what it is.
 * @param {{id: string, had: number, changes?: string}} props Changes: with it, or with a further note, there is more to tell.
 */
export function Life({id, had, changes}) {
  const {value, error} = use_poll((signal) => get(`/jobs/${encodeURIComponent(id)}/life`, signal), [id, had, changes], {seconds: 0});
  return html`
    <section aria-label="Life">
      <div class="heading"><h2>Life</h2>${had > 3 && html`<span class="quiet">the last 3 of ${count(had)} notes</span>`}</div>
      <${NotRead} error=${error} />
      ${value && html`<ol class="notes">${[...value.life].reverse().map((/** @type {import('../types.js').LifeRow} */ {what, time: at, by, attempt, detail}) => html`
        <li>
          <p class="quiet">${what === 'reserved' ? 'first reserved' : what}${what === 'note' ? ` of attempt ${attempt}` : detail && html`: <bdi>${visible_line(detail)}</bdi>`}${
            at && `, ${new Date(at).toLocaleString()}`}${by && html`, by <bdi>${visible_line(by)}</bdi>`}</p>
          ${what === 'note' && html`<pre class="body" dir="auto">${visible(detail)}</pre>`}
        </li>`)}</ol>`}
    </section>`;
}

/** That the job is gone is said above, and no fault. @param {{error: import('../api.js').ApiError|null}} props */
const NotRead = ({error}) => (error?.status === 404 ? html`<p class="quiet">Gone with the job.</p>` : html`<${Problem} error=${error} />`);

/** @typedef {'json'|'php'|'text'|'hex'} View @type {[View, string][]} */
const views = [['json', 'JSON'], ['php', 'PHP'], ['text', 'Text'], ['hex', 'Hex']];

/** @param {{id: string, size: number, place?: 'jobs'|'ended'}} props Place: where the job is. */
export function Body({id, size, place = 'jobs'}) {
  const [offset, set_offset] = useState(0);
  const [chosen, set_chosen] = useState(/** @type {View|null} */ (null));
  // A body never changes, so it is asked for once.
  const {value, error} = use_poll(async (signal) => ({offset, ...await get_body_window(id, offset, body_window_bytes, signal, place)}), [id, offset], {seconds: 0});
  const last = Math.max(0, Math.floor((size - 1) / body_window_bytes) * body_window_bytes);
  const shown = value && show(value.bytes, value.offset, size, chosen);
  return html`
    <div class="heading"><h2 id="body">Body</h2>
      <div class="segments" role="group" aria-label="Show the body as">${views.filter(([view]) => view !== 'php' || shown?.is_php).map(([view, name]) => html`
        <button key=${view} aria-pressed=${shown?.view === view} onClick=${() => set_chosen(view)}>${name}</button>`)}</div>
      ${shown?.note && html`<span class="quiet">${shown.note}</span>`}
    </div>
    ${size > body_window_bytes && html`<nav class="pages" aria-label="Windows of the body">
      <button disabled=${offset === 0} onClick=${() => set_offset(0)}>First</button>
      <button disabled=${offset === 0} onClick=${() => set_offset(offset - body_window_bytes)}>Previous</button>
      <button disabled=${offset >= last} onClick=${() => set_offset(offset + body_window_bytes)}>Next</button>
      <button disabled=${offset >= last} onClick=${() => set_offset(last)}>Last</button>
      <span class="quiet">Bytes ${count(offset)} to ${count(Math.min(offset + body_window_bytes, size) - 1)} of ${count(size)}</span>
    </nav>`}
    <${NotRead} error=${error} />
    ${shown ? html`<pre class="body" tabindex="0" role="region" aria-labelledby="body" dir="ltr">${shown.text}</pre>`
      : !error && html`<p class="quiet">Loading…</p>`}`;
}

/** @param {Uint8Array} bytes @param {number} offset @param {number} size Of the whole body. @param {View|null} chosen */
function show(bytes, offset, size, chosen) {
  const {text, is_utf8} = decode(bytes);
  const is_json = is_utf8 && offset === 0 && looks_like_json(text);
  const php = offset === 0 ? format_php(bytes) : null;
  const is_php = php !== null;
  const view = chosen ?? (is_json ? 'json' : is_php ? 'php' : is_utf8 ? 'text' : 'hex');
  if (!bytes.length) return {view, is_php, text: '', note: 'empty'};
  if (view === 'hex') return {view, is_php, text: hex_dump(bytes, offset), note: ''};
  const note = is_utf8 ? '' : 'not UTF-8: what cannot be shown is �';
  if (view === 'text') return {view, is_php, text: visible(text), note};
  if (view === 'php' && is_php) return {view, is_php, text: visible(php), note: `from serialize(); no value is changed${note && `; ${note}`}`};
  if (!is_json) return {view, is_php, text: visible(text), note: 'does not look like JSON, so it is shown as it is'};
  const fault = json_fault(text);
  if (fault === null) return {view, is_php, text: visible(format_json(text)), note: 'formatted; no value is changed'};
  if (fault === text.length && bytes.length < size) {
    return {view, is_php, text: visible(format_json(text)), note: 'the beginning, formatted; no value is changed'};
  }
  const byte = count(new TextEncoder().encode(text.slice(0, fault)).length);
  const why = fault === text.length ? `it ends at byte ${byte}, before its end` : `byte ${byte}`;
  return {view, is_php, text: visible(text), note: `not JSON: ${why}; shown as it is`};
}
