// Jobs by what their bodies hold.

import {useEffect, useLayoutEffect, useState} from 'preact/hooks';
import {announce} from '../announce.js';
import {query} from '../api.js';
import {count, jobs as jobs_text, visible_line} from '../format.js';
import {html} from '../html.js';
import {StateBadge} from '../icon.js';
import {JobTable} from '../job_list.js';
import {on_refresh} from '../live.js';
import {Heading, Problem} from '../parts.js';
import {go, job_states} from '../router.js';
import {Search, tries_max} from '../search.js';

/** @typedef {import('../search.js').Asked} Asked */

const text_bytes_max = 1000;

/** @param {{route: import('../router.js').Route}} props */
export function SearchScreen({route}) {
  const of = (name) => route.query.get(name) ?? '';
  const asked = {q: of('q'), path: of('path'), tube: of('tube'), state: of('state')};
  const [times, set_times] = useState(0);
  const search = use_search(asked, times);
  return html`
    <${Heading} title="Search"><span class="quiet">in the bodies of jobs</span><//>
    <${SearchForm} asked=${asked} submit=${(next) => {
      go('/search' + query(next));
      // The same search is asked for anew, too.
      set_times(times + 1);
    }} />
    ${search && html`<${Found} key=${search.number} search=${search} />`}`;
}

/**
 * The search that the address names, if it names one.
 * @param {Asked} asked
 * @param {number} times Another number begins anew.
 */
function use_search({q, path, tube, state}, times) {
  const [search, set_search] = useState(/** @type {Search|null} */ (null));
  const [, draw] = useState(0);
  useEffect(() => {
    if (!q) return set_search(null);
    const begun = new Search({q, path, tube, state}, () => draw((number) => number + 1));
    set_search(begun);
    begun.go_on();
    const forget = on_refresh((changed) => begun.read_again(changed));
    return () => {
      forget();
      begun.close();
    };
  }, [q, path, tube, state, times]);
  return search;
}

/** @param {{asked: Asked, submit: (next: Asked) => void}} props */
function SearchForm({asked, submit}) {
  const [values, set_values] = useState(asked);
  // The address may change by itself: back, forward, the link to this screen. Before the next key, or it would undo what was typed.
  useLayoutEffect(() => set_values(asked), [asked.q, asked.path, asked.tube, asked.state]);
  const chosen = values.state.split(',').filter(Boolean);
  const toggle = (state) => set_values({...values, state: job_states.filter((each) => chosen.includes(each) !== (each === state)).join()});
  const put = (name) => (event) => {
    // Half of a character that takes two units is no text, and would not fit into an address.
    const text = event.target.value.toWellFormed();
    if (name === 'q') {
      const bytes = new TextEncoder().encode(text).length;
      event.target.setCustomValidity(bytes > text_bytes_max ? `At most ${count(text_bytes_max)} bytes: these are ${count(bytes)}.` : '');
    }
    set_values({...values, [name]: text});
  };
  const input = {autocomplete: 'off', spellcheck: false};
  return html`<form class="search" role="search" onSubmit=${(event) => {
    event.preventDefault();
    submit(values);
  }}>
    <label class="wide">Text <input ...${input} data-filter required value=${values.q} onInput=${put('q')} /></label>
    <label title="With a path: jobs whose body is JSON with this text as the value there">JSON path <input ...${input} class="name" placeholder="none: anywhere" value=${values.path} onInput=${put('path')} /></label>
    <label>Tube <input ...${input} class="name" placeholder="all" value=${values.tube} onInput=${put('tube')} /></label>
    <fieldset><legend>States <span class="quiet">(all, if none is chosen)</span></legend>
      ${job_states.map((state) => html`<label key=${state} class="check"><input type="checkbox" checked=${chosen.includes(state)} onChange=${() => toggle(state)} /> <${StateBadge} state=${state} /></label>`)}
    </fieldset>
    <button type="submit" class="primary">Search</button>
  </form>`;
}

/** What a table says when it is empty. @type {Record<import('../search.js').SearchState, string>} */
const empty = {
  looking: 'Nothing is found so far.', waiting: 'Nothing is found so far.', stopped: 'Nothing was found until it was stopped.',
  full: 'What was found is gone.', failed: '', done: 'No body holds this text.',
};

/** @param {{search: Search}} props */
function Found({search}) {
  const {state, jobs, looked_at, error, is_running} = search;
  const so_far = `${count(looked_at)} ${looked_at === 1 ? 'body' : 'bodies'} looked at, ${jobs_text(jobs.length)} found`;
  const sentence = {
    looking: `Looking: ${so_far} so far.`,
    waiting: `${search.busy} This page does so by itself: try ${search.tries} of ${tries_max}.`,
    stopped: `Stopped: ${so_far}.`,
    full: `${so_far}. There may be more.`,
    failed: `Broken off: ${so_far}.`,
    done: `Search ended: ${so_far}.`,
  }[state];

  // A list that is read aloud says nothing of what comes below it.
  useEffect(() => {
    if (['stopped', 'full', 'done', 'waiting'].includes(state)) announce(sentence);
  }, [state]);

  // With the sentence, and not a frame later: whoever has read that it ended has left with Escape.
  useLayoutEffect(() => {
    if (!is_running) return;
    // Before the keys of all screens, for which Escape leaves the field or the screen.
    const on_key = (event) => {
      if (event.key !== 'Escape' || event.isComposing || document.querySelector('dialog[open]')) return;
      event.preventDefault();
      search.stop();
    };
    addEventListener('keydown', on_key, true);
    return () => removeEventListener('keydown', on_key, true);
  }, [search, is_running]);

  return html`<section class="jobs" aria-label="Jobs found">
    <${Problem} error=${error} />
    <div class="found">
      <p>Bodies that hold <bdi class="name">${visible_line(search.asked.q)}</bdi>${search.asked.path && html` at <bdi class="name">${visible_line(search.asked.path)}</bdi>`}</p>
      <p class="quiet">${sentence}</p>
      ${is_running ? html`<button key="stop" onClick=${() => search.stop()}>Stop</button>`
        : state !== 'done' && error?.status !== 400 && html`<button key="go" onClick=${() => search.go_on()}>Go on</button>`}
    </div>
    <${JobTable} jobs=${jobs} shows_tube=${true} empty=${empty[state]} />
  </section>`;
}
