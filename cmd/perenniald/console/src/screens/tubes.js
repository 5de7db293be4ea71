// All tubes, sorted and filtered by the server. Only the rows near those that are seen are asked for and drawn, so that
// 10,000 tubes cost what forty do.

import {useLayoutEffect, useRef, useState} from 'preact/hooks';
import {announce} from '../announce.js';
import {get, post, query, tube_path} from '../api.js';
import {ask} from '../dialogs.js';
import {count, rate, time} from '../format.js';
import {html} from '../html.js';
import {Badge, Icon} from '../icon.js';
import {refresh, use_poll} from '../live.js';
import {EmptyRow, Heading, Oldest, PausedBadge, Problem, TubeLink} from '../parts.js';
import {go} from '../router.js';
import {Spark} from '../spark.js';

/** @typedef {import('../types.js').Tube} Tube */

const row_px = 33;
const chunk_rows = 50;
const window_rows = 150;
const samples_max = 60;

/** What is sorted by, and what it is called. @type {[string, string][]} */
const columns = [
  ['oldest_ready_seconds', 'Oldest ready'], ['ready', 'Ready'], ['reserved', 'Reserved'], ['delayed', 'Delayed'],
  ['buried', 'Buried'], ['waiting', 'Waiting'], ['puts', 'In'], ['deletes', 'Out'],
];

/** @param {{route: import('../router.js').Route}} props */
export function Tubes({route}) {
  const filter = route.query.get('match') ?? '';
  const sort = route.query.get('sort') ?? 'oldest_ready_seconds';
  const order = route.query.get('order') ?? (sort === 'name' ? 'asc' : 'desc');
  const [offset, set_offset] = useState(0);
  const [selected, set_selected] = useState(/** @type {Set<string>} */ (new Set()));
  const match = filter && (filter.includes('*') ? filter : `*${filter}*`);
  const {value, error} = use_poll(async (signal) => ({
    offset,
    ...await get('/tubes' + query({match, sort, order, gone: 'yes', limit: window_rows, offset}), signal),
  }), [match, sort, order, offset]);
  const trends = use_trends(value?.tubes);
  const matched = value?.matched ?? 0;
  const gone = value?.gone ?? 0;

  const scroll = useRef(/** @type {HTMLElement|null} */ (null));
  const on_scroll = (event) => {
    const first = Math.floor(event.currentTarget.scrollTop / row_px);
    set_offset(Math.max(0, (Math.floor(first / chunk_rows) - 1) * chunk_rows));
  };
  useLayoutEffect(() => {
    scroll.current.scrollTop = 0;
    set_offset(0);
  }, [match, sort, order]);

  /** @param {Record<string, string>} changes */
  const show = (changes) => go('/tubes' + query({match: filter, sort: route.query.get('sort') ?? '', order: route.query.get('order') ?? '', ...changes}), {replace: true});
  const toggle = (name) => {
    const next = new Set(selected);
    if (!next.delete(name)) next.add(name);
    set_selected(next);
  };
  const first = value?.offset ?? 0;
  const rows = value?.tubes ?? [];
  const after = Math.max(0, matched - first - rows.length);

  return html`
    <${Heading} title="Tubes"><span class="quiet">${value && (filter ? `${count(matched - gone)} of ${count(value.total)} match` : count(value.total))}${gone > 0 && `, and ${count(gone)} gone`}</span><//>
    <div class="toolbar">
      <label class="filter">Filter <input data-filter type="search" value=${filter} placeholder="part of a name, or a*b" autocomplete="off"
        spellcheck=${false} onInput=${(event) => show({match: event.target.value})} /></label>
      ${selected.size > 0 && html`<div class="actions" role="group" aria-label="Selected tubes">
        <b>${count(selected.size)} selected</b>
        <button onClick=${() => ask_pause([...selected])}>Pause…</button>
        <button onClick=${() => resume([...selected])}>Resume</button>
        <button class="plain" onClick=${() => set_selected(new Set())}>Clear selection</button></div>`}
    </div>
    <${Problem} error=${error} />
    <div class="scroll tall" ref=${scroll} onScroll=${on_scroll} tabindex="0" role="region" aria-label="Table of tubes">
      <table class="virtual" aria-rowcount=${matched + 1}>
        <thead><tr aria-rowindex="1">
          <th class="select"><span class="hidden-text">Select</span></th>
          <${SortHeader} key="name" name="name" label="Tube" ...${{sort, order, show}} />
          ${columns.map(([name, label]) => html`<${SortHeader} key=${name} name=${name} label=${label} ...${{sort, order, show}} number />`)}
          <th scope="col">Ready, lately</th>
        </tr></thead>
        <tbody>
          ${first > 0 && html`<tr key="before" class="space" aria-hidden="true"><td colspan="11" style=${{height: `${first * row_px}px`}}></td></tr>`}
          ${rows.map((tube, index) => html`<tr key=${tube.name} data-row aria-rowindex=${first + index + 2} class=${tube.gone_seconds === undefined ? (selected.has(tube.name) ? 'selected' : '') : 'gone'}>
            <td class="select">${tube.may?.manage && tube.gone_seconds === undefined && html`<input type="checkbox" checked=${selected.has(tube.name)} aria-label=${`Select tube ${tube.name}`} onChange=${() => toggle(tube.name)} />`}</td>
            <th scope="row"><${TubeLink} name=${tube.name} /> <${PausedBadge} seconds=${tube.pause_left_seconds} />${
              tube.gone_seconds !== undefined && html`<${Badge} kind="" icon="gone">gone, seen ${time(tube.gone_seconds)} ago<//>`}</th>
            <td class="number"><${Oldest} seconds=${tube.oldest_ready_seconds} /></td>
            <td class="number">${shown(tube.ready)}</td><td class="number">${shown(tube.reserved)}</td><td class="number">${shown(tube.delayed)}</td>
            <td class="number">${shown(tube.buried)}</td><td class="number">${shown(tube.waiting)}</td>
            <td class="number">${trends.rate(tube.name, 'puts')}</td><td class="number">${trends.rate(tube.name, 'deletes')}</td>
            <td><${Spark} values=${trends.ready(tube.name)} /></td>
          </tr>`)}
          ${after > 0 && html`<tr key="after" class="space" aria-hidden="true"><td colspan="11" style=${{height: `${after * row_px}px`}}></td></tr>`}
          ${value && !matched && html`<${EmptyRow} columns=${11} empty=${filter ? 'No tube matches.' : 'No tubes.'} />`}
          ${!value && !error && html`<${EmptyRow} columns=${11} empty="Loading…" />`}
        </tbody>
      </table>
    </div>`;
}

/** A counter; those of a tube that is only named are not told. @param {number|undefined} n */
const shown = (n) => (n === undefined ? '–' : count(n));

/** @param {{name: string, label: string, sort: string, order: string, show: (changes: Record<string, string>) => void, number?: boolean}} props */
function SortHeader({name, label, sort, order, show, number}) {
  const is_sorted = sort === name;
  const first_order = name === 'name' ? 'asc' : 'desc';
  const next = is_sorted && order === first_order ? (order === 'asc' ? 'desc' : 'asc') : first_order;
  return html`<th scope="col" class=${number ? 'number' : ''} aria-sort=${is_sorted ? (order === 'asc' ? 'ascending' : 'descending') : undefined}>
    <button class="sort" onClick=${() => show({sort: name, order: next})}>${label}${is_sorted && html`<${Icon} name=${order === 'asc' ? 'up' : 'down'} />`}</button></th>`;
}

/**
 * Rates and the ready jobs of the last minutes, of the tubes that were seen. They begin with the page.
 * @param {Tube[]|undefined} tubes
 */
function use_trends(tubes) {
  const [seen] = useState(/** @type {Map<string, {at: number, puts: number, deletes: number, ready: number}[]>} */ (new Map()));
  const last = useRef(tubes);
  if (tubes && last.current !== tubes) {
    last.current = tubes;
    const at = Date.now() / 1000;
    for (const {name, puts, deletes, ready, gone_seconds} of tubes) {
      if (gone_seconds !== undefined || ready === undefined) {
        seen.delete(name);
        continue;
      }
      const samples = seen.get(name) ?? [];
      samples.push({at, puts, deletes, ready});
      if (samples.length > samples_max) samples.shift();
      seen.set(name, samples);
    }
  }
  return {
    ready: (name) => (seen.get(name) ?? []).map(({ready}) => ready),
    rate: (name, total) => {
      const samples = seen.get(name) ?? [];
      const [before, after] = [samples.at(-4) ?? samples[0], samples.at(-1)];
      if (!before || after.at - before.at < 0.5) return '–';
      return `${rate(Math.max(0, (after[total] - before[total]) / (after.at - before.at)))}/s`;
    },
  };
}

/** @param {string[]} names */
export function ask_pause(names) {
  ask({
    title: names.length === 1 ? 'Pause the tube' : `Pause ${count(names.length)} tubes`,
    text: 'No job of a paused tube can be reserved. Jobs can still be put, and those that are reserved stay so.',
    action: 'Pause',
    fields: [{name: 'seconds', label: 'For how many seconds', type: 'number', value: '300', min: 1, required: true}],
    run: ({seconds}) => pause(names, Number(seconds)),
  });
}

/** @param {string[]} names @param {number} seconds */
async function pause(names, seconds) {
  for (const name of names) await post(tube_path(name, '/pause'), {seconds});
  announce(`${names.length === 1 ? 'The tube is' : `${count(names.length)} tubes are`} ${seconds ? 'paused' : 'no longer paused'}.`);
  refresh();
}

/** @param {string[]} names */
export const resume = (names) => pause(names, 0).catch((error) => announce(error.message));
