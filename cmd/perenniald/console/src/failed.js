// What has failed, in groups: the jobs of a tube whose newest notes have the same line. And what is done with a group.

import {announce} from './announce.js';
import {get, query, tube_path} from './api.js';
import {WayBack} from './before_delete.js';
import {ask} from './dialogs.js';
import {offer_of} from './ended_jobs.js';
import {count, jobs as jobs_text, visible_line} from './format.js';
import {html} from './html.js';
import {act} from './job_actions.js';
import {use_poll} from './live.js';
import {Problem} from './parts.js';
import {Failed} from './problems.js';
import {use_row_focus} from './row_focus.js';

/** @typedef {import('./types.js').FailedGroup} FailedGroup @typedef {{tube: string, how: 'buried'|'dead', line: string}} Kind */

const groups_max = 200;
const seen_seconds = 5;
const page_jobs = 1000;
// What is acted on at once. There may be more: then it is done again.
const acted_on_max = 20_000;

/** @param {{tube?: string}} props Tube: only of this one. */
export function FailedList({tube}) {
  const {value, error} = use_poll((signal) => get('/failures' + query({tube, limit: groups_max}), signal), [tube], {seconds: seen_seconds});
  const groups = /** @type {FailedGroup[]} */ (value?.groups ?? []);
  const row_focus = use_row_focus();
  return html`<section class="wrong" aria-label="What has failed">
    <${Problem} error=${error} />
    ${!value && !error && html`<p class="quiet">Loading…</p>`}
    ${value && !groups.length && html`<p class="banner">Nothing has failed: no job is buried${tube === undefined ? ', and none is in a dead tube' : ', and none has died into this tube'}.</p>`}
    ${groups.length > 0 && html`<ul ...${row_focus} class=${tube === undefined ? 'acts' : 'acts of-tube'}>${groups.map((group) => html`
      <${Failed} key=${`${group.how} ${group.tube} ${group.line}`} group=${group} shows_tube=${tube === undefined} on_key=${(event) => act_by_key(group, event)}>
        ${group.may.manage && html`<div class="actions">
          ${group.how === 'dead' ? html`<button class="small" aria-label=${`Move back ${name_of(group)}`} onClick=${() => ask_act('move', group)}>Move back…</button>`
            : html`<button class="small" aria-label=${`Kick ${name_of(group)}`} onClick=${() => ask_act('kick', group)}>Kick…</button>`}
          <button class="small danger" aria-label=${`Delete ${name_of(group)}`} onClick=${() => ask_act('delete', group)}>Delete…</button></div>`}<//>`)}</ul>`}
    ${value && (value.groups_found > groups.length || !value.whole) && html`<p class="quiet">${
      value.groups_found > groups.length && `${count(groups.length)} of ${count(value.groups_found)} kinds are shown. `}${
      !value.whole && `The last ${jobs_text(value.looked_at)} of ${count(value.failed)} were looked at; those of one tube are counted on its page.`}</p>`}
  </section>`;
}

/** The keys of a row, as they are of jobs. @param {FailedGroup} group @param {CustomEvent} event */
function act_by_key(group, event) {
  if (!group.may.manage) return;
  const action = group.how === 'dead' ? {move: 'move', delete: 'delete'}[event.detail] : {kick: 'kick', delete: 'delete'}[event.detail];
  if (!action) return;
  event.preventDefault();
  ask_act(action, group);
}

/** @param {FailedGroup} group */
const name_of = ({jobs, tube, line}) => `${jobs_text(jobs)} of ${tube}: ${line || 'without a note'}`;

/** The jobs of a kind, as they are now. @param {Kind} kind @returns {Promise<{id: string, tube: string, from: string}[]>} */
async function jobs_of({tube, how, line}) {
  const found = [];
  for (let after = null; found.length < acted_on_max;) {
    const page = await get(`${tube_path(tube, '/jobs')}?note=${encodeURIComponent(line)}&` +
      query({state: how === 'dead' ? 'ready' : 'buried', after, limit: page_jobs}).slice(1));
    found.push(...page.jobs.map(({id, from}) => ({id, tube, from})));
    after = page.next;
    if (after === null) break;
  }
  return found;
}

const acts = {
  kick: {title: 'Kick', past: 'kicked'},
  delete: {title: 'Delete', past: 'deleted'},
  move: {title: 'Move', past: 'moved'},
};

/** Asks with the number of jobs that there are now, and acts on these. @param {'kick'|'delete'|'move'} action @param {Kind} kind */
export async function ask_act(action, kind) {
  try {
    const jobs = await jobs_of(kind);
    if (!jobs.length) return announce('No job of this kind is left.');
    const {title, past} = acts[action];
    const more = action === 'delete' ? {offer: offer_of} : {};
    ask({
      title: `${title} these jobs`,
      text: kind.line ? `Those whose newest note says: ${visible_line(kind.line)}` : 'Those that have no note.',
      note: () => action === 'delete' && html`<${WayBack} job_counts=${new Map([[kind.tube, jobs.length]])} />`,
      action: `${title} ${jobs_text(jobs.length)}`,
      danger: action === 'delete',
      tube: kind.tube,
      job_count: jobs.length,
      fields: action === 'move' ? [{name: 'to', label: 'To tube', value: jobs[0].from, required: true, hint: 'The first of them died there.'}] : [],
      run: ({to}) => act(jobs, action, past, action === 'move' ? {to} : more),
    });
  } catch (error) {
    announce(error.message);
  }
}
