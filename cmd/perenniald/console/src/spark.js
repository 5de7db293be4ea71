// The small line beside a row: how a number went since the page was opened.

import {useEffect, useRef} from 'preact/hooks';
import {html} from './html.js';
import {use_theme} from './theme.js';

const width = 72;
const height = 18;

/** @param {{values: number[]}} props */
export function Spark({values}) {
  const canvas = useRef(/** @type {HTMLCanvasElement|null} */ (null));
  const theme = use_theme();
  useEffect(() => {
    const element = canvas.current;
    const scale = devicePixelRatio || 1;
    element.width = width * scale;
    element.height = height * scale;
    const pen = element.getContext('2d');
    if (!pen || values.length < 2) return;
    const high = Math.max(...values, 1);
    pen.scale(scale, scale);
    pen.strokeStyle = getComputedStyle(element).color;
    pen.lineWidth = 1.25;
    pen.lineJoin = 'round';
    pen.beginPath();
    values.forEach((value, index) =>
      pen.lineTo(1 + (index / (values.length - 1)) * (width - 2), height - 2 - (value / high) * (height - 4)));
    pen.stroke();
  }, [values, values.length, values.at(-1), theme]);
  return html`<canvas class="spark" ref=${canvas} aria-hidden="true"></canvas>`;
}
