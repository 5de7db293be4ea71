// The question before something is done with all jobs of a tube that match.

import {announce} from './announce.js';
import {WayBack} from './before_delete.js';
import {ask} from './dialogs.js';
import {jobs} from './format.js';
import {html} from './html.js';
import {match_of} from './job_filter.js';
import {begin_operation} from './operations.js';

/** @typedef {import('./types.js').JobState} JobState */

const acts = {
  delete: {title: 'Delete', past: 'deleted'},
  kick: {title: 'Kick', past: 'kicked'},
  move: {title: 'Move', past: 'moved'},
};

/**
 * Asks, then starts an operation.
 * @param {'delete'|'kick'|'move'} action
 * @param {string} tube
 * @param {JobState[]} states
 * @param {number} job_count
 * @param {import('./job_filter.js').Filter} filter
 */
export function ask_operation(action, tube, states, job_count, filter) {
  const {title, past} = acts[action];
  const which = states.join(', ');
  const is_filtered = Object.keys(filter).length > 0;
  const every = `Every ${which} job of this tube${is_filtered ? ' that fits the filter' : ''}`;
  const text = {
    delete: `${every} is deleted.`,
    kick: `${every} becomes ready.`,
    move: `${every} moves to another tube, and becomes ready there.`,
  }[action];
  ask({
    title: `${title} all ${which} jobs${is_filtered ? ' that fit the filter' : ''}`,
    text,
    note: (now) => action === 'delete' && html`<${WayBack} job_counts=${new Map([[tube, now]])} />`,
    action: `${title} ${jobs(job_count)}`,
    danger: action !== 'kick',
    tube,
    job_count,
    fields: action === 'move' ? [{name: 'to', label: 'To tube', required: true}] : [],
    run: async (values, confirmed) => {
      const started = await begin_operation({action, tube, states, confirmed, ...(is_filtered ? {match: match_of(filter)} : {}), ...(action === 'move' ? {to: values.to} : {})});
      if (started.state === 'running') announce(`${jobs(confirmed)} are being ${past}.`);
    },
  });
}
