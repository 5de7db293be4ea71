// Dialogs: questions before what cannot be undone, and forms. There is at most one.

import {useEffect, useId, useLayoutEffect, useRef, useState} from 'preact/hooks';
import {count, jobs, visible_line} from './format.js';
import {html} from './html.js';
import {Icon} from './icon.js';
import {FilterNumbers} from './job_filter.js';

// From this number of jobs on, the tube's name is typed.
export const typed_name_jobs = 100;

/**
 * @typedef {object} Field
 * @property {string} name
 * @property {string} label
 * @property {'text'|'number'|'textarea'|'password'|'checks'} [type]
 * @property {string} [value] Of checks: the names of those that are set, with commas between them.
 * @property {[string, string][]} [checks] Their names, and what they are called.
 * @property {string} [hint]
 * @property {boolean} [required]
 * @property {number} [min]
 * @property {number} [max]
 * @property {number|'any'} [step]
 *
 * @typedef {object} Question
 * @property {string} title
 * @property {string} [text]
 * @property {(job_count: number) => any} [note] What follows the text, in paragraphs of its own.
 * @property {string} action The word on the button.
 * @property {boolean} [danger]
 * @property {Field[]} [fields]
 * @property {boolean} [filter] Whether jobs can be chosen by their numbers, too. The values have the names of the API.
 * @property {string} [tube] Typed by the person when there are more than a hundred jobs.
 * @property {number} [job_count] What the person sees, and what the request says.
 * @property {(values: Record<string, string>, job_count: number) => Promise<any>} run
 */

/** @type {(question: Question|null) => void} */
let show = () => {};

/** @param {Question} question */
export const ask = (question) => show(question);

export function Dialogs() {
  const [question, set_question] = useState(/** @type {{it: Question, number: number}|null} */ (null));
  useEffect(() => {
    let number = 0;
    show = (it) => set_question(it && {it, number: ++number});
  }, []);
  return question && html`<${QuestionDialog} key=${question.number} question=${question.it} close=${() => show(null)} />`;
}

/**
 * A dialog of the browser's own kind: what is behind it cannot be reached, Escape closes it, and the focus returns.
 * @param {{label: string, close: () => void, class?: string, children?: any}} props
 */
export function Modal({label, close, children, class: kind = ''}) {
  const dialog = useRef(/** @type {HTMLDialogElement|null} */ (null));
  // Before anything is painted, so that no key goes past it.
  useLayoutEffect(() => {
    const before = document.activeElement;
    const element = dialog.current;
    element.showModal();
    return () => {
      element.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return html`<dialog ref=${dialog} class=${kind} aria-labelledby=${label} onCancel=${(event) => {
    event.preventDefault();
    close();
  }}>${children}</dialog>`;
}

/** @param {{question: Question, close: () => void}} props */
function QuestionDialog({question, close}) {
  const id = useId();
  const cancel = useRef(/** @type {HTMLButtonElement|null} */ (null));
  const problem_line = useRef(/** @type {HTMLElement|null} */ (null));
  const sending = useRef(false);
  const [is_sending, set_sending] = useState(false);
  const [problem, set_problem] = useState('');
  const [job_count, set_job_count] = useState(question.job_count);
  const [values, set_values] = useState(() =>
    Object.fromEntries((question.fields ?? []).map((field) => [field.name, field.value ?? ''])));
  const [typed, set_typed] = useState('');
  const must_type = question.tube !== undefined && job_count > typed_name_jobs;
  const may_send = !is_sending && (!must_type || typed === question.tube);

  // A long form is scrolled, and what is wrong with it may be below.
  useLayoutEffect(() => {
    if (problem) problem_line.current?.scrollIntoView({block: 'nearest'});
  }, [problem]);
  useLayoutEffect(() => {
    if (question.danger || !question.fields?.length) cancel.current.focus();
  }, []);

  const submit = async (event) => {
    event.preventDefault();
    // A second click comes before the button is drawn as disabled.
    if (sending.current || !may_send) return;
    sending.current = true;
    set_sending(true);
    set_problem('');
    try {
      await question.run(values, job_count);
      close();
    } catch (error) {
      if (error.status === 409 && error.job_count !== undefined) {
        set_job_count(error.job_count);
        set_typed('');
        set_problem(`The number of jobs has changed: there are now ${count(error.job_count)}. Nothing was done.`);
        cancel.current?.focus();
      } else {
        set_problem(error.message);
      }
    }
    sending.current = false;
    set_sending(false);
  };

  return html`<${Modal} label=${id} close=${close}>
    <form onSubmit=${submit}>
      <h2 id=${id}>${question.title}</h2>
      ${question.text && html`<p>${question.text}</p>`}
      ${question.note?.(job_count)}
      ${job_count !== undefined && html`<p class="seen-count"><strong>${jobs(job_count)}</strong>${
        question.tube !== undefined && html` in <strong class="name">${visible_line(question.tube)}</strong>`}</p>`}
      ${(question.fields ?? []).map((field) => html`<${FieldInput} key=${field.name} field=${field}
        value=${values[field.name]} change=${(value) => set_values({...values, [field.name]: value})} />`)}
      ${question.filter && html`<details class="filters"><summary>Filter by age, priority and reserves</summary>
        <div class="search"><${FilterNumbers} values=${values} change=${set_values} /></div></details>`}
      ${must_type && html`<label class="field">
        <span>Type the name of the tube to confirm</span>
        <input class="name" value=${typed} autocomplete="off" spellcheck=${false}
          onInput=${(event) => set_typed(event.target.value)} />
      </label>`}
      <p class="problem" role="alert" ref=${problem_line}>${problem && html`<${Icon} name="warning" /> ${problem}`}</p>
      <div class="buttons">
        <button type="button" ref=${cancel} onClick=${close}>Cancel</button>
        <button type="submit" class=${question.danger ? 'danger' : 'primary'} disabled=${!may_send}>${
          is_sending ? 'Working…' : question.action}</button>
      </div>
    </form>
  <//>`;
}

/** @param {{field: Field, value: string, change: (value: string) => void}} props */
function FieldInput({field, value, change}) {
  const id = useId();
  if (field.type === 'checks') return html`<${Checks} field=${field} value=${value} change=${change} />`;
  const input = {
    id,
    name: field.name,
    value,
    required: field.required,
    autocomplete: 'off',
    spellcheck: false,
    'aria-describedby': field.hint ? `${id}-hint` : undefined,
    onInput: (event) => change(event.target.value),
  };
  const number = field.type === 'number' ? {min: field.min ?? 0, max: field.max ?? 4294967295, step: field.step ?? 1} : {};
  return html`<div class="field">
    <label for=${id}>${field.label}</label>
    ${field.type === 'textarea' ? html`<textarea ...${input} rows="6"></textarea>`
      : html`<input type=${field.type ?? 'text'} ...${number} ...${input} />`}
    ${field.hint && html`<small id=${`${id}-hint`}>${field.hint}</small>`}
  </div>`;
}

/** @param {{field: Field, value: string, change: (value: string) => void}} props */
function Checks({field, value, change}) {
  const names = field.checks.map(([name]) => name);
  const chosen = value.split(',');
  const toggle = (name) => change(names.filter((each) => chosen.includes(each) !== (each === name)).join());
  return html`<fieldset class="field"><legend>${field.label}</legend>${field.checks.map(([name, label]) => html`
    <label key=${name}><input type="checkbox" name=${name} checked=${chosen.includes(name)} onChange=${() => toggle(name)} /> ${label}</label>`)}</fieldset>`;
}
