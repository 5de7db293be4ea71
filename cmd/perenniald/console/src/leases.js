// Jobs that workers hold over HTTP: who holds each, until when, and how it is taken back from a worker that is dead.

import {useState} from 'preact/hooks';
import {announce} from './announce.js';
import {get, query, remove} from './api.js';
import {ask} from './dialogs.js';
import {time, visible_line} from './format.js';
import {html} from './html.js';
import {refresh, use_poll} from './live.js';
import {Problem, TubeLink} from './parts.js';
import {job_href} from './router.js';
import {use_row_focus} from './row_focus.js';

/** @typedef {import('./types.js').Lease} Lease */

const page_leases = 100;
const seen_seconds = 5;

/** Nothing at all where there are none. @param {{tube?: string}} props Tube: only of jobs in this one. */
export function Leases({tube}) {
  const [after, set_after] = useState(/** @type {string|null} */ (null));
  const {value, error} = use_poll((signal) => get('/leases' + query({tube, after, limit: page_leases}), signal), [tube, after], {seconds: seen_seconds});
  const leases = /** @type {Lease[]} */ (value?.leases ?? []);
  const row_focus = use_row_focus();
  if (!leases.length && after === null) return null;
  return html`<section class="jobs" aria-labelledby="leases">
    <h2 id="leases">Leases over HTTP</h2>
    <${Problem} error=${error} />
    <div class="scroll tall" tabindex="0" role="region" aria-label="Table of leases">
      <table>
        <thead><tr><th class="number" scope="col">Job</th>${tube === undefined && html`<th scope="col">Tube</th>`}<th scope="col">User</th><th scope="col">Address</th>
          <th class="number" scope="col">Held for</th><th class="number" scope="col">Ends in</th><th scope="col"><span class="hidden-text">Actions</span></th></tr></thead>
        <tbody ...${row_focus}>${leases.map((lease) => html`<tr key=${lease.id} data-row>
          <th class="number" scope="row"><a href=${job_href(lease.job)}>${lease.job}</a></th>
          ${tube === undefined && html`<td><${TubeLink} name=${lease.tube} /></td>`}
          <td>${lease.user === null ? html`<span class="quiet">none</span>` : html`<bdi>${visible_line(lease.user)}</bdi>`}</td>
          <td class="name"><bdi>${visible_line(lease.address)}</bdi></td>
          <td class="number">${time(lease.age_seconds)}</td>
          <td class="number">${time(lease.left_seconds)}</td>
          <td class="end"><button class="danger small" aria-label=${`Take back job ${lease.job}`} onClick=${() => ask_take_back(lease.id, lease.job)}>Take back…</button></td>
        </tr>`)}</tbody>
      </table>
    </div>
    ${(after !== null || value?.next) && html`<nav class="pages" aria-label="Pages of leases">
      <button disabled=${after === null} onClick=${() => set_after(null)}>First page</button>
      <button disabled=${!value?.next} onClick=${() => set_after(value.next)}>Next page</button>
    </nav>`}
  </section>`;
}

/** @param {string} lease @param {string} job */
export function ask_take_back(lease, job) {
  ask({
    title: `Take back job ${job}`,
    text: 'The job is released, and the attempt counts: it is ready at once, or delayed if it has a back-off, and dead if this was the last try. If its worker lives, the next call of the worker is refused.',
    action: 'Take back',
    danger: true,
    run: async () => {
      try {
        const {dead, state} = await remove(`/leases/${encodeURIComponent(lease)}`);
        announce(`Job ${job} ${dead ? 'is dead: it has had all its tries' : state === null ? 'has expired' : state === 'delayed' ? 'is delayed by its back-off' : 'is ready again'}.`);
      } finally {
        refresh();
      }
    },
  });
}
