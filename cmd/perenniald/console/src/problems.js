// What is wrong, before all numbers: what the server cannot do, limits that are near, tubes whose jobs wait too long, and what has failed
// since yesterday. One line says that nothing is.

import {get} from './api.js';
import {bytes, count, jobs as jobs_text, time, visible_line} from './format.js';
import {html} from './html.js';
import {Icon} from './icon.js';
import {use_poll} from './live.js';
import {Problem, TubeLink, late_seconds} from './parts.js';
import {failed_href, job_href, note_href} from './router.js';

/** @typedef {import('./types.js').Server} Server @typedef {import('./types.js').Tube} Tube @typedef {import('./types.js').FailedGroup} FailedGroup */

const failed_seconds = 10;
const day_seconds = 86400;
const groups_max = 10;
const near = 0.8;
const behind_entries = 1000;

/** How long ago it was. @param {string} iso */
export const ago = (iso) => `${time((Date.now() - Date.parse(iso)) / 1000)} ago`;

/** @param {Server} server @returns {string[]} In sentences, the worst first. */
function of_server({store, draining, cluster, limits, connections, jobs, tubes, schedules: {refused}, memory_bytes, totals}) {
  const lost = store.jobs_without_body;
  const all_jobs = jobs.ready + jobs.reserved + jobs.delayed + jobs.buried;
  const {disk_free_bytes: free, disk_low_water_bytes: low} = limits;
  /** @type {[string, number, number|null, (n: number) => string][]} */
  const uses = [['connections', connections.all, limits.connections_max, count], ['memory', memory_bytes, limits.memory_bytes_max, bytes],
    ['jobs', all_jobs, limits.jobs_max, count], ['tubes', tubes, limits.tubes_max, count]];
  return [
    !store.accepts_puts && `The disk has no space for new jobs: the state of the store is ${store.state}.`,
    cluster?.append_failure && `The log of the cluster takes no entry: ${visible_line(cluster.append_failure)}. No change is answered.`,
    cluster && !cluster.leads && `Node ${visible_line(cluster.node)} serves, but its lease as the leader is over.`,
    cluster?.lag > behind_entries && `Node ${visible_line(cluster.node)} is ${count(cluster.lag)} entries behind the log.`,
    lost > 0 && `Damage on disk has cost ${count(lost)} ${lost === 1 ? 'job its body: it is' : 'jobs their bodies: they are'} buried, and everything else works. The log names them.`,
    lost === 0 && totals.damaged > 0 && `${jobs_text(totals.damaged)} ${totals.damaged === 1 ? 'was' : 'were'} buried since the start, because the body is damaged on disk.`,
    store.accepts_puts && store.state !== 'ok' && `The state of the store is ${store.state}.`,
    draining && 'The server drains: it refuses new jobs and serves everything else.',
    store.accepts_puts && low > 0 && free < 2 * low && `The disk has ${bytes(free)} free: jobs that end are not kept now, and below ${bytes(low)} no job is taken.`,
    refused > 0 && `The put of ${count(refused)} ${refused === 1 ? 'schedule' : 'schedules'} is refused, and tried again: the screen Schedules says why.`,
    ...uses.map(([name, used, most, text]) => most && used >= near * most && `The limit of ${name} is near: ${text(used)} of ${text(most)}.`),
  ].filter((each) => each);
}

/** Paused tubes are meant to wait, and so are dead jobs. @param {Tube[]} tubes */
const late_of = (tubes) => tubes.filter(({oldest_ready_seconds, pause_left_seconds, holds_dead}) =>
  oldest_ready_seconds >= late_seconds && !(pause_left_seconds > 0) && !holds_dead);

/**
 * @param {{server: Server|undefined, tubes: Tube[]|undefined, may: import('./types.js').May}} props Server: for whom may see it. Tubes: those with the oldest ready
 *   jobs, the oldest first.
 */
export function Problems({server, tubes, may}) {
  const {value, error} = use_poll(async (signal) => (may.inspect ? get(`/failures?since_seconds=${day_seconds}&limit=${groups_max}`, signal) : null), [may.inspect],
    {seconds: may.inspect ? failed_seconds : 0});
  const sentences = server ? of_server(server) : [];
  const groups = /** @type {FailedGroup[]} */ (value?.groups ?? []);
  const late = late_of(tubes ?? []);
  const is_known = tubes && value !== undefined;
  if (!sentences.length && !late.length && !groups.length) {
    return html`<${Problem} error=${error} />${!error && (is_known
      ? html`<p class="banner good-news"><span class="good"><${Icon} name="ok" /></span> Nothing is wrong: no job waits longer than ${time(late_seconds)}${
          may.inspect && ', none has failed in the last day'}${server && ', and no limit is near'}.${
          !may.inspect && ' Whether jobs have failed needs the verb inspect.'}</p>`
      : html`<p class="banner quiet">Looking for what is wrong…</p>`)}`;
  }
  return html`<section class="wrong" aria-labelledby="wrong">
    <h2 id="wrong">What is wrong</h2>
    <${Problem} error=${error} />
    <ul>
      ${sentences.map((text) => html`<li key=${text}><span class="bad"><${Icon} name="warning" /></span><p>${text}</p></li>`)}
      ${late.map((tube) => html`<li key=${`late ${tube.name}`} data-row><span class="warn"><${Icon} name="warning" /></span>
        <p class="one-line"><${TubeLink} name=${tube.name} /></p>
        <p><b>${time(tube.oldest_ready_seconds)}</b> since its oldest job was ready<span class="quiet">; ${jobs_text(tube.ready, 'ready')}, ${
          tube.watching ? `${count(tube.watching)} ${tube.watching === 1 ? 'connection watches' : 'connections watch'}` : 'nobody watches'}</span></p></li>`)}
      ${groups.map((group) => html`<${Failed} key=${`${group.how} ${group.tube} ${group.line}`} group=${group} />`)}
    </ul>
    ${groups.length > 0 && html`<p class="quiet"><a href=${failed_href()}>All that has failed</a>${
      value.groups_found > groups.length && `, ${count(value.groups_found)} kinds in the last day`}</p>`}
  </section>`;
}

/**
 * The last line of the newest note is what a person looks for.
 * @param {{group: FailedGroup, shows_tube?: boolean, on_key?: (event: CustomEvent) => void, children?: any}} props
 */
export const Failed = ({group: {tube, how, line, jobs, newest, newest_at, note}, shows_tube = true, on_key, children}) => html`<li data-row onact=${on_key}>
  <span class="buried"><${Icon} name=${how === 'dead' ? 'gone' : 'buried'} /></span>
  ${shows_tube && html`<p class="one-line"><${TubeLink} name=${tube} /></p>`}
  <div><p class="error"><a href=${job_href(newest)}><bdi>${note ? visible_line(note.last_line) : `Job ${newest}, without a note`}</bdi></a></p>
    <p class="quiet"><a href=${note_href(tube, how, line)}>${jobs_text(jobs, how)}</a>${newest_at && `, the last one ${ago(newest_at)}`}${
      note && line !== note.last_line && html`; <bdi>${visible_line(line)}</bdi>`}</p></div>${children}</li>`;
