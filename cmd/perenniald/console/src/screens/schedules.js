// All schedules that one may see, in pages in the order of their names.

import {get, query} from '../api.js';
import {count, visible_line} from '../format.js';
import {html} from '../html.js';
import {use_poll} from '../live.js';
import {EmptyRow, Heading, Problem, TubeLink} from '../parts.js';
import {go, schedule_href} from '../router.js';
import {use_row_focus} from '../row_focus.js';
import {LastJob, NewTimes, ScheduleActions, ScheduleState, moment, when_text} from '../schedule_parts.js';

/** @typedef {import('../types.js').Schedule} Schedule */

const page_schedules = 100;
const columns = 9;

/** @param {{route: import('../router.js').Route}} props */
export function Schedules({route}) {
  const after = route.query.get('after');
  const tube = route.query.get('tube');
  const {value, error} = use_poll((signal) => get('/schedules' + query({tube, after, limit: page_schedules}), signal), [tube, after]);
  const schedules = /** @type {Schedule[]} */ (value?.schedules ?? []);
  const row_focus = use_row_focus();
  return html`
    <${Heading} title="Schedules" />
    <${Problem} error=${error} />
    ${tube && html`<p class="banner">Those of tube <${TubeLink} name=${tube} />. <a href="/schedules">All schedules</a></p>`}
    <div class="scroll" tabindex="0" role="region" aria-label="Table of schedules">
      <table>
        <thead><tr><th scope="col">Name</th><th scope="col">Tube</th><th scope="col">Times</th><th scope="col">State</th><th scope="col">Next, UTC</th>
          <th scope="col">Last job</th><th class="number" scope="col">Put</th><th class="number" scope="col">Left out</th>
          <th scope="col"><span class="hidden-text">Actions</span></th></tr></thead>
        <tbody ...${row_focus}>${schedules.map((each) => html`<tr key=${each.name} data-row>
          <th scope="row"><a class="name" href=${schedule_href(each.name)}><bdi>${visible_line(each.name)}</bdi></a></th>
          <td><${TubeLink} name=${each.tube} /></td>
          <td><bdi class="name">${visible_line(when_text(each))}</bdi>${each.zone !== null && html` <bdi class="quiet">${visible_line(each.zone)}</bdi>`}</td>
          <td><${ScheduleState} schedule=${each} /></td>
          <td class="name">${moment(each.next)}</td>
          <td><${LastJob} schedule=${each} /></td>
          <td class="number">${count(each.fired)}</td>
          <td class="number">${count(each.skipped + each.missed_times)}</td>
          <td class="end">${each.may.manage && html`<${ScheduleActions} schedule=${each} small />`}</td>
        </tr>`)}
        ${value && !schedules.length && html`<${EmptyRow} columns=${columns} empty=${after ? 'No more schedules.' : 'No schedules.'} />`}
        ${!value && !error && html`<${EmptyRow} columns=${columns} empty="Loading…" />`}</tbody>
      </table>
    </div>
    ${(after || value?.next) && html`<nav class="pages" aria-label="Pages of schedules">
      <button disabled=${!after} onClick=${() => go('/schedules' + query({tube}))}>First page</button>
      <button disabled=${!value?.next} onClick=${() => go('/schedules' + query({tube, after: value.next}))}>Next page</button>
    </nav>`}
    <${NewTimes} />`;
}
