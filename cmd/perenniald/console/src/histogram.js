// How long jobs waited and ran: a bar for each bucket, drawn here, and a table with the same in numbers.

import {useEffect, useRef} from 'preact/hooks';
import {get} from './api.js';
import {count, time} from './format.js';
import {html} from './html.js';
import {use_poll} from './live.js';
import {added, percentile, total_of} from './percentile.js';
import {use_theme} from './theme.js';

/** @typedef {import('./types.js').WorkTimes} WorkTimes */

const height = 110;
const label_height = 18;
const label_width = 64;
const parts = [0.5, 0.9, 0.99];

/** @param {{title: string, kind: string, bounds: number[], counts: number[]}} props The kind names its colour in style.css. */
function Bars({title, kind, bounds, counts}) {
  const canvas = useRef(/** @type {HTMLCanvasElement|null} */ (null));
  const theme = use_theme();
  const draw = () => {
    const element = canvas.current;
    const width = element?.clientWidth;
    if (!width) return;
    const scale = devicePixelRatio || 1;
    element.width = width * scale;
    element.height = height * scale;
    const pen = element.getContext('2d');
    const style = getComputedStyle(element);
    const step = width / counts.length;
    const base = height - label_height;
    const high = Math.max(...counts, 1);
    pen.scale(scale, scale);
    pen.fillStyle = style.color;
    counts.forEach((each, bucket) => {
      // A single job among a million is seen, too.
      const bar = each && Math.max(2, (each / high) * (base - 4));
      pen.fillRect(bucket * step + 1, base - bar, Math.max(1, step - 2), bar);
    });
    pen.fillStyle = pen.strokeStyle = getComputedStyle(element.parentElement).color;
    pen.fillRect(0, base, width, 1);
    pen.font = '11px system-ui, sans-serif';
    pen.textAlign = 'center';
    // Below the line between two buckets: the bound of both.
    const every = Math.ceil(label_width / step);
    for (let bucket = every - 1; bucket < bounds.length; bucket += every) {
      const at = (bucket + 1) * step;
      if (at + label_width / 2 > width) break;
      pen.fillRect(at, base, 1, 4);
      pen.fillText(time(bounds[bucket]), at, height - 3);
    }
  };
  useEffect(draw, [counts.join(), theme]);
  useEffect(() => {
    const observer = new ResizeObserver(draw);
    observer.observe(canvas.current);
    return () => observer.disconnect();
  }, [counts.join(), theme]);
  return html`<figure class="chart"><figcaption>${title}</figcaption>
    <div class="axis-colour"><canvas class=${`bars ${kind}`} ref=${canvas} role="img" aria-label=${`Histogram: ${title}. The table below has its numbers.`}></canvas></div></figure>`;
}

/** @param {{name: string, bounds: number[], times: {counts: number[], sum_seconds: number}}} props */
function Row({name, bounds, times}) {
  const jobs = total_of(times.counts);
  const shown = parts.map((part) => percentile(bounds, times, part));
  return html`<tr data-row><th scope="row">${name}</th><td class="number">${count(jobs)}</td>
    <td class="number">${jobs ? time(times.sum_seconds / jobs) : '–'}</td>
    ${shown.map((at, index) => html`<td key=${index} class="number">${at ? `${at.is_longer ? 'over ' : ''}${time(at.seconds)}` : '–'}</td>`)}</tr>`;
}

export function WorkTimes() {
  const value = /** @type {WorkTimes|undefined} */ (use_poll((signal) => get('/work-times', signal), [], {seconds: 5}).value);
  if (!value) return null;
  const {bounds_seconds: bounds, wait, run} = value;
  return html`
    <div class="heading"><h2>Waits and runs of jobs</h2><span class="quiet">since the start of the server</span></div>
    <div class="charts">
      <${Bars} title="From ready to reserved" kind="in" bounds=${bounds} counts=${wait.counts} />
      <${Bars} title="From reserved to its end" kind="out" bounds=${bounds} counts=${added(Object.values(run))} />
    </div>
    <div class="scroll times" tabindex="0" role="region" aria-label="Waits and runs of jobs">
      <table>
        <thead><tr><th scope="col">Time</th><th class="number" scope="col">Jobs</th><th class="number" scope="col">Mean</th>
          ${parts.map((part) => html`<th key=${part} class="number" scope="col">p${part * 100}</th>`)}</tr></thead>
        <tbody><${Row} name="Wait" bounds=${bounds} times=${wait} />
          ${Object.entries(run).map(([end, times]) => html`<${Row} key=${end} name=${`Run, ${end}`} bounds=${bounds} times=${times} />`)}</tbody>
      </table>
    </div>`;
}
