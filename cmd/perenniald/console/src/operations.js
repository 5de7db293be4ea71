// Operations on all jobs of a tube that match. The server runs them in pieces; this shows how far they are, also those of
// other people.

import {useLayoutEffect, useState} from 'preact/hooks';
import {announce} from './announce.js';
import {get, post, remove, tube_path} from './api.js';
import {count, jobs, time, visible_line} from './format.js';
import {html} from './html.js';
import {refresh, watch} from './live.js';
import {tube_href} from './router.js';
import {keep_in_sight, offered_until} from './way_back.js';

/** @typedef {import('./types.js').Operation} Operation */

const poll_seconds = 0.5;
const verbs = {
  delete: {present: 'Deleting', past: 'deleted'},
  kick: {present: 'Kicking', past: 'kicked'},
  move: {present: 'Moving', past: 'moved'},
  restore: {present: 'Putting back', past: 'put back'},
};

/** @type {Map<string, Operation>} */
const running = new Map();
/** @type {(operations: Operation[]) => void} */
let show = () => {};
let timer = 0;

/** Those that this page began: of others it offers no way back, which their users may not be allowed to go. @type {Set<string>} */
const ours = new Set();

/** The way back from a flush. @param {Operation} operation @returns {Promise<import('./way_back.js').Way|undefined>} */
async function way_of({tube, done}) {
  try {
    if (!(await get(tube_path(tube, '/ended?limit=1'))).jobs.length) return undefined;
    const {keep_seconds} = (await get(tube_path(tube, '/settings'))).in_force;
    return {text: html`Deleted ${jobs(done)} of <bdi class="name">${visible_line(tube)}</bdi>.`, until: offered_until(keep_seconds), href: tube_href(tube, 'ended')};
  } catch {
    return undefined;
  }
}

/** What has come of an operation, in a sentence. @param {Operation} operation */
function end_of({action, tube, state, confirmed, done, message}) {
  const {past} = verbs[action];
  const [name, left] = [visible_line(tube), confirmed === null ? 0 : confirmed - done];
  if (state === 'cancelled') return `Cancelled: ${jobs(done)} of ${name} ${done === 1 ? 'is' : 'are'} ${past}, and stay${done === 1 ? 's' : ''} so.`;
  if (state === 'failed') return `Failed after ${jobs(done)}: ${message || 'the server gives no reason'}`;
  if (action === 'restore' && !done) return `Nothing was put back in ${name}: no job that is kept fits, or another one has its key by now.`;
  return `${jobs(done)} ${past} in ${name}.${left > 0 ? ` ${count(left)} had moved on.` : ''}`;
}

/** @param {Operation} operation */
function tell_end(operation) {
  const has_way_back = operation.action === 'delete' && operation.done > 0 && ours.delete(operation.id);
  announce(end_of(operation), has_way_back ? keep_in_sight(way_of(operation)) : undefined);
  refresh();
}

/** @param {Operation[]} operations @param {boolean} [is_all] */
function take(operations, is_all = false) {
  for (const operation of operations) {
    if (operation.state === 'running') running.set(operation.id, operation);
    else if (running.delete(operation.id)) tell_end(operation);
  }
  if (is_all) {
    const listed = new Set(operations.map(({id}) => id));
    for (const id of running.keys()) if (!listed.has(id)) running.delete(id);
  }
  show([...running.values()]);
  clearTimeout(timer);
  if (running.size) timer = setTimeout(poll, poll_seconds * 1000);
}

// The stream is silent when nothing runs any more, so the end is asked for.
async function poll() {
  try {
    take((await get('/operations')).operations, true);
  } catch {
    if (running.size) timer = setTimeout(poll, poll_seconds * 5000);
  }
}

export function Operations() {
  const [operations, set_operations] = useState(/** @type {Operation[]} */ ([]));
  useLayoutEffect(() => {
    show = set_operations;
    poll();
    return watch('operations', (value) => value && take(value.operations));
  }, []);
  if (!operations.length) return null;
  return html`<section class="operations" aria-label="Operations">${operations.map((operation) => html`
    <div class="operation" key=${operation.id}>
      <span>${verbs[operation.action].present} <${WhichJobs} ...${operation} />: ${
        count(operation.done)}${operation.confirmed === null ? ' so far' : ` of ${count(operation.confirmed)}`}</span>
      ${operation.confirmed === null ? html`<progress aria-label="Progress"></progress>`
        : html`<progress max=${Math.max(operation.confirmed, 1)} value=${operation.done} aria-label="Progress"></progress>`}
      <button onClick=${() => cancel(operation)}>Cancel operation</button>
    </div>`)}</section>`;
}

/** @param {Operation} props */
const WhichJobs = ({states, how, tube, since_seconds, match, to}) => html`${(how ?? states).join(', ')} jobs of <span class="name">${visible_line(tube)}</span>${
  match && ' that fit a filter'}${since_seconds !== null && `, ended in the last ${time(since_seconds)}`}${
  to && html` to <span class="name">${visible_line(to)}</span>`}`;

/** @param {Operation} operation */
async function cancel(operation) {
  try {
    take([await remove(`/operations/${operation.id}`)]);
  } catch (error) {
    announce(error.message);
  }
}

/** @param {object} asked What the API is asked for. @returns {Promise<Operation>} */
export async function begin_operation(asked) {
  const started = await post('/operations', asked);
  ours.add(started.id);
  running.set(started.id, {...started, state: 'running'});
  take([started]);
  return started;
}
