// The one live region: what has just happened, in a sentence, for eyes and for screen readers.

import {useEffect, useState} from 'preact/hooks';
import {html} from './html.js';

const seen_seconds = 8;
// What is offered has to be reached.
const offered_seconds = 30;

/** @typedef {{text: string, href?: string, run?: () => void}} Offer What the sentence leads to: a link, or a button. */

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
        timer = setTimeout(() => set_told({text: ''}), (offer ? offered_seconds : seen_seconds) * 1000);
      };
      tell(undefined);
      coming?.then(tell);
    };
    return () => clearTimeout(timer);
  }, []);
  const {text, offer} = told;
  return html`<div class="announcer" role="status" aria-live="polite">${text && html`<p>${text}${offer && html` <${Offered} ...${offer} />`}</p>`}</div>`;
}

/** Once it is taken there is nothing left to say, until its end is said. @param {Offer} props */
const Offered = ({text, href, run}) => (href !== undefined ? html`<a href=${href} onClick=${() => show('')}>${text}</a>`
  : html`<button onClick=${() => {
    show('');
    run();
  }}>${text}</button>`);
