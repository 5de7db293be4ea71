// Who is connected, and what each holds and waits for; and who holds jobs over HTTP.

import {announce} from '../announce.js';
import {get, query, remove} from '../api.js';
import {ask} from '../dialogs.js';
import {bytes, count, visible_line} from '../format.js';
import {html} from '../html.js';
import {Badge} from '../icon.js';
import {use_later} from '../later.js';
import {refresh, use_poll} from '../live.js';
import {EmptyRow, Heading, Problem, TubeLink} from '../parts.js';
import {go} from '../router.js';

/** @typedef {import('../types.js').Connection} Connection */

const watched_shown = 3;

/** @param {{route: import('../router.js').Route, may: import('../types.js').May}} props */
export function Connections({route, may}) {
  const id = /^\d+$/.exec(route.query.get('id') ?? '')?.[0];
  // A link to one connection leads to the page that begins with it.
  const after = id && BigInt(id) > 0n ? String(BigInt(id) - 1n) : route.query.get('after');
  const {value, error} = use_poll((signal) => get('/connections' + query({after, limit: 100}), signal), [after]);
  const connections = /** @type {Connection[]} */ (value?.connections ?? []);
  const leases = use_later('leases');
  const columns = may.admin ? 9 : 8;
  return html`
    <${Heading} title="Connections" />
    <${Problem} error=${error} />
    ${id && value && connections[0]?.id !== id && html`<p class="banner">Connection ${id} is gone.</p>`}
    <div class="scroll" tabindex="0" role="region" aria-label="Table of connections">
      <table>
        <thead><tr><th class="number" scope="col">Id</th><th scope="col">Address</th><th scope="col">User</th><th scope="col">State</th>
          <th class="number" scope="col">Holds</th><th scope="col">Uses</th><th scope="col">Watches</th><th class="number" scope="col">To send</th>
          ${may.admin && html`<th scope="col"><span class="hidden-text">Actions</span></th>`}</tr></thead>
        <tbody>${connections.map((each) => html`<tr key=${each.id} data-row class=${each.id === id ? 'selected' : ''} aria-current=${each.id === id ? 'true' : undefined}>
          <th class="number" scope="row">${each.id}</th>
          <td><bdi class="name">${visible_line(each.address || 'this server')}</bdi></td>
          <td>${each.user === null ? html`<span class="quiet">none</span>` : html`<bdi>${visible_line(each.user)}</bdi>`}</td>
          <td>${each.waiting ? html`<${Badge} kind="" icon="delayed">waits for a job<//>`
            : each.held ? html`<${Badge} kind="reserved" icon="reserved">works<//>` : html`<span class="quiet">idle</span>`}</td>
          <td class="number">${count(each.held)}</td>
          <td><${TubeLink} name=${each.used} /></td>
          <td>${each.watched.slice(0, watched_shown).map((name, index) => html`${index > 0 && ', '}<${TubeLink} key=${name} name=${name} />`)}${
            each.watched_count > watched_shown && html` <span class="quiet">and ${count(each.watched_count - Math.min(watched_shown, each.watched.length))} more</span>`}</td>
          <td class="number">${bytes(each.output_bytes)}</td>
          ${may.admin && html`<td class="end"><button class="danger small" aria-label=${`Close connection ${each.id}`} onClick=${() => ask_close(each)}>Close…</button></td>`}
        </tr>`)}
        ${value && !connections.length && html`<${EmptyRow} columns=${columns} empty="No connections." />`}
        ${!value && !error && html`<${EmptyRow} columns=${columns} empty="Loading…" />`}</tbody>
      </table>
    </div>
    <nav class="pages" aria-label="Pages of connections">
      <button disabled=${!after} onClick=${() => go('/connections')}>First page</button>
      <button disabled=${!value?.next} onClick=${() => go('/connections' + query({after: value.next}))}>Next page</button>
    </nav>
    ${leases && html`<${leases.Leases} />`}`;
}

/** @param {Connection} connection */
function ask_close(connection) {
  ask({
    title: `Close connection ${connection.id}`,
    text: 'What the connection holds becomes ready again, and its client may connect anew.',
    action: 'Close connection',
    danger: true,
    job_count: connection.held,
    run: async () => {
      await remove(`/connections/${encodeURIComponent(connection.id)}`);
      announce(`Connection ${connection.id} is closed.`);
      refresh();
    },
  });
}
