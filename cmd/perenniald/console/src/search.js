// One search in the bodies of jobs: page after page until enough is found, and not while another one runs.

import {get, query} from './api.js';

/** @typedef {import('./types.js').Job} Job @typedef {import('./api.js').ApiError} ApiError */
/** @typedef {{q: string, path: string, tube: string, state: string}} Asked What the address says; an empty string leaves it out. */
/** @typedef {'looking'|'waiting'|'stopped'|'full'|'failed'|'done'} SearchState Full: enough was found for now. */

const page_jobs = 100;
const found_at_once = 200;
const again_seconds = 2;
export const tries_max = 10;

let searches = 0;

export class Search {
  number = ++searches;
  /** @type {SearchState} */
  state = 'looking';
  /** @type {Job[]} */
  jobs = [];
  looked_at = 0;
  tries = 0;  // Since the last answer, while another search runs,
  busy = '';  // which the server says so.
  /** @type {ApiError|null} */
  error = null;

  #changed;
  /** @type {string|null} */
  #after = null;
  /** @type {AbortController|null} */
  #running = null;
  #life = new AbortController();
  /** @type {Set<string>} */
  #stale = new Set();
  #is_reading = false;

  /** @param {Asked} asked @param {() => void} changed Called when there is something else to be shown. */
  constructor(asked, changed) {
    this.asked = asked;
    this.#changed = changed;
  }

  get is_running() {
    return this.#running !== null;
  }

  /** Begins, or goes on behind the last page. */
  async go_on() {
    if (this.#running || this.state === 'done') return;
    const running = (this.#running = new AbortController());
    const enough = this.jobs.length + found_at_once;
    this.error = null;
    this.tries = 0;
    this.#show('looking');
    let ends;
    do {
      ends = await this.#next_page(running.signal, enough);
      // Stopped, and perhaps begun again since then.
      if (running.signal.aborted) return;
      if (ends) this.#running = null;
      this.#show(ends || (this.tries ? 'waiting' : 'looking'));
      if (this.tries && !ends) await pause(again_seconds, running.signal);
    } while (!ends && !running.signal.aborted);
  }

  /** Aborts the request, so that the server looks no further. */
  stop() {
    if (!this.#running) return;
    this.#running.abort();
    this.#running = null;
    this.#show('stopped');
  }

  /** Nobody sees it any more. */
  close() {
    this.#changed = () => {};
    this.#life.abort();
    this.stop();
  }

  /** Reads jobs that were found once more, one after another. Those that are gone are found no longer. */
  async read_again(jobs = this.jobs) {
    jobs.forEach(({id}) => this.#stale.add(id));
    if (this.#is_reading) return;
    this.#is_reading = true;
    for (const id of this.#stale) {
      this.#stale.delete(id);
      if (!this.jobs.some((job) => job.id === id)) continue;
      try {
        const now = await get(`/jobs/${encodeURIComponent(id)}`, this.#life.signal);
        this.jobs = this.jobs.map((job) => (job.id === id ? now : job));
      } catch (error) {
        if (this.#life.signal.aborted) return;
        if (error.status === 404) {
          this.jobs = this.jobs.filter((job) => job.id !== id);
        } else {
          this.error = error;
          this.#stale.clear();
        }
      }
    }
    this.#is_reading = false;
    this.#changed();
  }

  /** @param {AbortSignal} signal @param {number} enough @returns {Promise<SearchState|null>} How the search ends with this page, or null. */
  async #next_page(signal, enough) {
    try {
      const {jobs, looked_at, next} = await get('/search' + query({...looked_for(this.asked), after: this.#after, limit: page_jobs}), signal);
      // The whole answer may have come just before the search was stopped.
      if (signal.aborted) return null;
      this.jobs = [...this.jobs, ...jobs];
      this.looked_at += looked_at;
      this.tries = 0;
      if (next === null) return 'done';
      this.#after = next;
      return this.jobs.length >= enough ? 'full' : null;
    } catch (error) {
      if (error.status === 429 && this.tries < tries_max) {
        ++this.tries;
        this.busy = error.message;
        return null;
      }
      this.error = error;
      return 'failed';
    }
  }

  /** @param {SearchState} state */
  #show(state) {
    this.state = state;
    this.#changed();
  }
}

/** With a path the text is the value that it leads to. @param {Asked} asked */
const looked_for = ({q, path, ...where}) => (path ? {path, equals: q, ...where} : {q, ...where});

/** @param {number} seconds @param {AbortSignal} signal Ends it at once. @returns {Promise<void>} */
const pause = (seconds, signal) => new Promise((resolve) => {
  const timer = setTimeout(resolve, seconds * 1000);
  signal.addEventListener('abort', () => {
    clearTimeout(timer);
    resolve();
  });
});
