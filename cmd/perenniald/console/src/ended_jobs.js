// The way back for jobs that have ended: offered after a delete, and taken.

import {announce} from './announce.js';
import {get, post, tube_path} from './api.js';
import {count, jobs as jobs_text, visible_line} from './format.js';
import {html} from './html.js';
import {refresh} from './live.js';
import {job_href} from './router.js';
import {forget, keep_in_sight, offered_until} from './way_back.js';

/** @typedef {{id: string, tube: string}} Named */

const requests_at_once = 4;
// Jobs of more tubes than these are not looked for in each.
const told_tubes_max = 8;

export const path = (/** @type {string} */ id, rest = '') => `/ended/${encodeURIComponent(id)}${rest}`;

/** The way back from a delete, which is kept in sight. @param {Named[]} jobs Those that were just deleted, in this order. */
export const offer_of = (jobs) => keep_in_sight(way_of(jobs));

/** @param {Named[]} jobs @returns {Promise<import('./way_back.js').Way|undefined>} */
async function way_of(jobs) {
  const last = new Map(jobs.map((job) => [job.tube, job]));
  if (!last.size || last.size > told_tubes_max) return undefined;
  const kept = (await Promise.all([...last.values()].map((job) => kept_of(job, jobs).catch(() => [])))).flat();
  return kept.length ? {
    text: html`Deleted ${jobs_text(jobs.length)} of ${last.size === 1 ? html`<bdi class="name">${visible_line(jobs[0].tube)}</bdi>` : `${count(last.size)} tubes`}.`,
    until: Math.max(...kept.map(({until}) => until)),
    jobs: kept,
    total: jobs.length,
    run: put_back,
  } : undefined;
}

/** What a tube keeps of them: if it keeps the last one, then the others before it, up to its number. @param {Named} last @param {Named[]} jobs */
async function kept_of({id, tube}, jobs) {
  if (!(await get(path(id))).may.manage) return [];
  const {keep_seconds, keep_max} = (await get(tube_path(tube, '/settings'))).in_force;
  const until = offered_until(keep_seconds);
  return jobs.filter((job) => job.tube === tube).slice(-keep_max).map((job) => ({id: job.id, until}));
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
  const settled = new Set();
  let problem = '';
  let next = 0;
  await Promise.all(Array.from({length: requests_at_once}, async () => {
    while (next < asked.length) {
      const {id} = asked[next++];
      try {
        back.push((await post(path(id, '/restore'))).id);
        settled.add(id);
      } catch (error) {
        problem = error.message;
        // Others may fare better, unless it is the server that does not take them.
        if (error.status === 404 || error.status === 409) settled.add(id);
        else next = asked.length;
      }
    }
  }));
  asked.forEach(({id}) => going_back.delete(id));
  forget(settled);
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
