// The way back for jobs that have ended: whether there is one, said before they end, and offered and taken after it.

import {announce} from './announce.js';
import {get, post, tube_path} from './api.js';
import {count, jobs as jobs_text, time, visible_line} from './format.js';
import {html} from './html.js';
import {refresh, use_poll} from './live.js';
import {ended_href, job_href} from './router.js';

/** @typedef {NonNullable<import('./types.js').Tube['settings']>} Settings @typedef {{id: string, tube: string}} Named */

const requests_at_once = 4;
// A question about jobs of more tubes than these does not ask for the settings of each.
const told_tubes_max = 8;

/** Whether a tube with these settings keeps jobs that end. @param {Settings|undefined} settings */
export const keeps_ended = (settings) => settings !== undefined && (settings.keep_seconds > 0 || settings.keep_max > 0);

const path = (/** @type {string} */ id, rest = '') => `/ended/${encodeURIComponent(id)}${rest}`;

// ---------------------------------------------------------------------------------------------- before they end

/**
 * What is said before so many jobs of a tube end.
 * @param {Settings|null} settings Null: they could not be read.
 * @param {number} job_count
 */
function way_back(settings, job_count) {
  const [they, their] = job_count === 1 ? ['It', 'its'] : ['They', 'the'];
  if (!settings) return html`It is not known whether ${they.toLowerCase()} can be put back.`;
  const {keep_seconds, keep_max} = settings;
  if (!keeps_ended(settings)) return html`${they} <strong>cannot be put back</strong>: ${their} tube keeps no jobs that have ended.`;
  const others = job_count - keep_max;
  return html`${they} <strong>can be put back</strong>${keep_seconds > 0 && ` for ${time(keep_seconds)}`}, unless the disk is short of space by then: nothing is kept then.${
    keep_max > 0 && ` The tube keeps only the last ${keep_max === 1 ? 'job that has ended' : `${jobs_text(keep_max)} that have ended`}${
      others > 0 ? `: the other ${others === 1 ? 'one' : count(others)} cannot be put back` : ''}.`}`;
}

/**
 * Says in a question whether these jobs can be put back, and for how long.
 * @param {{job_counts: Map<string, number>}} props By tube.
 */
export function WayBack({job_counts}) {
  const tubes = [...job_counts.keys()];
  const is_told = tubes.length <= told_tubes_max;
  const {value} = use_poll((signal) => Promise.all(is_told ? tubes.map((tube) => settings_of(tube, signal)) : []), [tubes.join(' ')], {seconds: 0});
  if (!is_told) return html`<p>What their tubes keep can be put back for a while. The others do not come back.</p>`;
  if (!value) return html`<p class="quiet">Looking whether there is a way back…</p>`;
  if (tubes.length === 1) return html`<p>${way_back(value[0], job_counts.get(tubes[0]))}</p>`;
  if (value.every((settings) => settings && !keeps_ended(settings))) {
    return html`<p>They <strong>cannot be put back</strong>: their tubes keep no jobs that have ended.</p>`;
  }
  return tubes.map((tube, index) => html`<p key=${tube}>${jobs_text(job_counts.get(tube))} in <bdi class="name">${visible_line(tube)}</bdi>. ${
    way_back(value[index], job_counts.get(tube))}</p>`);
}

/** @param {string} tube @param {AbortSignal} signal @returns {Promise<Settings|null>} */
async function settings_of(tube, signal) {
  try {
    return (await get(tube_path(tube), signal)).settings ?? null;
  } catch (error) {
    if (error.status === 0) throw error;  // It is asked for again.
    return null;
  }
}

/** @param {Named[]} jobs @returns {Map<string, number>} */
export function counts_by_tube(jobs) {
  const counts = new Map();
  for (const {tube} of jobs) counts.set(tube, (counts.get(tube) ?? 0) + 1);
  return counts;
}

// ---------------------------------------------------------------------------------------------- after it

/**
 * What the message about jobs that were just deleted offers. A tube that keeps its last one keeps what it can of the others.
 * @param {Named[]} jobs
 * @returns {Promise<import('./announce.js').Offer|undefined>}
 */
export async function offer_of(jobs) {
  const last = new Map(jobs.map((job) => [job.tube, job]));
  if (!last.size || last.size > told_tubes_max) return undefined;
  const kept = new Set();
  await Promise.all([...last.values()].map(({id, tube}) => get(path(id)).then(({may}) => may.manage && kept.add(tube), () => {})));
  const back = jobs.filter(({tube}) => kept.has(tube));
  return back.length ? {text: 'Put back', run: () => put_back(back)} : undefined;
}

/** Jobs that are being put back: a second click asks for nothing. @type {Set<string>} */
const going_back = new Set();

/**
 * Puts jobs back, and says what came of it.
 * @param {{id: string}[]} jobs
 * @returns {Promise<string|null>} The id of the last one that is back.
 */
export async function put_back(jobs) {
  const asked = jobs.filter(({id}) => !going_back.has(id));
  if (!asked.length) return null;
  asked.forEach(({id}) => going_back.add(id));
  const back = [];
  let problem = '';
  let next = 0;
  await Promise.all(Array.from({length: requests_at_once}, async () => {
    while (next < asked.length) {
      const {id} = asked[next++];
      try {
        back.push((await post(path(id, '/restore'))).id);
      } catch (error) {
        problem = error.message;
        // Others may fare better, unless it is the server that does not take them.
        if (error.status !== 404 && error.status !== 409) next = asked.length;
      }
    }
  }));
  asked.forEach(({id}) => going_back.delete(id));
  refresh();
  tell(asked, back, problem);
  return back.at(-1) ?? null;
}

/** @param {{id: string}[]} asked @param {string[]} back @param {string} problem */
function tell(asked, back, problem) {
  if (!back.length) announce(problem);
  else if (asked.length === 1) announce(`Job ${asked[0].id} is back, as job ${back[0]}.`, {text: `Job ${back[0]}`, href: job_href(back[0])});
  else announce(`${jobs_text(back.length)} put back.${back.length < asked.length ? ` ${count(asked.length - back.length)} could not be: ${problem}` : ''}`);
}

/** The way from a job that is gone to what is kept of it. @param {{id: string, otherwise?: string}} props Otherwise: what is said if nothing is. */
export function KeptJob({id, otherwise}) {
  const {value} = use_poll((signal) => get(path(id), signal), [id], {seconds: 0});
  if (!value) return otherwise && html`<p class="banner">${otherwise}</p>`;
  return html`<p class="banner">It was ${value.ended === 'expired' ? 'dropped when it expired' : value.ended}, and is kept for a while: <a href=${ended_href(id)}>look at it</a>.</p>`;
}
