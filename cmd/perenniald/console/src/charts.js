// Charts with their legends: of the history that the server keeps, else of what this page has seen.

import {useEffect, useRef, useState} from 'preact/hooks';
import {get, query} from './api.js';
import {html} from './html.js';
import {use_poll} from './live.js';
import {use_theme} from './theme.js';

/** @typedef {{name: string, kind: string}} Line The kind names its colour in style.css. */

/** @type {[number, string][]} */
const spans = [[600, '10 minutes'], [7200, '2 hours'], [86400, '24 hours']];

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

// Series that the server keeps no history of. They are not asked for again.
/** @type {Set<string>} */
const missing = new Set();

/** @param {string} series @param {number} span @param {AbortSignal} signal */
async function get_history(series, span, signal) {
  if (missing.has(series)) return {history: null};
  try {
    return {history: await get(`/history${query({series, span})}`, signal)};
  } catch (error) {
    if (error.status !== 404) throw error;
    missing.add(series);
    return {history: null};
  }
}

/**
 * The history of a series: undefined before the first answer, null where the server keeps none.
 * @param {string} series
 */
export function use_history(series) {
  const [span, set_span] = useState(600);
  const {value} = use_poll((signal) => get_history(series, span, signal), [series, span], {seconds: 10});
  const history = value?.history;
  const chooser = history && html`<div class="segments" role="group" aria-label="Span of the charts">${spans.map(([seconds, name]) => html`
    <button key=${seconds} aria-pressed=${span === seconds} onClick=${() => set_span(seconds)}>${name}</button>`)}</div>`;
  return {history, chooser};
}

/** @param {any} history @param {string[]} names */
export function history_series(history, names) {
  const length = history.series[names[0]]?.length ?? 0;
  const end = Date.now() / 1000 - history.ends_seconds_ago;
  return {
    times: Array.from({length}, (_, index) => end - (length - 1 - index) * history.step_seconds),
    values: names.map((name) => history.series[name] ?? []),
  };
}
