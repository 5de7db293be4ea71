// Which screen the address names. Each view has an address, so each can be linked.

import {useEffect, useState} from 'preact/hooks';

/** @typedef {{parts: string[], query: URLSearchParams}} Route */

/** @type {Set<() => void>} */
const listeners = new Set();
const notify = () => listeners.forEach((listener) => listener());

/** Whether names that clients have chosen follow. @param {string} place */
const has_names = (place) => place === 'tubes' || place === 'schedules';

/** @returns {Route} */
function current() {
  let parts;
  try {
    parts = location.pathname.split('/').filter(Boolean).map(decodeURIComponent);
    if (has_names(parts[0]) && parts[1]?.length > 1) parts[1] = parts[1].replace(/^-/, '');
  } catch {
    parts = ['?'];  // No screen has this name.
  }
  return {parts, query: new URLSearchParams(location.search)};
}

/** @param {string} path @param {{replace?: boolean}} [how] */
export function go(path, {replace = false} = {}) {
  if (path === location.pathname + location.search) return;
  if (replace) history.replaceState(null, '', path);
  else history.pushState(null, '', path);
  notify();
}

export function use_route() {
  const [route, set_route] = useState(current);
  useEffect(() => {
    const update = () => set_route(current());
    listeners.add(update);
    addEventListener('popstate', update);
    return () => {
      listeners.delete(update);
      removeEventListener('popstate', update);
    };
  }, []);
  return route;
}

/**
 * The name of a tube or of a schedule as a part of a path. A browser takes "." and ".." for "here" and "above", encoded or not. No name begins with a dash, so
 * these two get one in front.
 * @param {string} name
 */
export const tube_part = (name) => (name === '.' || name === '..' ? '-' : '') + encodeURIComponent(name);

/** In the order in which they are shown. @type {import('./types.js').JobState[]} */
export const job_states = ['ready', 'reserved', 'delayed', 'buried'];

/** @param {string} name @param {string} [state] */
export const tube_href = (name, state = '') => `/tubes/${tube_part(name)}${state && '/' + state}`;

/** @param {string} name */
export const schedule_href = (name) => `/schedules/${tube_part(name)}`;

/** @param {string} id */
export const connection_href = (id) => `/connections?id=${encodeURIComponent(id)}`;

/** @param {string} id */
export const job_href = (id) => `/jobs/${encodeURIComponent(id)}`;

/** A job that has ended. @param {string} id */
export const ended_href = (id) => `/ended/${encodeURIComponent(id)}`;

/** What has failed, in groups. @param {string} [tube] */
export const failed_href = (tube) => (tube === undefined ? '/jobs?view=failed' : tube_href(tube, 'failed'));

/** The jobs of a group. @param {string} tube @param {'buried'|'dead'} how @param {string} line */
export const note_href = (tube, how, line) => `${tube_href(tube, how === 'dead' ? 'ready' : 'buried')}?${line ? `note=${encodeURIComponent(line)}` : 'no_note=yes'}`;

// A click on a link of ours changes the screen and loads nothing.
document.addEventListener('click', (event) => {
  if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = /** @type {Element} */ (event.target).closest('a[href]');
  if (!(link instanceof HTMLAnchorElement) || link.target || link.hasAttribute('download')) return;
  if (link.origin !== location.origin || link.hash || link.dataset.plain !== undefined) return;
  event.preventDefault();
  go(link.pathname + link.search);
});
