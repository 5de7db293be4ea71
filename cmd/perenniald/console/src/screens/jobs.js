// The jobs of all tubes.

import {html} from '../html.js';
import {Icon} from '../icon.js';
import {FailedList} from '../failed.js';
import {JobList} from '../job_list.js';
import {use_topic} from '../live.js';
import {Heading} from '../parts.js';
import {count} from '../format.js';
import {query} from '../api.js';
import {failed_href, job_states} from '../router.js';

/** @param {{route: import('../router.js').Route}} props */
export function Jobs({route}) {
  const state = job_states.find((each) => each === route.query.get('state'));
  const jobs = use_topic('server')?.jobs;
  const is_failed = route.query.get('view') === 'failed';
  const path = '/jobs' + query({state});
  const tab = (each) => html`<a key=${each} href=${'/jobs' + query({state: each})} aria-current=${!is_failed && each === state ? 'page' : undefined}>
    ${each && html`<span class=${each}><${Icon} name=${each} /></span>`} ${each ? each[0].toUpperCase() + each.slice(1) : 'All'} ${
      jobs && html`<b>${count(each ? jobs[each] : job_states.reduce((sum, one) => sum + jobs[one], 0))}</b>`}</a>`;
  return html`
    <${Heading} title="Jobs"><span class="quiet">of all tubes</span><//>
    <nav class="tabs" aria-label="Jobs by state">${tab(undefined)}${job_states.map(tab)}
      <a href=${failed_href()} aria-current=${is_failed ? 'page' : undefined}><${Icon} name="warning" /> Failed</a></nav>
    ${is_failed ? html`<${FailedList} />` : html`<${JobList} key=${state} tube=${null} states=${state ? [state] : job_states} path=${path} route=${route} />`}`;
}
