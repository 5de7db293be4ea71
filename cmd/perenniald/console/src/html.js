import htm from 'htm';
import {h} from 'preact';

// Templates. Every value becomes a text node or a property, never markup.
export const html = htm.bind(h);
