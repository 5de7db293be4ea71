// Small pictures, always beside a word: no colour and no picture carries a meaning alone.

import {html} from './html.js';

/** Paths in a square of 16. */
const paths = {
  ready: 'M8 3a5 5 0 1 1 0 10A5 5 0 0 1 8 3Z',
  reserved: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Zm0 1.6v8.8a4.4 4.4 0 0 1 0-8.8Z',
  delayed: 'M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13Zm0 1.6a4.9 4.9 0 1 1 0 9.8 4.9 4.9 0 0 1 0-9.8ZM7.2 4.5h1.6v3.2l2.3 1.4-.8 1.3L7.2 8.6Z',
  buried: 'M2 11h12v3H2Zm5-9h2v4h2.5L8 9.8 4.5 6H7Z',
  paused: 'M4 3h3v10H4Zm5 0h3v10H9Z',
  ok: 'M6.3 12.6 2 8.3l1.4-1.4 2.9 2.9 6.3-6.3L14 4.9Z',
  warning: 'M8 1.5 15.2 14H.8Zm-.8 5v3.6h1.6V6.5Zm0 4.6v1.5h1.6v-1.5Z',
  gone: 'm4 2.6 4 4 4-4L13.4 4l-4 4 4 4-1.4 1.4-4-4-4 4L2.6 12l4-4-4-4Z',
  live: 'M1 7h3l2-5 3 11 2-6h4v2h-2.6L9 15.5 6 5.8 5.3 9H1Z',
  down: 'm3 5.5 5 5.5 5-5.5Z',
  up: 'm3 10.5 5-5.5 5 5.5Z',
};

/** @param {{name: keyof typeof paths}} props */
export const Icon = ({name}) =>
  html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false"><path d=${paths[name]} /></svg>`;

/** @param {{kind: string, icon: keyof typeof paths, children?: any, title?: string}} props */
export const Badge = ({kind, icon, children, title}) =>
  html`<span class=${`badge ${kind}`} title=${title}><${Icon} name=${icon} />${children}</span>`;

/** @param {{state: import('./types.js').JobState}} props */
export const StateBadge = ({state}) => html`<${Badge} kind=${state} icon=${state}>${state}<//>`;
