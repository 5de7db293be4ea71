// Whether jobs can be put back, said before they are deleted.

import {get, tube_path} from './api.js';
import {count, jobs as jobs_text, time, visible_line} from './format.js';
import {html} from './html.js';
import {use_poll} from './live.js';

/** @typedef {NonNullable<import('./types.js').Tube['settings']>} Settings */

// A question about jobs of more tubes than these does not ask for the settings of each.
const told_tubes_max = 8;

/** Whether a tube with these settings keeps jobs that end. @param {Settings|undefined} settings */
export const keeps_ended = (settings) => settings !== undefined && (settings.keep_seconds > 0 || settings.keep_max > 0);

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

/** @param {{tube: string}[]} jobs @returns {Map<string, number>} */
export function counts_by_tube(jobs) {
  const counts = new Map();
  for (const {tube} of jobs) counts.set(tube, (counts.get(tube) ?? 0) + 1);
  return counts;
}
