// The keyboard. No single key destroys anything: what cannot be undone asks first.

import {go} from './router.js';

/** What the help shows. @type {[string, string][]} */
export const key_help = [
  ['g o', 'Overview'], ['g t', 'Tubes'], ['g b', 'Jobs'], ['g e', 'Ended'], ['g f', 'Search'], ['g c', 'Connections'], ['g s', 'Server'],
  ['g j', 'Go to a job by its id'], ['/', 'Filter, or what to search for'], ['j, k', 'Next and previous row'], ['x', 'Select the row'],
  ['t', 'Try the job of the row again: kick'], ['b, m, d', 'Bury, move or delete it'],
  ['Enter', 'Open the row'], ['Esc', 'Back: stop the search, leave the field, or go up'], ['u', 'The way back from a delete'], ['p', 'Pause or continue live updates'],
  ['r', 'Refresh'], ['?', 'This help'],
];

const go_paths = {o: '/', t: '/tubes', b: '/jobs', e: '/ended', f: '/search', c: '/connections', s: '/server'};
const row_acts = {t: 'kick', b: 'bury', m: 'move', d: 'delete'};
const sequence_ms = 1500;

/** @param {1|-1} step */
function move_row(step) {
  const rows = [...document.querySelectorAll('main [data-row]')];
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const row = rows[at === -1 ? (step === 1 ? 0 : rows.length - 1) : at + step];
  const target = row?.querySelector('a, button');
  if (target instanceof HTMLElement) {
    target.focus();
    row.scrollIntoView({block: 'nearest'});
  }
}

function go_up() {
  const above = document.querySelector('main [data-up] a');
  if (above instanceof HTMLElement) return above.click();
  const parts = location.pathname.split('/').filter(Boolean);
  if (parts.length) go('/' + parts.slice(0, -1).join('/'));
}

/**
 * @param {{help: () => void, go_to_job: () => void, pause: () => void, refresh: () => void}} actions
 * @returns {() => void} Stops it.
 */
export function listen_to_keys(actions) {
  let g_at = -Infinity;
  /** @param {KeyboardEvent} event */
  const on_key = (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector('dialog[open]')) return;
    const target = /** @type {HTMLElement} */ (event.target);
    const types = target.matches('input:not([type=checkbox]), textarea, select');
    if (event.key === 'Escape') {
      if (types) target.blur();
      else go_up();
      return;
    }
    if (types) return;
    const after_g = event.timeStamp - g_at < sequence_ms;
    g_at = -Infinity;
    const handled = after_g ? run_go(event.key) : run(event);
    if (handled) event.preventDefault();
  };
  const run_go = (key) => {
    if (key === 'j') actions.go_to_job();
    else if (go_paths[key]) go(go_paths[key]);
    else return false;
    return true;
  };
  /** @param {KeyboardEvent} event */
  const run = (event) => {
    switch (event.key) {
      case 'g': g_at = event.timeStamp; break;
      case 'j': move_row(1); break;
      case 'k': move_row(-1); break;
      case 'x': {
        const box = document.activeElement?.closest('[data-row]')?.querySelector('input[type=checkbox]');
        if (!(box instanceof HTMLInputElement)) return false;
        box.click();
        break;
      }
      case '/':
      case 'u': {
        const target = document.querySelector(event.key === '/' ? 'main [data-filter]' : '[data-way-back]');
        if (!(target instanceof HTMLElement)) return false;
        target.focus();
        break;
      }
      case 'p': actions.pause(); break;
      case 'r': actions.refresh(); break;
      case '?': actions.help(); break;
      // The row knows whether it can do that.
      default: return row_acts[event.key] !== undefined && document.activeElement?.closest('[data-row]')?.dispatchEvent(
        new CustomEvent('act', {detail: row_acts[event.key], cancelable: true})) === false;
    }
    return true;
  };
  addEventListener('keydown', on_key);
  return () => removeEventListener('keydown', on_key);
}
