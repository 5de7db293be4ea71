// What the server tells by itself: one stream of events for the page, for all topics that somebody watches. It is closed
// while the page is hidden. Where there is no stream, the topics are asked for one after another, each round after the
// last answer.

import {useEffect, useLayoutEffect, useState} from 'preact/hooks';
import {get, tube_path} from './api.js';

/** @typedef {import('./types.js').Job} Job */
/** @typedef {'connecting'|'live'|'polling'|'paused'|'lost'} LiveState */

const poll_seconds_min = 2;
const poll_seconds_max = 30;
const stream_again_seconds = 60;
// A frame comes every second. After so long without one the server stands still, or nothing of it comes through any more.
const silent_seconds_max = 5;

/** @type {Map<string, Set<(value: any) => void>>} */
const watchers = new Map();
/** @type {Map<string, any>} */
const newest = new Map();
/** @type {Set<() => void>} */
const state_listeners = new Set();
/** @type {Set<(changed?: Job[]) => void>} */
const refreshers = new Set();

/**
 * Topics that this user may not see. They are not asked for, because each refusal is a line of the audit.
 * @type {Set<string>}
 */
const refused = new Set();
const wanted = () => [...watchers.keys()].filter((topic) => !refused.has(topic));

/** @param {import('./types.js').May} may What the user may do. */
export function set_rights(may) {
  refused.clear();
  if (!may.monitor) refused.add('server');
  restart_soon();
}

/** @type {EventSource|null} */
let source = null;
let source_topics = '';
let poll_timer = 0;
let poll_seconds = poll_seconds_min;
let polling_since = 0;
let round = 0;  // A newer one makes the answers of older ones void.
let restart_timer = 0;
let silence_timer = 0;
let is_paused = false;
/** What the stream, or the polling in its place, says. @type {LiveState} */
let state = 'connecting';
/**
 * Requests of screens whose last try the server has not answered. The screen says so, and so does the state.
 * @type {Set<() => void>}
 */
const unanswered = new Set();
let asked_again_at = -Infinity;

const tell_listeners = () => state_listeners.forEach((listener) => listener());

/** @param {LiveState} next */
function set_state(next) {
  if (state === next) return;
  state = next;
  tell_listeners();
}

/** @returns {LiveState} */
const shown_state = () => (unanswered.size && state !== 'paused' ? 'lost' : state);

/** @param {() => void} run @param {boolean} is_answered */
function set_answered(run, is_answered) {
  const before = unanswered.size;
  if (is_answered) unanswered.delete(run);
  else unanswered.add(run);
  if (before !== unanswered.size) tell_listeners();
}

/** The server has just said something, so what it has not answered is asked for again now, and not when its turn comes. */
function ask_again() {
  const now = performance.now();
  if (!unanswered.size || now - asked_again_at < poll_seconds_min * 1000) return;
  asked_again_at = now;
  [...unanswered].forEach((run) => run());
}

export const is_running = () => !is_paused && !document.hidden;

/** Gives all who watch a topic its newest value. @param {string} topic @param {any} value */
export function deliver(topic, value) {
  newest.set(topic, value);
  watchers.get(topic)?.forEach((watcher) => watcher(value));
}

function stop() {
  ++round;
  source?.close();
  source = null;
  source_topics = '';
  clearTimeout(poll_timer);
  clearTimeout(silence_timer);
  poll_timer = 0;
}

/** Something has come by the stream. */
function heard() {
  set_state('live');
  expect_more();
  ask_again();
}

function expect_more() {
  clearTimeout(silence_timer);
  silence_timer = setTimeout(() => {
    set_state('lost');
    stop();
    open_stream();
  }, silent_seconds_max * 1000);
}

function open_stream() {
  const topics = wanted();
  source_topics = topics.join();
  const opened = new EventSource(`/api/v1/events?topics=${topics.map(encodeURIComponent).join()}`);
  source = opened;
  opened.onopen = heard;
  opened.onerror = () => {
    if (opened !== source) return;
    clearTimeout(silence_timer);
    set_state('lost');
    // Closed means refused: the browser does not try again.
    if (opened.readyState === EventSource.CLOSED) start_polling();
  };
  opened.addEventListener('refused', (event) => JSON.parse(/** @type {MessageEvent} */ (event).data).forEach((topic) => refused.add(topic)));
  for (const topic of topics) {
    opened.addEventListener(topic, (event) => {
      heard();
      deliver(topic, JSON.parse(/** @type {MessageEvent} */ (event).data));
    });
  }
}

/** @param {string} topic */
async function ask(topic) {
  if (!topic.startsWith('tube:')) return get(`/${topic}`);
  try {
    return await get(tube_path(topic.slice(5)));
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

function start_polling() {
  stop();
  polling_since = Date.now();
  poll_seconds = poll_seconds_min;
  poll(round);
}

/** @param {number} this_round */
async function poll(this_round) {
  let answered = false;
  let failed = false;
  for (const topic of wanted()) {
    try {
      const value = await ask(topic);
      if (this_round !== round) return;
      answered = true;
      deliver(topic, value);
    } catch (error) {
      if (this_round !== round) return;
      if (error.status === 403) refused.add(topic);
      if (error.status === 0) failed = true;
      else answered = true;
    }
  }
  if (failed) set_state('lost');
  else if (answered) {
    set_state('polling');
    ask_again();
  }
  poll_seconds = failed ? Math.min(poll_seconds * 2, poll_seconds_max) : poll_seconds_min;
  poll_timer = setTimeout(() => {
    if (Date.now() - polling_since > stream_again_seconds * 1000) restart();
    else poll(this_round);
  }, poll_seconds * 1000);
}

function restart() {
  stop();
  if (is_paused) return set_state('paused');
  if (document.hidden || watchers.size === 0) return;
  if (wanted().length === 0) return set_state('polling');  // The screens ask for what they show.
  open_stream();
  // Until the new stream is open the state is that of the one before.
  if (state === 'live') expect_more();
}

// Several screens may come and go at once.
function restart_soon() {
  clearTimeout(restart_timer);
  restart_timer = setTimeout(() => {
    if (wanted().join() !== source_topics) restart();
  }, 20);
}

document.addEventListener('visibilitychange', restart);
addEventListener('pagehide', stop);
addEventListener('pageshow', (event) => event.persisted && restart());

/** @param {string} topic @param {(value: any) => void} watcher @returns {() => void} */
export function watch(topic, watcher) {
  const set = watchers.get(topic) ?? new Set();
  set.add(watcher);
  if (!watchers.has(topic)) {
    watchers.set(topic, set);
    restart_soon();
  }
  return () => {
    set.delete(watcher);
    if (set.size) return;
    watchers.delete(topic);
    newest.delete(topic);
    restart_soon();
  };
}

/** The newest value of a topic: undefined before the first. @param {string} topic */
export function use_topic(topic) {
  const [held, set_held] = useState({topic, value: newest.get(topic)});
  // All that a screen watches is known before it is painted, so that one stream is opened for it.
  useLayoutEffect(() => {
    if (held.topic !== topic) set_held({topic, value: newest.get(topic)});
    return watch(topic, (value) => set_held({topic, value}));
  }, [topic]);
  return held.topic === topic ? held.value : undefined;
}

export function use_live_state() {
  const [seen, set_seen] = useState(shown_state);
  useEffect(() => {
    const update = () => set_seen(shown_state());
    update();
    state_listeners.add(update);
    return () => void state_listeners.delete(update);
  }, []);
  return seen;
}

/** @returns {boolean} Whether it is paused now. */
export function toggle_pause() {
  is_paused = !is_paused;
  if (!is_paused) set_state('connecting');
  restart();
  if (!is_paused) refresh();
  return is_paused;
}

/** Asks at once for everything that the screen shows. @param {Job[]} [changed] If no others can have changed. */
export function refresh(changed) {
  refreshers.forEach((refresher) => refresher(changed));
}

/** @param {(changed?: Job[]) => void} refresher @returns {() => void} */
export function on_refresh(refresher) {
  refreshers.add(refresher);
  return () => void refreshers.delete(refresher);
}

/**
 * Runs a request again and again, each time after the last answer, while the page is seen and not paused.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} request
 * @param {any[]} inputs A change asks at once.
 * @param {{seconds?: number}} [how] 0: only when something changes.
 * @returns {{value: T|undefined, error: import('./api.js').ApiError|null, reload: () => void}}
 */
export function use_poll(request, inputs, {seconds = poll_seconds_min} = {}) {
  const [result, set_result] = useState(/** @type {{value: T|undefined, error: import('./api.js').ApiError|null}} */ ({value: undefined, error: null}));
  const [reload] = useState(() => ({run: () => {}}));
  // It does not wait until the screen is painted.
  useLayoutEffect(() => {
    let wait = seconds;
    let timer = 0;
    let controller = new AbortController();
    let stopped = false;
    let is_refused = false;
    const run = async () => {
      clearTimeout(timer);
      controller.abort();
      const mine = (controller = new AbortController());
      let is_unknown = false;
      try {
        const value = await request(mine.signal);
        if (mine.signal.aborted) return;
        wait = seconds;
        is_refused = false;
        set_answered(run, true);
        set_result({value, error: null});
      } catch (error) {
        if (mine.signal.aborted) return;
        wait = Math.min(Math.max(wait, 1) * 2, poll_seconds_max);
        is_refused = error.status === 403;
        set_answered(run, error.status !== 0);
        // What was seen stays, unless the server says that it is not there or not for this user.
        const stays = error.status === 0 || error.status >= 500;
        set_result((before) => ({value: stays ? before.value : undefined, error}));
        is_unknown = stays;
      }
      // What is refused stays refused until somebody asks again, and an answer that never changes is asked for until it comes.
      if ((seconds || is_unknown) && !is_refused) timer = setTimeout(again, wait * 1000);
    };
    const again = () => {
      if (stopped) return;
      if (is_running()) run();
      else timer = setTimeout(again, 500);
    };
    reload.run = run;
    run();
    refreshers.add(run);
    return () => {
      stopped = true;
      refreshers.delete(run);
      set_answered(run, true);
      clearTimeout(timer);
      controller.abort();
    };
  }, inputs);
  return {...result, reload: () => reload.run()};
}
