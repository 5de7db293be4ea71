// The one live region: what has just happened, in a sentence, for eyes and for screen readers.

import {useEffect, useState} from 'preact/hooks';
import {html} from './html.js';

const seen_seconds = 8;

/** @type {(text: string) => void} */
let show = () => {};

/** @param {string} text */
export const announce = (text) => show(text);

export function Announcer() {
  const [text, set_text] = useState('');
  useEffect(() => {
    let timer = 0;
    show = (next) => {
      set_text(next);
      clearTimeout(timer);
      timer = setTimeout(() => set_text(''), seen_seconds * 1000);
    };
    return () => clearTimeout(timer);
  }, []);
  return html`<div class="announcer" role="status" aria-live="polite">${text && html`<p>${text}</p>`}</div>`;
}
