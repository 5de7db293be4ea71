// Which jobs of a list are shown, by their numbers. The address has them, so a filtered list can be linked.

import {useLayoutEffect, useState} from 'preact/hooks';
import {html} from './html.js';

/** @typedef {Record<string, string>} Filter The parameters of the API: what is not given is left out. */

/** @type {[string, string][]} */
const numbers = [['age_seconds', 'Age in seconds'], ['priority', 'Priority'], ['reserves', 'Reserves'], ['timeouts', 'Timeouts']];
const ends = [['min', 'at least'], ['max', 'at most']];
const names = numbers.flatMap(([name]) => ends.map(([end]) => `${name}_${end}`));

/** @param {URLSearchParams} address @returns {Filter} */
export const filter_of = (address) => filter_in(Object.fromEntries(address));

/** What of these values is a filter. @param {Record<string, string>} values @returns {Filter} */
export const filter_in = (values) => Object.fromEntries(names.map((name) => [name, values[name]]).filter(([, value]) => value));

/** The same as the API takes it of an operation. @param {Filter} filter @returns {Record<string, number>} */
export const match_of = (filter) => Object.fromEntries(Object.entries(filter).map(([name, value]) => [name, Number(value)]));

/** @param {{values: Record<string, string>, change: (values: Record<string, string>) => void}} props */
export const FilterNumbers = ({values, change}) => numbers.map(([name, label]) => html`<fieldset key=${name}><legend>${label}</legend>${ends.map(([end, word]) => html`
  <label key=${end}>${word} <input type="number" min="0" step="1" aria-label=${`${label}, ${word}`} value=${values[`${name}_${end}`] ?? ''}
    onInput=${(event) => change({...values, [`${name}_${end}`]: event.target.value})} /></label>`)}</fieldset>`);

/** @param {{filter: Filter, show: (filter: Filter) => void}} props */
export function JobFilter({filter, show}) {
  const [values, set_values] = useState(filter);
  const given = JSON.stringify(filter);
  // The address may change by itself: back, forward, a link. Before the next key, or it would undo what was typed.
  useLayoutEffect(() => set_values(filter), [given]);
  const set = Object.keys(filter).length;
  return html`<details class="filters" open=${set > 0 || undefined}>
    <summary>Filter by age, priority and reserves</summary>
    <form class="search" onSubmit=${(event) => {
      event.preventDefault();
      show(filter_in(values));
    }}>
      <${FilterNumbers} values=${values} change=${set_values} />
      <button type="submit">Filter</button>
      ${set > 0 && html`<button type="button" class="plain" onClick=${() => show({})}>Clear filter</button>`}
    </form>
  </details>`;
}
