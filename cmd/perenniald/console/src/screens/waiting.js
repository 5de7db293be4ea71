// A server that has no jobs to show: a standby of a cluster, or one that still loads its jobs. It says so, and who leads. When the server serves, this screen
// makes way for the console.

import {useEffect} from 'preact/hooks';
import {get} from '../api.js';
import {count, visible_line} from '../format.js';
import {html} from '../html.js';
import {Badge} from '../icon.js';
import {use_poll} from '../live.js';
import {Facts, Heading, Problem} from '../parts.js';

/** @typedef {import('../types.js').Node} Node */

/** @param {{serves: () => void}} props Serves: called when the server does. */
export function Waiting({serves}) {
  const {value, error} = use_poll((signal) => get('/node', signal), []);
  const node = /** @type {Node|undefined} */ (value);
  useEffect(() => {
    if (node?.state === 'serving') serves();
  }, [node]);
  const title = node?.state === 'standby' ? 'Standby' : 'Not serving yet';
  if (!node) return html`<${Heading} title=${title} /><${Problem} error=${error} />`;
  return html`<${Heading} title=${title} /><${Problem} error=${error} />
    ${node.cluster && node.state === 'standby' ? html`<p class="banner">This node follows the leader of its cluster, and has no jobs to show. If it becomes the leader, this page becomes its console.</p>`
      : html`<p class="banner">The server loads its jobs. This page becomes its console when they are loaded.</p>`}
    ${node.cluster && html`<div class="cards">
      <section aria-labelledby="facts-cluster"><h2 id="facts-cluster">Cluster</h2><${Facts} class="list" facts=${cluster_facts(node.cluster)} /></section>
      ${node.cluster.log && html`<section aria-labelledby="facts-log"><h2 id="facts-log">Log</h2><${Facts} class="list" facts=${log_facts(node.cluster.log)} /></section>`}
    </div>`}`;
}

/** @param {NonNullable<Node['cluster']>} cluster @returns {[string, any][]} */
function cluster_facts({name, node, leader, forwards, log}) {
  const text = (/** @type {string} */ it) => html`<bdi class="name">${visible_line(it)}</bdi>`;
  return [
    ['Cluster', text(name)], ['This node', text(node)],
    ['Leader', leader ? text(leader.node) : html`<${Badge} kind="warn" icon="warning">no node leads<//>`],
    ...(leader ? /** @type {[string, any][]} */ ([
      ['Clients reach it at', text(leader.client_address)],
      ['Its console', leader.url ? html`<a class="name" href=${leader.url} rel="noreferrer"><bdi>${visible_line(leader.url)}</bdi></a>` : 'not known: it has no peer_address'],
    ]) : []),
    ['Clients of this node', !forwards ? 'refused' : log ? `passed on to the leader: ${count(log.forwarded_connections)} now` : 'passed on to the leader'],
  ];
}

/** @param {NonNullable<NonNullable<Node['cluster']>['log']>} log @returns {[string, any][]} */
const log_facts = ({epoch, read, applied, flushed}) => [
  ['Behind', `${count(read - applied)} ${read - applied === 1 ? 'entry' : 'entries'}`], ['Read', count(read)], ['Applied', count(applied)], ['On its disk', count(flushed)],
  ['Epoch', count(epoch)],
];
