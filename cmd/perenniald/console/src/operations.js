// Operations on all jobs of a tube that match. The server runs them in pieces; this shows how far they are, also those of
// other people.

import {useLayoutEffect, useState} from 'preact/hooks';
import {announce} from './announce.js';
import {get, post, remove} from './api.js';
import {ask} from './dialogs.js';
import {count, jobs, visible_line} from './format.js';
import {html} from './html.js';
import {refresh, watch} from './live.js';

/** @typedef {import('./types.js').Operation} Operation @typedef {import('./types.js').JobState} JobState */

const poll_seconds = 0.5;
const verbs = {
  delete: {present: 'Deleting', past: 'deleted', title: 'Delete'},
  kick: {present: 'Kicking', past: 'kicked', title: 'Kick'},
  move: {present: 'Moving', past: 'moved', title: 'Move'},
};

/** @type {Map<string, Operation>} */
const running = new Map();
/** @type {(operations: Operation[]) => void} */
let show = () => {};
let timer = 0;

/** @param {Operation} operation */
function tell_end(operation) {
  const {past} = verbs[operation.action];
  const left = operation.confirmed - operation.done;
  let text = `${jobs(operation.done)} ${past} in ${visible_line(operation.tube)}.`;
  if (operation.state === 'cancelled') text = `Cancelled: ${jobs(operation.done)} of ${visible_line(operation.tube)} ${operation.done === 1 ? 'is' : 'are'} ${past}, and stay${operation.done === 1 ? 's' : ''} so.`;
  else if (operation.state === 'failed') text = `Failed after ${jobs(operation.done)}: ${operation.message || 'the server gives no reason'}`;
  else if (left > 0) text += ` ${count(left)} had moved on.`;
  announce(text);
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
      <span>${verbs[operation.action].present} ${operation.states.join(', ')} jobs of <span class="name">${visible_line(operation.tube)}</span>${operation.match ? ' that fit a filter' : ''}${
        operation.to && html` to <span class="name">${visible_line(operation.to)}</span>`}: ${
        count(operation.done)} of ${count(operation.confirmed)}</span>
      <progress max=${Math.max(operation.confirmed, 1)} value=${operation.done} aria-label="Progress"></progress>
      <button onClick=${() => cancel(operation)}>Cancel operation</button>
    </div>`)}</section>`;
}

/** @param {Operation} operation */
async function cancel(operation) {
  try {
    take([await remove(`/operations/${operation.id}`)]);
  } catch (error) {
    announce(error.message);
  }
}

/**
 * Asks, then starts an operation.
 * @param {'delete'|'kick'|'move'} action
 * @param {string} tube
 * @param {JobState[]} states
 * @param {number} job_count
 * @param {import('./job_filter.js').Filter} filter
 */
export function ask_operation(action, tube, states, job_count, filter) {
  const {title, past} = verbs[action];
  const which = states.join(', ');
  const is_filtered = Object.keys(filter).length > 0;
  const every = `Every ${which} job of this tube${is_filtered ? ' that fits the filter' : ''}`;
  const text = {
    delete: `${every} is deleted. A job that is deleted does not come back.`,
    kick: `${every} becomes ready.`,
    move: `${every} moves to another tube, and becomes ready there.`,
  }[action];
  const match = Object.fromEntries(Object.entries(filter).map(([name, value]) => [name, Number(value)]));
  ask({
    title: `${title} all ${which} jobs${is_filtered ? ' that fit the filter' : ''}`,
    text,
    action: `${title} ${jobs(job_count)}`,
    danger: action !== 'kick',
    tube,
    job_count,
    fields: action === 'move' ? [{name: 'to', label: 'To tube', required: true}] : [],
    run: async (values, confirmed) => {
      const started = await post('/operations', {action, tube, states, confirmed, ...(is_filtered ? {match} : {}), ...(action === 'move' ? {to: values.to} : {})});
      running.set(started.id, {...started, state: 'running'});
      take([started]);
      if (started.state === 'running') announce(`${jobs(confirmed)} are being ${past}.`);
    },
  });
}
