// The way back stays in sight: a bar says what was deleted and puts it back, for ten minutes, whatever screen is shown.

import {useEffect, useState} from 'preact/hooks';
import {count, time} from './format.js';
import {html} from './html.js';

const offered_seconds = 600;

/**
 * @typedef {object} Way
 * @property {any} text What has ended.
 * @property {number} until When the last of it can no longer be put back, by the clock of the page.
 * @property {string} [href] Where it is put back, or instead of that:
 * @property {{id: string, until: number}[]} [jobs] What can be put back,
 * @property {number} [total] of so many,
 * @property {(jobs: {id: string}[]) => any} [run] and by what.
 */

/** @type {(change: (way: Way|null) => Way|null) => void} */
let show = () => {};
let begun = 0;
let shown = 0;

/** Until when it is offered. @param {number} keep_seconds Of the tube. 0: it does not keep by time. */
export const offered_until = (keep_seconds) => Date.now() + Math.min(keep_seconds || offered_seconds, offered_seconds) * 1000;

/**
 * Shows a way back as soon as it is known, in place of an earlier one.
 * @param {Promise<Way|undefined>} coming
 * @returns {Promise<import('./announce.js').Offer|undefined>} What the message about the delete says of it.
 */
export async function keep_in_sight(coming) {
  const mine = ++begun;
  const way = await coming;
  if (!way || mine < shown) return undefined;
  shown = mine;
  show(() => way);
  return {text: 'The key u leads to the way back.'};
}

/** These jobs are back, or will never be. @param {Set<string>} ids */
export const forget = (ids) => show((way) => way && {...way, jobs: way.jobs?.filter(({id}) => !ids.has(id))});

export function WayBackBar() {
  const [way, set_way] = useState(/** @type {Way|null} */ (null));
  const [, set_now] = useState(0);
  useEffect(() => void (show = set_way), []);
  useEffect(() => {
    const timer = way && setInterval(() => set_now(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [way]);
  const now = Date.now();
  const jobs = way?.jobs?.filter(({until}) => until > now);
  if (!way || way.until <= now || jobs?.length === 0) return null;
  const left = (way.until - now) / 1000;
  // The focus does not go with the bar.
  const act = (/** @type {() => any} */ run) => () => {
    /** @type {HTMLElement|null} */ (document.querySelector('main h1'))?.focus({preventScroll: true});
    run();
  };
  const dismiss = () => set_way(null);
  return html`<section class="way-back" aria-label="Way back">
    <span class="one-line">${way.text}</span>
    ${jobs ? html`<button data-way-back onClick=${act(() => way.run(jobs))}>Put back${jobs.length < way.total && ` ${count(jobs.length)} of them`}</button>`
      : html`<a data-way-back href=${way.href} onClick=${dismiss}>Put back what was flushed</a>`}
    <span class="quiet">${time(left < 60 ? Math.ceil(left) : Math.floor(left / 60) * 60)} left</span>
    <button class="plain end" onClick=${act(dismiss)}>Dismiss</button>
  </section>`;
}
