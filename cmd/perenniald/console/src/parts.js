// What several screens show in the same way.

import {useEffect, useRef} from 'preact/hooks';
import {time, visible_line} from './format.js';
import {html} from './html.js';
import {Badge, Icon} from './icon.js';
import {tube_href} from './router.js';

/** A refusal, in the server's own words. @param {{error: Error|null|undefined}} props */
export const Problem = ({error}) =>
  error && html`<p class="problem banner" role="alert"><${Icon} name="warning" /> ${error.message}</p>`;

/** @param {{title: any, children?: any}} props */
export function Heading({title, children}) {
  const heading = useRef(/** @type {HTMLElement|null} */ (null));
  useEffect(() => {
    document.title = `${heading.current.textContent} · Perennial`;
  });
  return html`<div class="heading"><h1 tabindex="-1" ref=${heading}>${title}</h1>${children}</div>`;
}

/** @param {{name: string, state?: string}} props */
export const TubeLink = ({name, state}) => html`<a class="name" href=${tube_href(name, state)}><bdi>${visible_line(name)}</bdi></a>`;

/** @param {{seconds: number}} props */
export const PausedBadge = ({seconds}) =>
  seconds > 0 && html`<${Badge} kind="warn" icon="paused">paused, ${time(seconds)} left<//>`;

/** @param {{facts: [any, any][], class?: string}} props */
export const Facts = ({facts, class: kind = ''}) => html`<dl class=${`facts ${kind}`}>${facts.map(([name, value]) => html`
  <div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;

/** A job that waits so long is late. etc/prometheus has an alert at the same age. */
export const late_seconds = 300;

/** What an age of the oldest ready job says about its tube. @param {number} seconds */
export const age_kind = (seconds) => (seconds >= 3600 ? 'old' : seconds >= late_seconds ? 'ageing' : '');

/** The age that people look for first; an old one carries a mark, not only a colour. @param {{seconds: number}} props */
export const Oldest = ({seconds}) => html`<span class=${`oldest ${age_kind(seconds)}`}>${
  seconds >= late_seconds && html`<${Icon} name="warning" /> `}${seconds > 0 ? time(seconds) : '–'}</span>`;

/** @param {{empty: string, columns: number}} props */
export const EmptyRow = ({empty, columns}) => html`<tr class="empty"><td colspan=${columns}>${empty}</td></tr>`;
