// Dark or light: what the system says, or what was chosen here.

import {useEffect, useState} from 'preact/hooks';
import {html} from './html.js';

/** @typedef {'system'|'light'|'dark'} Theme */

const key = 'perennial-theme';
const dark = matchMedia('(prefers-color-scheme: dark)');
/** @type {Set<() => void>} */
const listeners = new Set();

// theme_start.js has read what is kept.
let chosen = /** @type {Theme} */ (document.documentElement.dataset.theme ?? 'system');

function apply() {
  if (chosen === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  listeners.forEach((listener) => listener());
}
dark.addEventListener('change', apply);

const seen = () => (chosen === 'system' ? (dark.matches ? 'dark' : 'light') : chosen);

/** The theme that is seen, for what is drawn and not styled. */
export function use_theme() {
  const [theme, set_theme] = useState(seen);
  useEffect(() => {
    const update = () => set_theme(seen());
    listeners.add(update);
    return () => void listeners.delete(update);
  }, []);
  return theme;
}

export function ThemeSwitch() {
  const [value, set_value] = useState(chosen);
  const change = (event) => {
    chosen = event.target.value;
    set_value(chosen);
    try {
      localStorage.setItem(key, chosen);
    } catch {
      // It holds for this page, then.
    }
    apply();
  };
  return html`<label class="theme"><span>Theme</span> <select value=${value} onChange=${change}>
    <option value="system">system</option><option value="light">light</option><option value="dark">dark</option>
  </select></label>`;
}
