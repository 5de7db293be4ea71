// Numbers, times and foreign text as people read them.

// By hand, since a browser needs 12 to 170 ms for its first Intl.NumberFormat, and numbers are what the first screen waits for.
/** @param {number} n @param {number} digits At most so many behind the point. */
function decimal(n, digits) {
  const [whole, part] = String(Number.isInteger(n) ? n : Math.round(n * 10 ** digits) / 10 ** digits).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return part === undefined ? grouped : `${grouped}.${part}`;
}

/** @param {number} n */
export const count = (n) => decimal(n, 3);
/** @param {number} n */
const tenths = (n) => decimal(n, 1);

/** @param {number} n @param {string} [word] */
export const jobs = (n, word = '') => `${count(n)} ${word ? word + ' ' : ''}${n === 1 ? 'job' : 'jobs'}`;

/**
 * How many attempts of a job have failed, as the engine counts them: where tries or a back-off are in force, since the put or the last kick. All
 * reservations are in `reserves`.
 * @param {{attempts: number, tries?: number}} job
 */
export const failed_attempts = ({attempts, tries}) => (tries ? `${count(attempts)} of ${count(tries)}` : attempts ? count(attempts) : '–');

/** Per second. @param {number} n */
export const rate = (n) => (n >= 100 ? count(Math.round(n)) : tenths(n));

/** The two largest units, which is as exact as anybody reads it. @param {number} seconds */
export function time(seconds) {
  if (!(seconds > 0)) return '0 s';
  if (seconds < 0.01) return `${tenths(seconds * 1000)} ms`;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${tenths(seconds)} s`;
  const whole = Math.floor(seconds);
  if (whole < 60) return `${whole} s`;
  /** @type {[number, string][]} */
  const units = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];
  const first = units.findIndex(([size]) => whole >= size);
  const [size, unit] = units[first];
  const [next_size, next_unit] = units[first + 1];
  const rest = Math.floor((whole % size) / next_size);
  return `${count(Math.floor(whole / size))} ${unit}${rest ? ` ${rest} ${next_unit}` : ''}`;
}

const unit_seconds = {d: 86400, h: 3600, m: 60, s: 1};

/** A duration as it is typed, and exact: "1h 30m", "0.5s". @param {number} seconds */
export function duration(seconds) {
  const parts = [];
  let rest = seconds;
  for (const [unit, size] of Object.entries(unit_seconds)) {
    const number = unit === 's' ? Number(rest.toFixed(9)) : Math.floor(rest / size);
    if (number) parts.push(`${number}${unit}`);
    rest -= number * size;
  }
  return parts.join(' ') || '0s';
}

/** The seconds of such a text, or of a number alone. NaN: it is none. @param {string} text */
export function seconds_of(text) {
  const number = /^[0-9]+(\.[0-9]+)?$/;
  const trimmed = text.trim();
  if (number.test(trimmed)) return Number(trimmed);
  const parts = trimmed.match(/[0-9.]+ *[dhms] */g) ?? [];
  if (!trimmed || parts.join('') !== trimmed) return NaN;
  const sum = parts.map((part) => part.replaceAll(' ', '')).reduce((all, part) =>
    all + (number.test(part.slice(0, -1)) ? Number(part.slice(0, -1)) * unit_seconds[part.at(-1)] : NaN), 0);
  return Number(sum.toFixed(9));
}

/** @param {number} n */
export function bytes(n) {
  let unit = 0;
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  while (n >= 1024 && unit < units.length - 1) {
    n /= 1024;
    ++unit;
  }
  return `${unit ? tenths(n) : count(n)} ${units[unit]}`;
}

// Controls, and what turns the direction of the text around it or is not seen at all.
const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

/**
 * Text with its unseen characters made visible, so that it cannot pass for another.
 * @param {string} text
 */
export function visible(text) {
  return text.replace(unseen, (character) => {
    const code = character.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });
}

/** The same on one line, for tables. @param {string} text */
export const visible_line = (text) => visible(text).replaceAll('\n', '␊').replaceAll('\t', '␉');
