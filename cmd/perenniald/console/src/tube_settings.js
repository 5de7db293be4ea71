// The settings of a tube, in a form.

import {announce} from './announce.js';
import {ApiError, get, put, tube_path} from './api.js';
import {ask} from './dialogs.js';
import {refresh} from './live.js';

/** @typedef {{name: string, label: string, hint: string, kind: 'number'|'seconds'|'text'}} Setting */

/** @type {Setting[]} */
const settings = [
  {name: 'tries', label: 'Tries', hint: 'After so many attempts a job is dead.', kind: 'number'},
  {name: 'backoff', label: 'Back-off', hint: 'The delay after the first attempt, and the longest: 5:600.', kind: 'text'},
  {name: 'dead', label: 'Dead tube', hint: 'Where dead jobs go. Without it they are buried.', kind: 'text'},
  {name: 'expire_seconds', label: 'Expire after, in seconds', hint: 'A job that nobody has reserved by then is dropped, or goes to the dead tube.', kind: 'seconds'},
  {name: 'reserved', label: 'Reserved at once', hint: 'So many of its jobs at most.', kind: 'number'},
  {name: 'rate', label: 'Rate', hint: 'Jobs in so many seconds: 10:1.', kind: 'text'},
  {name: 'keep_seconds', label: 'Keep ended jobs, in seconds', hint: 'So long they can be put back.', kind: 'seconds'},
  {name: 'keep_max', label: 'Keep ended jobs, at most', hint: 'So many of them.', kind: 'number'},
];

/** @param {Setting} setting @param {Record<string, any>} set @param {Record<string, any>} in_force */
function field_of({name, label, hint, kind}, set, in_force) {
  const by_default = set[name] === undefined && in_force[name] ? ` By default ${in_force[name]}.` : '';
  const number = kind === 'text' ? {} : {type: /** @type {const} */ ('number'), min: kind === 'number' ? 1 : 0.001, step: kind === 'number' ? 1 : 'any'};
  return {name, label, hint: hint + by_default, value: String(set[name] ?? ''), ...number};
}

/** @param {string} tube */
export async function ask_settings(tube) {
  const path = tube_path(tube, '/settings');
  try {
    const {set, in_force} = await get(path);
    ask({
      title: 'Settings of the tube',
      text: 'What is left empty is not set: then what the configuration says for such tubes is in force.',
      action: 'Set',
      fields: [...settings.map((each) => field_of(each, set, in_force)),
        {name: 'drain', label: 'Puts', type: 'checks', value: in_force.drain ? 'drain' : '', checks: [['drain', 'Drain: refuse new jobs']]}],
      run: async (values) => {
        // The form replaces all of them, so nobody else's change may be lost.
        const now = await get(path);
        if (JSON.stringify(now.set) !== JSON.stringify(set)) throw new ApiError(0, 'Somebody else has changed the settings meanwhile. Open this form again.');
        const given = settings.filter(({name}) => values[name].trim() !== '').map(({name, kind}) => [name, kind === 'text' ? values[name].trim() : Number(values[name])]);
        const drains = values.drain === 'drain';
        const drain = set.drain === undefined && drains === in_force.drain ? {} : {drain: drains};
        await put(path, {...Object.fromEntries(given), ...drain});
        announce('The settings are changed.');
        refresh();
      },
    });
  } catch (error) {
    announce(error.message);
  }
}
