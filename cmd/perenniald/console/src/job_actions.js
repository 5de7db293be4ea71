// What a person does with jobs: one of them, or those that are selected in a list.

import {announce} from './announce.js';
import {ApiError, get_body, post} from './api.js';
import {WayBack, counts_by_tube} from './before_delete.js';
import {base64, decode} from './bytes_text.js';
import {ask} from './dialogs.js';
import {offer_of} from './ended_jobs.js';
import {jobs as jobs_text} from './format.js';
import {html} from './html.js';
import {refresh} from './live.js';
import {job_href} from './router.js';

/** @typedef {import('./types.js').Job} Job */

const requests_at_once = 4;
const batch_jobs = 1000;
// A put by the API is JSON of at most 1 MiB, and base64 makes four bytes of three.
const copied_bytes_max = 768 * 1024 - 4096;
// A put is JSON of at most 1 MiB, in which a byte may take six.
const edited_bytes_max = 128 * 1024;
const downloaded_bytes_max = 64 * 1024 * 1024;

/**
 * Does it for each job. A job that is gone by now is counted and no failure; anything else stops.
 * @param {Job[]} jobs
 * @param {(job: Job) => Promise<any>} action
 */
async function for_each(jobs, action) {
  /** @type {Job[]} */
  const done = [];
  let gone = 0;
  let next = 0;
  /** @type {Error|null} */
  let problem = null;
  await Promise.all(Array.from({length: requests_at_once}, async () => {
    while (next < jobs.length && !problem) {
      const job = jobs[next++];
      try {
        await action(job);
        done.push(job);
      } catch (error) {
        if (error.status === 404 || error.status === 409) ++gone;
        else problem ??= error;
      }
    }
  }));
  return {done, gone, problem};
}

/** @typedef {(done: {id: string, tube: string}[]) => Promise<import('./announce.js').Offer|undefined>} Offers What the message leads to. */

/**
 * @param {Job[]} jobs
 * @param {(job: Job) => Promise<any>} action
 * @param {string} past
 */
async function run(jobs, action, past) {
  const {done, gone, problem} = await for_each(jobs, action);
  tell(jobs, done, gone, past, problem);
}

/**
 * Says what came of it, and throws what has stopped it.
 * @param {{id: string}[]} jobs @param {{id: string, tube: string}[]} done @param {number} gone @param {string} past @param {Error|null} problem @param {Offers} [offer]
 */
function tell(jobs, done, gone, past, problem, offer) {
  if (done.length || !problem) {
    const others = gone ? ` ${jobs_text(gone)} had moved on, or ${gone === 1 ? 'is' : 'are'} held by a worker.` : '';
    announce(`${jobs_text(done.length)} ${past}.${others}${problem ? ` Then: ${problem.message}` : ''}`, offer?.(done));
    refresh(/** @type {Job[]} */ (jobs));
  }
  if (problem) throw problem;
}

/**
 * Does the same to each job, with few requests.
 * @param {{id: string, tube: string}[]} jobs
 * @param {'kick'|'delete'|'bury'|'move'} action
 * @param {string} past
 * @param {{to?: string, offer?: Offers}} [more] To: the tube of a move.
 */
export async function act(jobs, action, past, {to, offer} = {}) {
  const done = [];
  let gone = 0;
  /** @type {Error|null} */
  let problem = null;
  for (let at = 0; at < jobs.length && !problem; at += batch_jobs) {
    const part = jobs.slice(at, at + batch_jobs);
    try {
      const answer = await post('/jobs/batch', {action, ids: part.map(({id}) => id), ...(to === undefined ? {} : {to})});
      const ids = new Set(answer.done);
      done.push(...part.filter(({id}) => ids.has(id)));
      gone += answer.left.length;
      if (answer.problem) problem = new ApiError(0, answer.problem);
    } catch (error) {
      problem = error;
    }
    if (!problem && at + batch_jobs < jobs.length) announce(`${jobs_text(done.length)} of ${jobs_text(jobs.length)} ${past} so far.`);
  }
  tell(jobs, done, gone, past, problem, offer);
}

const path = (job, rest = '') => `/jobs/${encodeURIComponent(job.id)}${rest}`;

/** "job 5" or "12 jobs". @param {Job[]} jobs */
const name_of = (jobs) => (jobs.length === 1 ? `job ${jobs[0].id}` : jobs_text(jobs.length));

/** @param {Job[]} jobs */
export const seen_tube = (jobs) => (jobs.every(({tube}) => tube === jobs[0].tube) ? jobs[0].tube : undefined);

/** Kicking needs no question: it can be seen, and a bury undoes it. @param {Job[]} jobs */
export const kick = (jobs) => act(jobs, 'kick', 'kicked').catch((error) => announce(error.message));

/** @param {Job[]} jobs */
export const bury = (jobs) => act(jobs, 'bury', 'buried').catch((error) => announce(error.message));

/** @param {Job[]} jobs @param {() => void} [done] */
export function ask_delete(jobs, done) {
  ask({
    title: `Delete ${name_of(jobs)}`,
    note: () => html`<${WayBack} job_counts=${counts_by_tube(jobs)} />`,
    action: 'Delete',
    danger: true,
    tube: seen_tube(jobs),
    job_count: jobs.length,
    run: async () => {
      await act(jobs, 'delete', 'deleted', {offer: offer_of});
      done?.();
    },
  });
}

/** @param {Job[]} jobs @param {() => void} [done] */
export function ask_move(jobs, done) {
  ask({
    title: `Move ${name_of(jobs)}`,
    text: 'The jobs keep their ids and their state.',
    action: 'Move',
    danger: true,
    tube: seen_tube(jobs),
    job_count: jobs.length,
    fields: [{name: 'tube', label: 'To tube', required: true}],
    run: async ({tube}) => {
      await act(jobs, 'move', 'moved', {to: tube});
      done?.();
    },
  });
}

/** @param {Job[]} jobs */
export function ask_change(jobs) {
  const one = jobs.length === 1 ? jobs[0] : null;
  ask({
    title: `Change ${name_of(jobs)}`,
    text: 'What is left empty stays as it is.',
    action: 'Change',
    fields: [
      {name: 'priority', label: 'Priority', type: 'number', hint: one ? `Now ${one.priority}. Lower numbers are reserved first.` : 'Lower numbers are reserved first.'},
      {name: 'delay_seconds', label: 'Delay in seconds', type: 'number', hint: '0 makes the job ready.'},
      {name: 'ttr_seconds', label: 'Time to run in seconds', type: 'number', min: 1, hint: one ? `Now ${one.ttr_seconds}.` : undefined},
    ],
    run: (values) => {
      const change = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== '').map(([key, value]) => [key, Number(value)]));
      if (!Object.keys(change).length) throw new ApiError(0, 'Nothing is to be changed: fill in at least one field.');
      return run(jobs, (job) => post(path(job, '/change'), change), 'changed');
    },
  });
}

/** @param {Job[]} jobs */
export function ask_copy(jobs) {
  ask({
    title: `Copy ${name_of(jobs)}`,
    text: 'Puts a new job with the same body, priority and time to run. The first one stays.',
    action: 'Copy',
    fields: [{name: 'tube', label: 'To tube', value: seen_tube(jobs) ?? '', required: true}],
    run: ({tube}) => run(jobs, async (job) => {
      if (job.body_bytes > copied_bytes_max) throw new ApiError(413, `Job ${job.id} is too large to be copied here.`);
      const body = await get_body(job);
      return post('/jobs', {tube, body_base64: base64(body), priority: job.priority, delay_seconds: 0, ttr_seconds: job.ttr_seconds});
    }, 'copied'),
  });
}

/** A new job with this body as it is changed now. A form has no bytes that are no text. @param {Job} job */
export async function ask_edit(job) {
  try {
    if (job.body_bytes > edited_bytes_max) throw new ApiError(413, `The body is larger than ${edited_bytes_max / 1024} KiB: download it, and put it by a program.`);
    const body_bytes = await get_body(job);
    const {text} = decode(body_bytes);
    if (new TextEncoder().encode(text).length !== body_bytes.length || text.includes('\r')) throw new ApiError(0, 'A form would change this body: it is not UTF-8, or has carriage returns. Download it, and put it by a program.');
    ask({
      title: `Edit the body of job ${job.id}, and put it`,
      text: 'Puts a new job. What became of the first one, its notes and its counters stay with it.',
      action: 'Put',
      fields: [
        {name: 'body', label: 'Body', type: 'textarea', value: text},
        {name: 'tube', label: 'Tube', value: job.from || job.tube, required: true, hint: job.from ? 'Where it died.' : undefined},
        {name: 'priority', label: 'Priority', type: 'number', value: String(job.priority), required: true},
        {name: 'delay_seconds', label: 'Delay in seconds', type: 'number', value: '0', required: true},
        {name: 'ttr_seconds', label: 'Time to run in seconds', type: 'number', min: 1, value: String(Math.ceil(job.ttr_seconds)), required: true},
        ...(job.may.manage && job.state !== 'reserved' ? [/** @type {import('./dialogs.js').Field} */ ({name: 'then', label: 'The first job', type: 'checks', checks: [['delete', `Delete job ${job.id} when the new one is put`]]})] : []),
      ],
      run: async ({body, tube, priority, delay_seconds, ttr_seconds, then}) => {
        const {id} = await post('/jobs', {tube, body, priority: Number(priority), delay_seconds: Number(delay_seconds), ttr_seconds: Number(ttr_seconds)});
        const offer = {text: `Job ${id}`, href: job_href(id)};
        if (then !== 'delete') announce(`Job ${id} is put.`, offer);
        else await act([job], 'delete', `deleted, and job ${id} is put`, {offer: async () => offer}).catch((error) => announce(`Job ${id} is put. Job ${job.id} is not deleted: ${error.message}`, offer));
        refresh();
      },
    });
  } catch (error) {
    announce(error.message);
  }
}

/** @param {Blob} blob @param {string} name */
function save(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

/** One body as it is; of several jobs a line of JSON each. @param {Job[]} jobs */
export async function download(jobs) {
  try {
    if (jobs.reduce((sum, job) => sum + job.body_bytes, 0) > downloaded_bytes_max) throw new ApiError(413, 'These bodies are more than 64 MiB together.');
    if (jobs.length === 1) return save(new Blob([await get_body(jobs[0])], {type: 'application/octet-stream'}), `job-${jobs[0].id}`);
    const lines = new Map();
    const {gone, problem} = await for_each(jobs, async (job) => {
      const {may, ...fields} = job;
      lines.set(job.id, JSON.stringify({...fields, body_base64: base64(await get_body(job))}) + '\n');
    });
    if (problem) throw problem;
    save(new Blob(jobs.map(({id}) => lines.get(id) ?? '')), 'jobs.jsonl');
    if (gone) announce(`${jobs_text(gone)} had gone before the download.`);
  } catch (error) {
    announce(error.message);
  }
}

/** @param {Job[]} jobs */
export async function copy_ids(jobs) {
  try {
    await navigator.clipboard.writeText(jobs.map(({id}) => id).join('\n'));
    announce(`${jobs.length === 1 ? 'The id is' : `${jobs.length} ids are`} on the clipboard.`);
  } catch {
    announce('The browser does not give access to the clipboard.');
  }
}
