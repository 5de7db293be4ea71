// What the tests of the console share: a server, a browser, and pages whose every error fails their test.
//
// CONSOLE_ASSETS   the folder of the built console; the mock serves it
// CONSOLE_MODULES  the folder with node_modules
// CONSOLE_OUTPUT   where screenshots go
// CONSOLE_URL      a real server to use in place of the mock, and CONSOLE_QUEUE its queue's port on this machine. It should be
//                  empty, and its users, if any, are not known here. Tests that make the server refuse or fail need the mock.

import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdirSync} from 'node:fs';
import {createRequire} from 'node:module';
import {createConnection} from 'node:net';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {after, test} from 'node:test';
import {fileURLToPath} from 'node:url';
import {Mock, states} from './mock.mjs';

const require = createRequire(join(process.env.CONSOLE_MODULES ?? dirname(fileURLToPath(import.meta.url)), 'package.json'));
const {chromium} = require('playwright-core');
export const axe_source = () => require('axe-core').source;

export const assets = process.env.CONSOLE_ASSETS ?? '';
export const output = process.env.CONSOLE_OUTPUT ?? join(tmpdir(), 'perennial-console');
export const is_mock = !process.env.CONSOLE_URL;
mkdirSync(output, {recursive: true});

const answer_ms = 8000;

// ---------------------------------------------------------------------------------------------- servers

/** The mock, with what the tests ask of any server. */
class MockServer {
  constructor() {
    this.mock = new Mock(assets);
    this.queue = this.mock.queue;
  }

  async start() {
    await this.mock.start();
    this.url = this.mock.url;
    return this;
  }

  /** @returns {Promise<string>} The id. */
  async put(tube, body, {state = 'ready', priority = 1024} = {}) {
    const fields = {delayed: {delay_seconds: 3600, left_seconds: 3600}, reserved: {left_seconds: 600, ttr_seconds: 600, reserves: 1}}[state];
    return String(this.queue.put(tube, body, {state, priority, ...fields}).id);
  }

  async put_all(tubes, body) {
    for (const tube of tubes) await this.put(tube, body);
  }

  /** What the tube keeps of its jobs that end. */
  async keep(tube, settings) {
    Object.assign(this.queue.settings_of(tube), settings);
  }

  /** As if its last client had gone. */
  async leave(tube) {
    this.queue.tubes.delete(tube);
  }

  async stats_tube(name) {
    return this.queue.view_tube(this.queue.tube(name));
  }

  async stats() {
    return this.queue.view_server({may: {}, name: null}).jobs;
  }

  stop() {
    return this.mock.stop();
  }
}

/** A server with beanstalkd's protocol: what the console shows is compared with what the queue says. */
class RealServer {
  url = process.env.CONSOLE_URL.replace(/\/$/, '');
  #waiting = [];
  #held = Buffer.alloc(0);
  #put = [];  // What this test has put, which is deleted after it.
  #keeps = [];  // Tubes that keep what ends, until the end of this test.

  async start() {
    this.socket = createConnection(Number(process.env.CONSOLE_QUEUE ?? 11300), '127.0.0.1');
    this.socket.on('data', (data) => {
      this.#held = Buffer.concat([this.#held, data]);
      this.#answer();
    });
    return this;
  }

  #answer() {
    for (let end; this.#waiting.length && (end = this.#held.indexOf('\r\n')) >= 0;) {
      const line = this.#held.subarray(0, end).toString();
      const body_bytes = /^OK (\d+)$/.exec(line)?.[1];
      const whole = end + 2 + (body_bytes ? Number(body_bytes) + 2 : 0);
      if (this.#held.length < whole) return;
      const body = this.#held.subarray(end + 2, whole).toString();
      this.#held = this.#held.subarray(whole);
      this.#waiting.shift()({line, body});
    }
  }

  command(bytes) {
    this.socket.write(bytes);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async put(tube, body, {state = 'ready', priority = 1024} = {}) {
    const bytes = Buffer.from(body);
    await this.command(`use ${tube}\r\n`);
    const head = Buffer.from(`put ${priority} ${state === 'delayed' ? 3600 : 0} 600 ${bytes.length}\r\n`);
    const {line} = await this.command(Buffer.concat([head, bytes, Buffer.from('\r\n')]));
    assert.match(line, /^INSERTED \d+$/);
    const id = line.split(' ')[1];
    this.#put.push(id);
    if (state === 'reserved' || state === 'buried') {
      this.socket.write(`reserve-job ${id}\r\n`);
      // RESERVED has a body of its own, unlike OK: read past it.
      await new Promise((resolve) => {
        const wait = () => {
          const end = this.#held.indexOf('\r\n');
          if (end < 0 || this.#held.length < end + 4 + bytes.length) return setTimeout(wait, 2);
          this.#held = this.#held.subarray(end + 4 + bytes.length);
          resolve();
        };
        wait();
      });
      if (state === 'buried') await this.command(`bury ${id} ${priority}\r\n`);
    }
    return id;
  }

  /** Many small jobs, without waiting for each. */
  async put_all(tubes, body) {
    const answers = await Promise.all(tubes.flatMap((tube) => [this.command(`use ${tube}\r\n`), this.command(`put 1024 0 600 ${body.length}\r\n${body}\r\n`)]));
    this.#put.push(...answers.flatMap(({line}) => /^INSERTED (\d+)$/.exec(line)?.[1] ?? []));
  }

  async keep(tube, {keep_seconds = '-', keep_max = '-'}) {
    this.#keeps.push(tube);
    assert.equal((await this.command(`set-tube ${tube} keep:${keep_seconds} keep-max:${keep_max}\r\n`)).line, 'SET');
  }

  async leave() {
    await this.command('use default\r\n');
  }

  async #yaml(command) {
    const {body} = await this.command(`${command}\r\n`);
    return Object.fromEntries(body.split('\n').map((line) => line.split(': ')).filter((pair) => pair.length === 2));
  }

  async stats_tube(name) {
    const stats = await this.#yaml(`stats-tube ${name}`);
    return Object.fromEntries(states.map((state) => [state, Number(stats[`current-jobs-${state}`])]));
  }

  async stats() {
    const stats = await this.#yaml('stats');
    return Object.fromEntries(states.map((state) => [state, Number(stats[`current-jobs-${state}`])]));
  }

  async stop() {
    if (this.socket.destroyed) return;
    // What was put back has other ids.
    for (const tube of this.#keeps) {
      await this.command(`set-tube ${tube} keep:- keep-max:-\r\n`);
      await this.command(`flush-tube ${tube}\r\n`);
    }
    await Promise.all(this.#put.map((id) => this.command(`delete ${id}\r\n`)));
    this.socket.destroy();
  }
}

/** @type {Set<MockServer|RealServer>} */
const servers = new Set();

export async function open_server() {
  const server = await (is_mock ? new MockServer() : new RealServer()).start();
  servers.add(server);
  return server;
}

/** What the API says, past the browser. */
export async function api(server, path, method = 'GET', body = undefined) {
  const sent = body === undefined ? {} : {body: JSON.stringify(body), headers: {'content-type': 'application/json'}};
  const response = await fetch(`${server.url}/api/v1${path}`, {method, ...sent});
  return {status: response.status, value: await response.json()};
}

// ---------------------------------------------------------------------------------------------- pages

let browser = null;

/** Debian's browser, wherever it is. */
export async function open_browser(more = []) {
  const executablePath = process.env.CHROMIUM ?? execFileSync('sh', ['-c', 'command -v chromium'], {encoding: 'utf8'}).trim();
  return chromium.launch({executablePath, args: [...(process.getuid() === 0 ? ['--no-sandbox'] : []), ...more]});
}

// Also after a test that has failed: what is left open would keep the process.
after(async () => {
  await Promise.all([...servers].map((server) => server.stop()));
  await browser?.close();
});

// Status codes are what tests ask for; everything else in the console is a mistake.
const is_problem = (message) => message.type() === 'error' && !message.text().startsWith('Failed to load resource');

/** Pages that are used again: a new one costs more than most tests. By the options of their context. */
const pages = new Map();

async function open_page(options) {
  const key = JSON.stringify(options);
  if (pages.has(key)) return pages.get(key);
  browser ??= await open_browser();
  const context = await browser.newContext({viewport: {width: 1280, height: 900}, reducedMotion: 'reduce', ...options});
  const page = await context.newPage();
  page.setDefaultTimeout(answer_ms);
  page.problems = [];
  page.on('console', (message) => is_problem(message) && page.problems.push(message.text()));
  page.on('pageerror', (error) => page.problems.push(String(error)));
  await page.addInitScript(() => document.addEventListener('securitypolicyviolation', (event) =>
    console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`)));
  pages.set(key, page);
  return page;
}

/**
 * A test with a server and a page. Errors of scripts and reports of the policy fail it, and a failure leaves a picture.
 * @param {string} name
 * @param {(page: import('playwright-core').Page, server: any, t: any) => Promise<void>} body
 */
export function page_test(name, body, {needs_mock = false, needs_real = false, ...options} = {}) {
  test(name, {skip: (needs_mock && !is_mock && 'needs the mock') || (needs_real && is_mock && 'needs a real server')}, async (t) => {
    const server = await open_server();
    const page = await open_page(options);
    page.problems.length = 0;
    try {
      await body(page, server, t);
      assert.deepEqual(page.problems, []);
    } catch (error) {
      await page.screenshot({path: join(output, `failed-${name.replace(/[^A-Za-z0-9]+/g, '-')}.png`)}).catch(() => {});
      throw error;
    } finally {
      await page.goto('about:blank').catch(() => {});
      await page.context().clearCookies();
      await server.stop();
    }
  });
}

/** Waits until it holds, and says what was seen last if it never does. */
export async function eventually(get, want) {
  const end = Date.now() + answer_ms;
  for (;;) {
    const got = await get();
    try {
      return assert.deepEqual(got, want);
    } catch (error) {
      if (Date.now() > end) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** Waits for a sentence in the live region. @param {string|RegExp} text */
export const announced = (page, text) => page.locator('.announcer p', {hasText: text}).waitFor();

/** The cells of a table's rows, as they are read. */
export const rows = (page, region) => page.getByRole('region', {name: region}).locator('tbody tr[data-row]').evaluateAll((found) =>
  found.map((row) => [...row.cells].map((cell) => cell.innerText.trim())));

/** What the changes of the API were: "DELETE /jobs/5". */
export const changes = (server) => server.mock.requests.filter(({method}) => method !== 'GET').map(({method, path}) => `${method} ${path}`);
