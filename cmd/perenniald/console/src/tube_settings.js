// The settings of a tube, in a form.

import {announce} from './announce.js';
import {ApiError, get, put, tube_path} from './api.js';
import {ask} from './dialogs.js';
import {duration, seconds_of} from './format.js';
import {refresh} from './live.js';

/** @typedef {{name: string, label: string, hint: string, kind: 'number'|'seconds'|'text'}} Setting */

/** @type {Setting[]} */
const settings = [
  {name: 'tries', label: 'Tries', hint: 'After so many attempts a job is dead.', kind: 'number'},
  {name: 'backoff', label: 'Back-off', hint: 'The delay after the first attempt, and the longest: 5:600.', kind: 'text'},
  {name: 'dead', label: 'Dead tube', hint: 'Where dead jobs go. Without it they are buried.', kind: 'text'},
  {name: 'expire_seconds', label: 'Expire after', hint: 'A job that nobody has reserved by then is dropped, or goes to the dead tube: 1h 30m.', kind: 'seconds'},
  {name: 'reserved', label: 'Reserved at once', hint: 'So many of its jobs at most.', kind: 'number'},
  {name: 'rate', label: 'Rate', hint: 'Jobs in so many seconds: 10:1.', kind: 'text'},
  {name: 'keep_seconds', label: 'Keep ended jobs for', hint: 'So long they can be put back: 7d.', kind: 'seconds'},
  {name: 'keep_max', label: 'Keep ended jobs, at most', hint: 'So many of them.', kind: 'number'},
];

/** @param {Setting} setting @param {Record<string, any>} set @param {Record<string, any>} in_force */
function field_of({name, label, hint, kind}, set, in_force) {
  const shown = (value) => kind === 'seconds' ? duration(value) : String(value);
  const by_default = set[name] === undefined && in_force[name] ? ` By default ${shown(in_force[name])}.` : '';
  const number = kind === 'number' ? {type: /** @type {const} */ ('number'), min: 1, step: 1} : {};
  return {name, label, hint: hint + by_default, value: set[name] === undefined ? '' : shown(set[name]), ...number};
}

/** What the form says, as the API takes it. @param {Setting} setting @param {string} text */
function value_of({label, kind}, text) {
  if (kind === 'text') return text;
  const number = kind === 'seconds' ? seconds_of(text) : Number(text);
  if (!(number > 0)) throw new ApiError(0, `${label}: ${text} is no time. Write it as 1h 30m, or in seconds.`);
  return number;
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
        const given = settings.filter(({name}) => values[name].trim() !== '').map((setting) => [setting.name, value_of(setting, values[setting.name].trim())]);
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
