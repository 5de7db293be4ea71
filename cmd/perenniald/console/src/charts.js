// Charts with their legends: of the history that the server keeps, else of what this page has seen.

import {useEffect, useRef, useState} from 'preact/hooks';
import {get, query} from './api.js';
import {count} from './format.js';
import {html} from './html.js';
import {use_poll} from './live.js';
import {use_theme} from './theme.js';

/** @typedef {{name: string, kind: string}} Line The kind names its colour in style.css. */

// So many values make a line.
const values_min = 2;

/**
 * @param {{title: string, lines: Line[], times: number[], values: (number|null)[][], format: (value: number) => string}} props
 */
export function Chart({title, lines, times, values, format}) {
  const figure = useRef(/** @type {HTMLElement|null} */ (null));
  const drawing = useRef(/** @type {import('./chart.js').Drawing|null} */ (null));
  const data = useRef({times, values});
  data.current = {times, values};
  const theme = use_theme();
  const [problem, set_problem] = useState('');

  useEffect(() => {
    let is_gone = false;
    import('./chart.js').then(({draw}) => {
      if (is_gone) return;
      const colour = (selector) => getComputedStyle(figure.current.querySelector(selector)).color;
      drawing.current = draw(figure.current.querySelector('.plot'), lines.map(({kind}) => colour(`.swatch.${kind}`)),
        {axis: colour('.axis-colour'), grid: colour('.grid-colour')}, format);
      drawing.current.update(data.current.times, data.current.values);
    }).catch(() => set_problem('The chart could not be loaded.'));
    return () => {
      is_gone = true;
      drawing.current?.destroy();
      drawing.current = null;
    };
  }, [theme]);
  useEffect(() => drawing.current?.update(times, values));

  const now = (index) => values[index]?.findLast((value) => value !== null);
  return html`<figure class="chart" ref=${figure}>
    <figcaption>${title}</figcaption>
    <ul class="legend">${lines.map(({name, kind}, index) => html`<li key=${name}>
      <span class=${`swatch ${kind}`} aria-hidden="true"></span>${name} <b>${now(index) === undefined ? '–' : format(now(index))}</b></li>`)}</ul>
    <div class="plot" role="img" aria-label=${`Chart: ${title}. The newest values are in its legend.`}></div>
    ${problem && html`<p class="problem">${problem}</p>`}
    <span class="axis-colour" hidden></span><span class="grid-colour" hidden></span>
  </figure>`;
}

/**
 * Null: the server keeps no history of the series, or none yet.
 * @param {string} series @param {number|null} span @param {AbortSignal} signal
 * @returns {Promise<import('./types.js').History|null>}
 */
async function get_history(series, span, signal) {
  try {
    return await get(`/history${query({series, span})}`, signal);
  } catch (error) {
    if (error.status !== 404) throw error;
    return null;
  }
}

/** How a span is called on its button. @param {number} seconds */
const span_name = (seconds) => {
  const [number, unit] = seconds < 3600 ? [seconds / 60, 'minute'] : seconds <= 86400 ? [seconds / 3600, 'hour'] : [seconds / 86400, 'day'];
  return `${count(number)} ${unit}${number === 1 ? '' : 's'}`;
};

/**
 * The history of a series: undefined before the first answer, null where the server has nothing to draw of this span. Which spans there are, the server
 * says.
 * @param {string} series
 */
export function use_history(series) {
  const [chosen, set_chosen] = useState(/** @type {number|null} */ (null));  // Null: the shortest.
  const {value, error} = use_poll((signal) => get_history(series, chosen, signal), [series, chosen], {seconds: (chosen ?? 0) >= 86400 ? 60 : 10});
  const spans = useRef(/** @type {number[]} */ ([]));
  if (value) spans.current = value.spans_seconds;
  const has_line = value && Object.values(value.series)[0].length >= values_min;
  const chooser = spans.current.length > 0 && html`<div class="segments" role="group" aria-label="Span of the charts">${spans.current.map((seconds) => html`
    <button key=${seconds} aria-pressed=${(chosen ?? spans.current[0]) === seconds} onClick=${() => set_chosen(seconds)}>${span_name(seconds)}</button>`)}</div>`;
  return {history: has_line ? value : value === undefined && !error ? undefined : null, chooser};
}

/** @param {import('./types.js').History} history @param {string[]} names */
export function history_series(history, names) {
  const length = history.series[names[0]]?.length ?? 0;
  const end = Date.now() / 1000 - history.ends_seconds_ago;
  return {
    times: Array.from({length}, (_, index) => end - (length - 1 - index) * history.step_seconds),
    values: names.map((name) => history.series[name] ?? []),
  };
}
