// What the server said since the page was opened, one frame a second, so that there is a chart also where the server
// keeps no history.

import {watch} from './live.js';

/** @typedef {import('./types.js').Server} Server @typedef {{at: number, server: Server}} Frame */

const frames_max = 600;
/** @type {Frame[]} */
const frames = [];
let instance = '';

/** @param {Server|null} server */
function add(server) {
  if (!server) return;
  // Totals begin again with the server.
  if (server.instance !== instance) frames.length = 0;
  instance = server.instance;
  frames.push({at: Date.now() / 1000, server});
  if (frames.length > frames_max) frames.shift();
}

/** Begins, once somebody is known who may ask. @returns {() => void} Ends it. */
export const watch_frames = () => watch('server', add);

/**
 * What a total has grown by, per second.
 * @param {(frame: Frame) => number} total
 * @param {number} [index] The newest frame by default.
 */
export function frame_rate(total, index = frames.length - 1) {
  // Over a few seconds, so that what comes in pieces does not flicker.
  const after = frames[index];
  const before = frames[Math.max(0, index - 5)];
  if (!after || !before || after.at - before.at < 0.5) return null;
  return Math.max(0, (total(after) - total(before)) / (after.at - before.at));
}

/** @param {Record<string, (frame: Frame, index: number) => number|null>} series */
export function frame_series(series) {
  return {
    times: frames.map(({at}) => at),
    values: Object.values(series).map((of) => frames.map(of)),
  };
}
