// The one live region: what has just happened, in a sentence, for eyes and for screen readers.

import {useEffect, useState} from 'preact/hooks';
import {html} from './html.js';

const seen_seconds = 8;
// A link has to be reached.
const offered_seconds = 30;

/** @typedef {{text: string, href?: string}} Offer What the sentence leads to. Without a link it is said to those who do not see it. */

/** @type {(text: string, offer?: Promise<Offer|undefined>) => void} */
let show = () => {};

/** @param {string} text @param {Offer|Promise<Offer|undefined>} [offer] It may come later than the sentence. */
export const announce = (text, offer) => show(text, offer && Promise.resolve(offer));

export function Announcer() {
  const [told, set_told] = useState(/** @type {{text: string, offer?: Offer}} */ ({text: ''}));
  useEffect(() => {
    let timer = 0;
    let newest = {};
    show = (text, coming) => {
      const mine = (newest = {});
      const tell = (/** @type {Offer|undefined} */ offer) => {
        if (mine !== newest) return;
        set_told({text, offer});
        clearTimeout(timer);
        timer = setTimeout(() => set_told({text: ''}), (offer?.href ? offered_seconds : seen_seconds) * 1000);
      };
      tell(undefined);
      coming?.then(tell);
    };
    return () => clearTimeout(timer);
  }, []);
  const {text, offer} = told;
  return html`<div class="announcer" role="status" aria-live="polite">${text && html`<p>${text}${offer && html` <${Offered} ...${offer} />`}</p>`}</div>`;
}

/** Once it is followed there is nothing left to say. @param {Offer} props */
const Offered = ({text, href}) => (href === undefined ? html`<span class="hidden-text">${text}</span>` : html`<a href=${href} onClick=${() => show('')}>${text}</a>`);
