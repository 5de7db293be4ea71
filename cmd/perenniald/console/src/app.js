// The console: who asks, which screen, and what all screens share.

import './shared.js';
import {render} from 'preact';
import {useEffect, useId, useLayoutEffect, useRef, useState} from 'preact/hooks';
import {Announcer, announce} from './announce.js';
import {get, remove, set_on_other_session} from './api.js';
import {Dialogs, Modal, ask} from './dialogs.js';
import {watch_frames} from './frames.js';
import {html} from './html.js';
import {Badge} from './icon.js';
import {key_help, listen_to_keys} from './keys.js';
import {NotLoaded, use_later} from './later.js';
import {deliver, refresh, set_rights, toggle_pause, use_live_state} from './live.js';
import {Operations} from './operations.js';
import {Heading, Problem} from './parts.js';
import {ended_href, go, job_href, job_states, use_route} from './router.js';
import {Overview} from './screens/overview.js';
import {Tubes} from './screens/tubes.js';
import {ThemeSwitch} from './theme.js';
import {WayBackBar} from './way_back.js';

/** @typedef {import('./types.js').Session} Session @typedef {import('./router.js').Route} Route */

const all_places = [['', 'Overview'], ['tubes', 'Tubes'], ['jobs', 'Jobs'], ['ended', 'Ended'], ['search', 'Search'], ['schedules', 'Schedules'], ['connections', 'Connections'], ['server', 'Server']];
/** What a user needs for a screen. Those that are not named are there for everybody. @type {Record<string, keyof import('./types.js').May>} */
const needed = {jobs: 'inspect', ended: 'inspect', search: 'inspect', schedules: 'inspect', connections: 'admin', server: 'monitor'};
const session_again_seconds = 2;

/**
 * Who asks, and what the server says of itself to them, in one answer. index.html has the browser ask for the same before this script is there.
 * @returns {Promise<Session>}
 */
async function get_session() {
  const {server, ...session} = await get('/session?with=server');
  set_rights(session.may);
  if (server) deliver('server', server);
  return session;
}
let first_session = /** @type {Promise<Session>|null} */ (get_session());

function App() {
  const [session, set_session] = useState(/** @type {Session|null} */ (null));
  const [error, set_error] = useState(/** @type {Error|null} */ (null));
  const load = async () => {
    const asked = first_session ?? get_session();
    first_session = null;
    try {
      set_session(await asked);
      set_error(null);
    } catch (problem) {
      set_error(problem);
      setTimeout(load, session_again_seconds * 1000);
    }
  };
  useLayoutEffect(() => {
    set_on_other_session(load);
    load();
  }, []);
  const is_stranger = session?.users && session.user === null;
  const before = use_later(session && (is_stranger || !session.serves) ? 'server' : undefined);
  if (!session && error) return html`<main><h1 class="hidden-text">Perennial</h1><${Problem} error=${error} /></main>`;
  if (!session) return html`<${Frame} place=${location.pathname.split('/')[1]} />`;
  if (is_stranger) return before ? html`<${before.SignIn} done=${load} />` : html`<main><${NotLoaded} screens=${before} /></main>`;
  const sign_out = async () => {
    await remove('/session').catch((problem) => announce(problem.message));
    load();
  };
  if (session.serves) return html`<${Console} session=${session} sign_out=${sign_out} />`;
  return html`<${Frame} places=${[]} tools=${html`<${ThemeSwitch} /><${User} session=${session} sign_out=${sign_out} />`}>
    <main id="main">${before ? html`<${before.Waiting} serves=${load} />` : html`<${NotLoaded} screens=${before} />`}</main><//>`;
}

/** @param {{session: Session, sign_out: () => void}} props */
const User = ({session, sign_out}) => session.users && html`<span class="user"><bdi>${session.user}</bdi> <button class="plain" onClick=${sign_out}>Sign out</button></span>`;

/** @param {{session: Session, sign_out: () => void}} props */
function Console({session, sign_out}) {
  const route = use_route();
  const [shows_help, set_shows_help] = useState(false);
  useLayoutEffect(watch_frames, []);
  const pause = () => announce(toggle_pause() ? 'Live updates are paused.' : 'Live updates go on.');
  useEffect(() => listen_to_keys({
    help: () => set_shows_help(true),
    go_to_job: ask_job,
    pause,
    refresh: () => {
      refresh();
      announce('Refreshed.');
    },
  }), []);

  // A new screen is read from its heading on. Tabs and pages of a list are no new screen. The heading has the focus when it is first
  // seen: a frame later it would take it from a field that a quick user is already typing into.
  const screen = route.parts.slice(0, 2).join('/');
  const file = file_of(route.parts);
  const later = use_later(file);
  const first = useRef(/** @type {string|null} */ (screen));
  useLayoutEffect(() => {
    if (screen !== first.current) {
      first.current = null;
      /** @type {HTMLElement|null} */ (document.querySelector('main h1'))?.focus();
    }
    scrollTo(0, 0);
  }, [screen, !file || later]);

  const tools = html`
    <${LiveButton} pause=${pause} />
    <${ThemeSwitch} />
    <button class="plain" onClick=${() => set_shows_help(true)}>Keys</button>
    <${User} session=${session} sign_out=${sign_out} />`;
  return html`
    <${Frame} place=${route.parts[0] ?? ''} places=${all_places.filter(([path]) => !needed[path] || session.may[needed[path]])} tools=${tools}>
      <${Operations} />
      <${WayBackBar} />
      <main id="main">${file && !later ? html`<${NotLoaded} screens=${later} />` : html`<${Screen} key=${screen} route=${route} session=${session} later=${later} />`}</main>
      <${Announcer} />
      <${Dialogs} />
      ${shows_help && html`<${Help} close=${() => set_shows_help(false)} />`}
    <//>`;
}

/**
 * What all screens share. index.html has the same without the tools, for the time until this script is there.
 * @param {{place?: string, places?: string[][], tools?: any, children?: any}} props Place: which of the places this is.
 */
const Frame = ({place, places = all_places, tools, children}) => html`
  <a class="skip" href="#main" data-plain>Skip to the content</a>
  <header>
    <a class="brand" href="/">Perennial</a>
    ${places.length > 0 && html`<nav aria-label="Screens">${places.map(([path, name]) => html`
      <a key=${path} href=${`/${path}`} aria-current=${place === path ? 'page' : undefined}>${name}</a>`)}
      ${tools && html`<button class="plain" onClick=${ask_job}>Go to job…</button>`}</nav>`}
    ${tools && html`<div class="tools">${tools}</div>`}
  </header>
  ${children ?? html`<main id="main"></main>`}`;

const later_files = /** @type {Record<string, import('./later.js').LaterFile>} */ ({
  jobs: 'jobs', ended: 'ended', search: 'jobs', schedules: 'schedules', connections: 'server', server: 'server',
});
/** Where the screen of an address is, if it is not part of the first load. @param {string[]} parts */
const file_of = ([place, name]) => (name !== undefined && (place === 'tubes' || place === 'ended') ? 'jobs' : later_files[place]);

/** @param {{route: Route, session: Session, later: any}} props Later: the file with the screen. */
function Screen({route, session, later}) {
  const [place, name, state = '', ...more] = route.parts;
  if (more.length) return html`<${NoScreen} />`;
  if (place === undefined) return html`<${Overview} may=${session.may} />`;
  if (place === 'tubes' && name === undefined) return html`<${Tubes} route=${route} />`;
  if (place === 'tubes' && (!state || state === 'ended' || state === 'failed' || job_states.some((each) => each === state))) return html`<${later.TubeScreen} name=${name} state=${state} route=${route} />`;
  if (place === 'jobs' && name === undefined) return html`<${later.Jobs} route=${route} />`;
  if (place === 'jobs' && !state) return html`<${later.JobScreen} id=${name} />`;
  if (place === 'ended' && name === undefined) return html`<${later.AllEnded} route=${route} />`;
  if (place === 'ended' && !state) return html`<${later.EndedScreen} id=${name} />`;
  if (place === 'search' && !name) return html`<${later.SearchScreen} route=${route} />`;
  if (place === 'schedules' && name === undefined) return html`<${later.Schedules} route=${route} />`;
  if (place === 'schedules' && !state) return html`<${later.ScheduleScreen} name=${name} />`;
  if (place === 'connections' && !name) return html`<${later.Connections} route=${route} may=${session.may} />`;
  if (place === 'server' && !name) return html`<${later.ServerScreen} may=${session.may} />`;
  return html`<${NoScreen} />`;
}

const NoScreen = () => html`<${Heading} title="No such screen" /><p>Nothing is at this address. <a href="/">Go to the overview</a>.</p>`;

const live_words = {
  connecting: ['', 'live', 'Connecting'],
  live: ['good', 'live', 'Live'],
  polling: ['', 'live', 'Polling'],
  paused: ['warn', 'paused', 'Paused'],
  lost: ['bad', 'warning', 'No connection'],
};

/** @param {{pause: () => void}} props */
function LiveButton({pause}) {
  const state = use_live_state();
  const [kind, icon, word] = live_words[state];
  return html`<button class="live" onClick=${pause} aria-pressed=${state === 'paused'} title=${state === 'paused' ? 'Continue live updates (p)' : 'Pause live updates (p)'}>
    <${Badge} kind=${kind} icon=${icon}>${word}<//></button>`;
}

function ask_job() {
  ask({
    title: 'Go to a job',
    action: 'Go',
    fields: [{name: 'id', label: 'Id', required: true}],
    run: async ({id}) => go(await href_of(id.trim())),
  });
}

/** Where a job is, also one that has ended and is kept. @param {string} id */
async function href_of(id) {
  const part = encodeURIComponent(id);
  try {
    return await get(`/jobs/${part}`), job_href(id);
  } catch (problem) {
    if (problem.status !== 404) throw problem;
    return get(`/ended/${part}`).then(() => ended_href(id), () => Promise.reject(problem));
  }
}

/** @param {{close: () => void}} props */
function Help({close}) {
  const id = useId();
  return html`<${Modal} label=${id} close=${close}>
    <h2 id=${id}>Keys</h2>
    <dl class="keys">${key_help.map(([keys, what]) => html`<div key=${keys}><dt><kbd>${keys}</kbd></dt><dd>${what}</dd></div>`)}</dl>
    <div class="buttons"><button onClick=${close}>Close</button></div>
  <//>`;
}

render(html`<${App} />`, document.getElementById('app'));
