// Screens that are loaded when they are first opened.

import {useLayoutEffect, useState} from 'preact/hooks';
import {html} from './html.js';
import {Icon} from './icon.js';
import {Heading} from './parts.js';

const files = {
  ended: () => import('./screens/of_ended.js'),
  jobs: () => import('./screens/of_jobs.js'),
  leases: () => import('./screens/of_leases.js'),
  schedules: () => import('./screens/of_schedules.js'),
  server: () => import('./screens/of_server.js'),
  times: () => import('./screens/of_times.js'),
};

/** @typedef {keyof typeof files} LaterFile */

/** What has been loaded, by file. @type {Map<LaterFile, any>} */
const loaded = new Map();

/**
 * The screens of a file: undefined until they are there, null where they cannot be loaded. No browser is sure to try such a file again
 * before the page is loaded anew.
 * @param {LaterFile|undefined} file Undefined: none is needed.
 */
export function use_later(file) {
  const [, set_seen] = useState({});
  useLayoutEffect(() => {
    if (!file || loaded.has(file)) return;
    let is_gone = false;
    files[file]().then((screens) => loaded.set(file, screens), () => loaded.set(file, null)).then(() => !is_gone && set_seen({}));
    return () => void (is_gone = true);
  }, [file]);
  return file && loaded.get(file);
}

/** In place of a screen that is not there. @param {{screens: null|undefined}} props As use_later() returns it. */
export const NotLoaded = ({screens}) => (screens === undefined ? html`<${Heading} title="Loading…" />` : html`
  <${Heading} title="This screen could not be loaded" />
  <p class="problem banner" role="alert"><${Icon} name="warning" /> The server does not answer, or it has another version than this page.</p>
  <div class="actions"><button onClick=${() => location.reload()}>Reload the page</button></div>`);
