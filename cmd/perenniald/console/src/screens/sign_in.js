// Where the server has users, and does not know yet who asks.

import {useState} from 'preact/hooks';
import {post} from '../api.js';
import {html} from '../html.js';
import {Icon} from '../icon.js';

/** @param {{done: () => void}} props */
export function SignIn({done}) {
  const [token, set_token] = useState('');
  const [problem, set_problem] = useState('');
  const [is_sending, set_sending] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    if (is_sending) return;
    set_sending(true);
    set_problem('');
    try {
      await post('/session', {token: token.trim()});
      done();
    } catch (error) {
      set_token('');
      set_problem(error.message);
    }
    set_sending(false);
  };
  return html`<main class="sign-in"><form onSubmit=${submit}>
    <h1>Perennial</h1>
    <p class="quiet">Sign in with a token of a user of this server.</p>
    <label class="field"><span>Token</span>
      <input type="password" autocomplete="off" spellcheck=${false} required value=${token} onInput=${(event) => set_token(event.target.value)} /></label>
    <p class="problem" role="alert">${problem && html`<${Icon} name="warning" /> ${problem}`}</p>
    <div class="buttons"><button type="submit" class="primary" disabled=${is_sending}>Sign in</button></div>
  </form></main>`;
}
