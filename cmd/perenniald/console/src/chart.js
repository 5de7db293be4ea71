// A chart by uPlot. This file is loaded when the first chart is shown.

import uPlot from 'uplot';

/**
 * @typedef {object} Drawing
 * @property {(times: number[], values: (number|null)[][]) => void} update
 * @property {() => void} destroy
 */

const [of_seconds, of_minutes, of_days] = ['{HH}:{mm}:{ss}', '{HH}:{mm}', '{DD} {MMM}'].map((form) => uPlot.fmtDate(form));
/** How a time on the axis is written where so many seconds lie between two. @param {number} step */
const time_format = (step) => step < 60 ? of_seconds : step < 86400 ? of_minutes : of_days;

/**
 * @param {HTMLElement} host
 * @param {string[]} colours
 * @param {{axis: string, grid: string}} lines Colours of the rest.
 * @param {(value: number) => string} format
 * @returns {Drawing}
 */
export function draw(host, colours, lines, format) {
  const axis = {stroke: lines.axis, grid: {stroke: lines.grid, width: 1}, ticks: {show: false}, font: '11px system-ui, sans-serif'};
  const height = 150;
  const plot = new uPlot({
    width: host.clientWidth || 300,
    height,
    legend: {show: false},
    cursor: {y: false, points: {show: false}, drag: {x: false, y: false}},
    scales: {y: {range: (_, low, high) => [0, high > 0 ? high * 1.1 : 1]}},
    axes: [
      {...axis, space: 70, values: (_, ticks, __, ___, step) => ticks.map((tick) => time_format(step)(new Date(1000 * tick))), size: 26},
      {...axis, size: 58, space: 28, values: (_, ticks) => ticks.map(format)},
    ],
    series: [{}, ...colours.map((stroke) => ({stroke, width: 1.5, points: {show: false}}))],
  }, [[], ...colours.map(() => [])], host);
  const observer = new ResizeObserver(() => host.clientWidth && plot.setSize({width: host.clientWidth, height}));
  observer.observe(host);
  return {
    update: (times, values) => plot.setData([times, ...values]),
    destroy: () => {
      observer.disconnect();
      plot.destroy();
    },
  };
}
