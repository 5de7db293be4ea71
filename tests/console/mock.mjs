// A server with the API of the real one and a queue in memory, for tests of the console that need no queue, and that need
// what a real one seldom does: a count that changes, a refusal, a silence.
//
// By itself it serves a queue to look at: CONSOLE_ASSETS=FOLDER node mock.mjs [PORT]

import {readFileSync, readdirSync} from 'node:fs';
import {createServer} from 'node:http';
import {extname, join} from 'node:path';
import {createHash, randomBytes} from 'node:crypto';
import {pathToFileURL} from 'node:url';
import {gzipSync} from 'node:zlib';

export const states = ['ready', 'reserved', 'delayed', 'buried'];
export const work_bounds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 3600, 21600, 86400];
const history_spans = {server: [600, 7200, 86400, 2592000], tube: [3600, 86400]};
const ways_to_end = ['deleted', 'flushed', 'expired'];
const run_ends = ['deleted', 'released', 'buried', 'timeout', 'closed'];
const json_bytes_max = 1024 * 1024;
const body_window_bytes = 65536;
const content_types = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.txt': 'text/plain'};
export const page_policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'";

class Refusal extends Error {
  constructor(status, word, message, more = {}) {
    super(message);
    Object.assign(this, {status, answer: {type: 'about:blank', title: word, status, detail: message, error: word, ...more}});
  }
}
const not_found = (what) => new Refusal(404, 'not_found', `There is no such ${what}.`);
export const no_schedule = 'There is no such schedule.';
export const no_lease = 'There is no such lease. It has ended, or the tube of its job is not one that you manage.';
export const lease_has_ended = 'The lease has ended, and nothing was changed: the job was finished or taken back, or its time was over, and another worker may have it.';
const bad_request = (message) => new Refusal(400, 'bad_request', message);

// What a user may do with a tube: `tubes` names the verbs of some of them.
const may_on = (user, tube) => {
  const verbs = user?.tubes?.[tube];
  return Object.fromEntries(['produce', 'consume', 'inspect', 'manage'].map((verb) => [verb, !verbs || verbs.includes(verb)]));
};

const numbers = ['age_seconds', 'priority', 'reserves', 'timeouts'];

/** Whether the numbers of a job are within what a query says. */
const fits = (query, job) => numbers.every((name) => {
  const [min, max] = ['min', 'max'].map((end) => query.get(`${name}_${end}`));
  if ([min, max].some((given) => given !== null && !/^\d+$/.test(given))) throw bad_request(`${name}_min and ${name}_max must be whole numbers.`);
  const value = Math.floor(job[name]);
  return value >= Number(min ?? 0) && value <= Number(max ?? Infinity);
});

/** The ranges of an operation as those of a list. */
const query_of = (match) => new URLSearchParams(Object.entries(match).map(([end, value]) => [end, String(value)]));

const no_settings = () => ({tries: 0, backoff: '', dead: '', expire_seconds: 0, reserved: 0, rate: '', drain: false, keep_seconds: 0, keep_max: 0});

const of_server = ['monitor', 'admin'];
/** What no grant allows: as the server says it. @param {string} [tube] */
export const forbidden_text = (verb, tube) => `No grant of the user allows this. It needs the verb ${verb}${of_server.includes(verb) ? '' : ` on ${tube ? `the tube ${tube}` : 'every tube'}`}. A grant that gives it: {tubes: ["${
  of_server.includes(verb) ? '*' : tube ?? '*'}"], verbs: [${verb}]}.`;

const seconds = () => performance.now() / 1000;
/** A time of seconds() as the clock on the wall says it. @param {number} time */
const clock = (time) => new Date(Date.now() - (seconds() - time) * 1000).toISOString();

// ---------------------------------------------------------------------------------------------- the queue

export class Queue {
  jobs = new Map();  // By number.
  tubes = new Map();
  settings = new Map();  // Of tubes, by their names: those in force,
  set = new Map();  // and those that were set.
  connections = new Map();
  leases = new Map();  // By their ids, in the order of their reservations.
  operations = new Map();
  schedules = new Map();  // By their names.
  totals = {puts: 0, deletes: 0, reserves: 0, timeouts: 0, damaged: 0, duplicates: 0, dead: 0, expired: 0};
  draining = false;
  store_state = 'ok';
  gone = [];  // Names of tubes that were there lately.
  files_in_use = true;
  certificates = [];
  audit = [];  // The newest first.
  reloads = [];  // What a reload reads.
  waits = Array(work_bounds.length + 1).fill(0);  // How many jobs took how long, by bucket.
  runs = Object.fromEntries(run_ends.map((end) => [end, Array(work_bounds.length + 1).fill(0)]));
  next_id = 1;
  next_operation = 1;
  next_lease = 1;
  started_at = seconds();
  jobs_per_step = 1000;  // Of an operation.
  step_ms = 40;

  schedule(name, fields = {}) {
    const {cron = '0 3 * * *', every_seconds = null, at = null} = fields;
    const is_cron = every_seconds === null && at === null;
    const schedule = {name, tube: 'default', every_seconds, anchor: every_seconds === null ? null : '2026-11-29T00:00:00.000Z', cron: is_cron ? cron : null,
      zone: is_cron ? fields.zone ?? 'UTC' : null, at, state: 'active', paused: false, refused: false, refused_because: null, planned: '2030-01-01T03:00:00.000Z', next: '2030-01-01T03:00:00.000Z',
      last_planned: null, last_fired: null, last_job: null, last_job_state: null, fired: 0, skipped: 0, missed_times: 0, priority: 1024, delay_seconds: 0, ttr_seconds: 60,
      tries: null, backoff: null, dead: null, expire_seconds: null, key: null, key_seconds: null, key_until: null, concurrency: null, missed: 'one', overlap: 'allow',
      jitter_seconds: 0, body: '', ...fields, ...(is_cron ? {cron} : {})};
    this.schedules.set(name, schedule);
    return schedule;
  }

  /** They outlive the tube. */
  settings_of(name) {
    if (!this.settings.has(name)) this.settings.set(name, no_settings());
    return this.settings.get(name);
  }

  tube(name) {
    let tube = this.tubes.get(name);
    if (!tube) {
      tube = {name, ids: Object.fromEntries(states.map((state) => [state, new Set()])), puts: 0, deletes: 0, paused_until: 0, using: 0, watching: 0, waiting: 0,
        settings: this.settings_of(name)};
      this.tubes.set(name, tube);
    }
    return tube;
  }

  put(tube_name, body, {state = 'ready', id = this.next_id, age_seconds = 0, ...fields} = {}) {
    const tube = this.tube(tube_name);
    const job = {id, tube: tube_name, state, priority: 1024, delay_seconds: 0, ttr_seconds: 60, left_seconds: 0, reserves: 0, timeouts: 0, releases: 0,
      buries: state === 'buried' ? 1 : 0, kicks: 0, attempts: 0, tries: 0, dead: '', from: '', key: '', expire_left_seconds: 0, parked: false, restored: null, said: [],
      ...fields, body: Buffer.from(body), put_at: seconds() - age_seconds, ready_at: seconds() - age_seconds};
    this.jobs.set(job.id, job);
    this.next_id = Math.max(this.next_id, Number(id)) + 1;
    tube.ids[state].add(job.id);
    tube.puts++;
    this.totals.puts++;
    return job;
  }

  note(job, text, user = '', ago_seconds = 0) {
    job.said.push({number: job.said.length + 1, time: new Date(Date.now() - ago_seconds * 1000).toISOString(), attempt: job.reserves, user, text});
  }

  /** A worker over HTTP reserves it. */
  lease(job, {user = null, address = '10.0.0.9:51820', ago_seconds = 0, left_seconds = job.ttr_seconds} = {}) {
    const lease = {id: String(this.next_lease++), job, user, address, at: seconds() - ago_seconds, ends_at: seconds() + left_seconds};
    job.reserves++;
    job.left_seconds = left_seconds;
    this.place(job, {state: 'reserved'});
    this.leases.set(lease.id, lease);
    return lease;
  }

  view_lease({id, job, user, address, at, ends_at}) {
    return {id, job: String(job.id), tube: job.tube, user, address, age_seconds: seconds() - at, ends_at: clock(ends_at), left_seconds: Math.max(0, ends_at - seconds())};
  }

  /** Takes the job back from its worker. @returns {boolean} Whether it was the last try. */
  end_lease(lease) {
    const {job} = lease;
    this.leases.delete(lease.id);
    job.left_seconds = 0;
    job.attempts++;
    job.releases++;
    const is_dead = job.tries > 0 && job.attempts >= job.tries;
    if (!is_dead) this.place(job, {state: 'ready'});
    else if (!job.dead) this.place(job, {state: 'buried'});
    else {
      job.from = job.tube;
      this.place(job, {tube: job.dead, state: 'ready'});
    }
    return is_dead;
  }

  // Jobs that have ended in tubes that keep them, the last one first.
  ended = [];
  next_place = 1;

  limits = {connections_max: 1000, jobs_max: null, tubes_max: 1_000_000, keys_max: null, memory_bytes_max: null, disk_low_water_bytes: 640 * 2 ** 20, disk_free_bytes: 80 * 2 ** 30};
  cluster = null;
  cluster_details = null;

  remove(job, how = 'deleted', user = null) {
    const {keep_seconds, keep_max} = this.tube(job.tube).settings;
    if (keep_seconds || keep_max) this.ended.unshift({job, how, user, at: seconds(), place: this.next_place++});
    this.tube(job.tube).ids[job.state].delete(job.id);
    this.tube(job.tube).deletes++;
    this.totals.deletes++;
    this.jobs.delete(job.id);
  }

  /** What a tube keeps of those that have ended. */
  kept(tube) {
    const {keep_seconds, keep_max} = this.settings_of(tube);
    if (!keep_seconds && !keep_max) return [];
    return this.ended.filter(({job, at}) => job.tube === tube && (!keep_seconds || seconds() - at < keep_seconds)).slice(0, keep_max || Infinity);
  }

  place(job, {tube = job.tube, state = job.state}) {
    this.tube(job.tube).ids[job.state].delete(job.id);
    this.tube(tube).ids[state].add(job.id);
    if (job.state !== state) job.ready_at = seconds();
    Object.assign(job, {tube, state});
  }

  view_ended({job, how, user, at}, asker) {
    const {tube, priority, delay_seconds, ttr_seconds, reserves, timeouts, releases, buries, kicks, attempts, tries, from, key} = job;
    return {id: String(job.id), tube, state: 'ended', ended: how, ended_age_seconds: Math.floor(seconds() - at), ended_by: user, priority, age_seconds: Math.floor(seconds() - job.put_at),
      delay_seconds, ttr_seconds, body_bytes: job.body.length, reserves, timeouts, releases, buries, kicks, attempts, tries, from, key, notes: job.said.length, may: may_on(asker, tube)};
  }

  /** The newest note of a job, as lists show it. */
  newest_note({said}) {
    if (!said.length) return null;
    const {text, ...note} = said.at(-1);
    const lines = text.split('\n').map((line) => line.trim()).filter(Boolean);
    const last_line = (lines.at(-1) ?? '').slice(0, 300);
    return {...note, line: lines[0] === 'Traceback (most recent call last):' ? last_line : (lines[0] ?? '').slice(0, 300), last_line};
  }

  /** What has failed, in groups. */
  failures(query, user) {
    const [wanted, since] = [query.get('tube'), query.get('since_seconds')];
    const failed = [...this.jobs.values()].filter((job) => (job.state === 'buried' || (job.from && job.state === 'ready')) && (!wanted || job.tube === wanted) && may_on(user, job.tube).inspect);
    const groups = new Map();
    for (const job of failed) {
      const note = this.newest_note(job);
      const at = note?.time ?? clock(job.put_at);
      if (since && Date.now() - Date.parse(at) > Number(since) * 1000) continue;
      const how = job.state === 'buried' ? 'buried' : 'dead';
      const key = JSON.stringify([job.tube, how, note?.line ?? '']);
      const group = groups.get(key) ?? {tube: job.tube, how, line: note?.line ?? '', jobs: 0, newest_at: '', oldest_at: at, newest: '', note: null, may: may_on(user, job.tube)};
      group.jobs++;
      if (at < group.oldest_at) group.oldest_at = at;
      if (at >= group.newest_at) Object.assign(group, {newest_at: at, newest: String(job.id), note});
      groups.set(key, group);
    }
    const sorted = [...groups.values()].sort((a, b) => (a.newest_at < b.newest_at ? 1 : -1));
    return {failed: failed.length, looked_at: failed.length, whole: this.failures_whole, groups_found: sorted.length, groups: sorted.slice(0, Number(query.get('limit') ?? 100))};
  }
  failures_whole = true;

  /** What happened to a job. @param {object} [gone] How it has ended. */
  life_of(job, gone) {
    const row = (what, time, rest = {}) => ({what, time, by: null, attempt: null, detail: null, ...rest});
    return [
      row('put', clock(job.put_at)),
      ...job.said.slice(-3).map(({time, user, attempt, text}) => row('note', time, {by: user || null, attempt, detail: text})),
      ...(job.restored ? [row('restored', null, {detail: job.restored})] : []),
      ...(job.from ? [row('dead', null, {detail: job.from})] : []),
      gone ? row('ended', clock(gone.at), {by: gone.user, detail: gone.how}) : row('now', null, {detail: job.state}),
    ];
  }

  /** Puts it back, as a new job. */
  restore(gone) {
    const {job} = gone;
    const held = job.key && [...this.jobs.values()].find((each) => each.key === job.key && each.tube === job.tube);
    if (held) throw new Refusal(409, 'conflict', `Job ${held.id} has its key by now.`, {id: String(held.id)});
    if (this.draining) throw new Refusal(503, 'draining', 'The server drains, and takes no new jobs.');
    this.ended = this.ended.filter((each) => each !== gone);
    const {id, tube, state, body, put_at, ready_at, holder, ...fields} = job;
    return this.put(tube, body, {...fields, state: state === 'reserved' ? 'ready' : state, restored: String(id)});
  }

  start_restore({tube, since_seconds = null, how = ['flushed'], match = {}}, user) {
    if (!how.length || how.some((each) => !ways_to_end.includes(each))) throw bad_request('how is wrong.');
    if (since_seconds === 0) throw bad_request('since_seconds must be more than 0.');
    const query = query_of(match);
    const found = this.kept(tube).filter((each) => how.includes(each.how) && seconds() - each.at <= (since_seconds ?? Infinity) && fits(query, this.view_ended(each))).reverse();
    const operation = {id: String(this.next_operation++), action: 'restore', tube, states: [], match: Object.keys(match).length ? match : null, to: null, user, since_seconds, how,
      confirmed: null, done: 0, state: 'running', message: '', started_at: seconds()};
    this.operations.set(operation.id, operation);
    this.in_steps(operation, found, (each) => {
      try {
        this.restore(each);
        operation.done++;
      } catch (error) {
        if (error.status !== 409) Object.assign(operation, {state: 'failed', message: error.message});
      }
    });
    return operation;
  }

  /** Does it for a few at a time, until the operation is cancelled or has failed. */
  in_steps(operation, rest, act) {
    const step = () => {
      for (const each of rest.splice(0, this.jobs_per_step)) if (operation.state === 'running') act(each);
      if (operation.state !== 'running') return;
      if (rest.length) setTimeout(step, this.step_ms);
      else operation.state = 'done';
    };
    setTimeout(step, this.step_ms);
  }

  kick(job) {
    job.kicks++;
    job.delay_seconds = job.left_seconds = 0;
    this.place(job, {state: 'ready'});
  }

  view_job(job, user) {
    const {body, put_at, ready_at, holder, said, ...rest} = job;
    const held = user?.may.admin && this.connections.get(holder);
    const lease = user && may_on(user, job.tube).manage && [...this.leases.values()].find((each) => each.job === job);
    return {...rest, may: may_on(user, job.tube), ...(held ? {held_by: {id: held.id, address: held.address, user: held.user}} : {}),
      ...(lease ? {leased_by: {lease: lease.id, address: lease.address, user: lease.user}} : {}), id: String(job.id), age_seconds: seconds() - put_at, body_bytes: body.length, notes: said.length};
  }

  view_tube(tube) {
    let oldest = Infinity;
    let urgent = 0;
    let parked = 0;
    for (const id of tube.ids.ready) {
      const {ready_at, priority, parked: is_parked} = this.jobs.get(id);
      if (is_parked) ++parked;
      oldest = Math.min(oldest, ready_at);
      if (priority < 1024) ++urgent;
    }
    return {name: tube.name, ...Object.fromEntries(states.map((state) => [state, tube.ids[state].size])), urgent, puts: tube.puts, deletes: tube.deletes,
      using: tube.using, watching: tube.watching, waiting: tube.waiting, pause_left_seconds: Math.max(0, tube.paused_until - seconds()),
      oldest_ready_seconds: oldest === Infinity ? 0 : seconds() - oldest, parked, duplicates: 0, dead: 0, expired: 0,
      put_bytes: 0, reserves: 0, releases: 0, buries: 0, kicks: 0, timeouts: 0, holds_dead: [...tube.ids.ready].some((id) => Boolean(this.jobs.get(id).from))};
  }

  view_server(user) {
    const jobs = {ready: 0, urgent: 0, reserved: 0, delayed: 0, buried: 0};
    for (const tube of this.tubes.values()) for (const state of states) jobs[state] += tube.ids[state].size;
    const parked = [...this.jobs.values()].filter((job) => job.state === 'ready' && job.parked).length;
    const held = [...this.connections.values()];
    const oldest = Math.min(...[...this.tubes.values()].flatMap((tube) => [...tube.ids.ready].map((id) => this.jobs.get(id).ready_at)));
    return {version: '1.0', instance: 'a1b2c3d4', hostname: 'q1', uptime_seconds: seconds() - this.started_at + 93784, jobs, parked, oldest_ready_seconds: oldest === Infinity ? 0 : seconds() - oldest, totals: this.totals,
      connections: {all: held.length, producers: 1, workers: held.length - 1, waiting: held.filter(({waiting}) => waiting).length},
      tubes: this.tubes.size, schedules: {all: this.schedules.size, refused: [...this.schedules.values()].filter((each) => each.refused).length}, draining: this.draining,
      store: {state: this.store_state, damaged_blocks: 0, jobs_without_body: 0, accepts_puts: this.store_state === 'ok', durability: 'commit', sync_p99_seconds: 0.0018, transitions: 123456, checkpoint_age_seconds: -1},
      limits: this.limits, cluster: this.cluster, loop_lag_seconds: 0.0004, memory_bytes: 48 * 1024 * 1024, cpu_seconds: 12.5, job_bytes_max: 65535, may: user.may, user: user.name};
  }

  view_details() {
    return {rocksdb_version: '7.8.3', openssl_version: '3.0.19', resident_bytes: 112 * 1024 * 1024, descriptors_open: 41, descriptors_max: 65536, disk_free_bytes: 80 * 2 ** 30,
      store: {log_files: 2, log_bytes_max: 64 * 1024 * 1024, batches: 4711, batch_bytes: 23456789, batch_jobs_mean: 12.4},
      cluster: this.cluster_details, certificates: this.certificates, files_in_use: this.files_in_use};
  }

  matching(tube, chosen) {
    return chosen.flatMap((state) => [...tube.ids[state]]).sort((a, b) => Number(a) - Number(b));
  }

  start_operation({action, tube: name, states: chosen, match = {}, to, confirmed}, user) {
    if (!['delete', 'kick', 'move'].includes(action)) throw bad_request('There is no such action.');
    if (!Array.isArray(chosen) || !chosen.length || chosen.some((state) => !states.includes(state))) throw bad_request('The states are wrong.');
    if (action === 'kick' && chosen.some((state) => state !== 'buried' && state !== 'delayed')) throw bad_request('Only buried and delayed jobs can be kicked.');
    const ranges = Object.entries(match);
    if (ranges.some(([end, value]) => !numbers.some((number) => end === `${number}_min` || end === `${number}_max`) || !Number.isInteger(value))) throw bad_request('match is wrong.');
    if (action === 'move' && !to) throw bad_request('There is no tube to move to.');
    const tube = this.tubes.get(name);
    if (!tube) throw not_found('tube');
    const query = query_of(match);
    const ids = this.matching(tube, chosen).filter((id) => fits(query, this.view_job(this.jobs.get(id))));
    if (ids.length - confirmed > Math.max(10, confirmed / 10)) throw new Refusal(409, 'conflict', 'The number of jobs has grown.', {count: ids.length});
    const operation = {id: String(this.next_operation++), action, tube: name, states: chosen, match: ranges.length ? match : null, to: to ?? null, user, since_seconds: null, how: null, confirmed, done: 0, state: 'running', message: '',
      started_at: seconds()};
    this.operations.set(operation.id, operation);
    this.in_steps(operation, ids, (id) => {
      const job = this.jobs.get(id);
      if (!job || job.tube !== name || !chosen.includes(job.state)) return;
      if (action === 'delete') this.remove(job, 'flushed', user);
      else if (action === 'kick') this.kick(job);
      else this.place(job, {tube: to, state: 'ready'});
      operation.done++;
    });
    return operation;
  }

  // As if each job had taken what its bucket has at most.
  view_times(counts) {
    return {counts, sum_seconds: counts.reduce((sum, each, bucket) => sum + each * (work_bounds[bucket] ?? work_bounds.at(-1)), 0)};
  }

  view_operation({started_at, ...operation}) {
    return {...operation, age_seconds: seconds() - started_at};
  }
}

// ---------------------------------------------------------------------------------------------- the server

const everyone = {name: null, may: {monitor: true, admin: true}};

export class Mock {
  queue = new Queue();
  requests = [];  // Of the API, as {method, path, body}.
  users = null;  // By token: {name, may}.
  sessions = new Map();
  node = {state: 'serving', cluster: null};  // While it does not serve, there is only this, and who asks.
  refuse = null;  // (method, path) => sentence of a 403, or nothing.
  history = null;  // (series, span) => what /history answers, or null where there is none.
  is_silent = false;  // It accepts connections and says nothing, as a process that stands still.
  streams_max = 32;
  frame_ms = 400;
  is_searching = false;  // There is one search at a time.
  search_ms = 0;  // How long a page of it takes,
  search_bodies_max = 1000;  // and at how many bodies it ends although it is not full.
  ended_jobs_max = 20_000;  // How many jobs a list of what has ended looks at.
  has_all_tubes = true;  // Whether there are not too many tubes for it.
  before_answer = async () => {};
  #streams = new Set();
  #sockets = new Set();
  #files = new Map();
  #server = createServer((request, response) => this.#handle(request, response));

  constructor(assets) {
    for (const name of readdirSync(assets)) {
      const plain = readFileSync(join(assets, name));
      this.#files.set('/' + name, {plain, gzipped: gzipSync(plain, {level: 9}), type: `${content_types[extname(name)]}; charset=utf-8`,
        etag: `"${createHash('sha256').update(plain).digest('hex').slice(0, 16)}"`, immutable: /-[0-9A-Z]+\.(js|css)$/.test(name)});
    }
    this.#server.on('connection', (socket) => {
      if (!this.#server.listening) return socket.destroy();
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  async start(port = 0) {
    await new Promise((resolve) => this.#server.listen(port, '127.0.0.1', resolve));
    this.port = this.#server.address().port;
    this.url = `http://127.0.0.1:${this.port}`;
    return this;
  }

  get streams() {
    return this.#streams.size;
  }

  async stop() {
    for (const socket of this.#sockets) socket.destroy();
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
  }

  async restart() {
    await this.start(this.port);
  }

  async #handle(request, response) {
    const url = new URL(request.url, 'http://localhost');
    try {
      this.#check_host(request);
      if (url.pathname.startsWith('/api/')) await this.#api(request, response, url);
      else this.#page(request, response, url.pathname);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#json(response, error.status, error.answer);
    }
  }

  #check_host({headers}) {
    if (![`127.0.0.1:${this.port}`, `localhost:${this.port}`].includes(headers.host)) throw new Refusal(421, 'misdirected_request', 'This server has another name.');
  }

  #check_origin({headers}) {
    const site = headers['sec-fetch-site'];
    const is_ours = site ? site === 'same-origin' : !headers.origin || headers.origin === `http://${headers.host}`;
    if (!is_ours) throw new Refusal(403, 'forbidden', 'This change comes from another site.');
  }

  #json(response, status, value, headers = {}) {
    const text = status === 204 ? '' : JSON.stringify(value);
    response.writeHead(status, {'Content-Type': 'application/json', 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff', ...headers});
    response.end(text);
  }

  #page(request, response, path) {
    if (request.method !== 'GET' && request.method !== 'HEAD') throw new Refusal(405, 'method_not_allowed', 'A page can only be read.');
    const file = this.#files.get(path) ?? ((request.headers.accept ?? '').includes('text/html') ? this.#files.get('/index.html') : null);
    if (!file) throw not_found('page');
    const headers = {'Content-Type': file.type, 'Content-Security-Policy': page_policy, 'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer',
      ETag: file.etag, Vary: 'Accept-Encoding', 'Cache-Control': file.immutable ? 'public, max-age=31536000, immutable' : 'no-cache'};
    if (request.headers['if-none-match'] === file.etag) return response.writeHead(304, headers).end();
    const is_gzipped = (request.headers['accept-encoding'] ?? '').includes('gzip');
    response.writeHead(200, is_gzipped ? {...headers, 'Content-Encoding': 'gzip'} : headers);
    response.end(is_gzipped ? file.gzipped : file.plain);
  }

  async #body(request) {
    const parts = [];
    let bytes = 0;
    for await (const part of request) {
      bytes += part.length;
      if (bytes > json_bytes_max) throw new Refusal(413, 'too_large', 'The body of this request is too large.');
      parts.push(part);
    }
    if (!bytes) return {};
    if (!(request.headers['content-type'] ?? '').startsWith('application/json')) throw new Refusal(415, 'unsupported_media_type', 'A body is JSON.');
    try {
      return JSON.parse(Buffer.concat(parts).toString());
    } catch {
      throw bad_request('The body is no JSON.');
    }
  }

  #session_id(request) {
    return /(?:^|; )perennial=([0-9a-f]+)/.exec(request.headers.cookie ?? '')?.[1];
  }

  #user(request) {
    if (!this.users) return everyone;
    return this.sessions.get(this.#session_id(request)) ?? this.users.get((request.headers.authorization ?? '').replace('Bearer ', '')) ?? null;
  }

  async #api(request, response, url) {
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const path = url.pathname.replace('/api/v1', '');
    let body = {};
    if (method !== 'GET') {
      this.#check_origin(request);
      body = await this.#body(request);
    }
    this.requests.push({method, path, body, query: url.search});
    await this.before_answer(method, path);
    if (this.is_silent) return;
    if (path === '/session') return this.#session(method, request, response, body, url.searchParams);
    const user = this.#user(request);
    if (!user) throw new Refusal(401, 'unauthorized', 'Sign in first.');
    if (path === '/node') return this.#json(response, 200, this.node);
    if (!this.#serves()) throw new Refusal(503, 'unavailable', 'This node has no jobs to ask for.');
    const refusal = this.refuse?.(method, path);
    if (refusal) throw new Refusal(403, 'forbidden', refusal);
    if (path === '/search') return this.#search(response, url.searchParams, user);
    if (path === '/events') return this.#events(request, response, url, user);
    const body_of = method === 'GET' && /^\/(jobs|ended)\/(\d+)\/body$/.exec(path);
    if (body_of) return this.#job_body(response, body_of[1] === 'jobs' ? this.queue.jobs.get(Number(body_of[2])) : this.#ended(body_of[2]).job, url.searchParams);
    const {status = 200, ...answer} = this.#route(method, this.#parts(path), url.searchParams, body, user);
    this.#json(response, status, answer.value);
  }

  #serves() {
    return this.node.state === 'serving';
  }

  #session(method, request, response, body, query) {
    if (method === 'POST') {
      const user = this.users?.get(body.token);
      if (!user) throw new Refusal(401, 'unauthorized', 'This token is not known.');
      const id = randomBytes(32).toString('hex');
      this.sessions.set(id, user);
      return this.#json(response, 200, {user: user.name}, {'Set-Cookie': `perennial=${id}; HttpOnly; SameSite=Strict; Path=/`});
    }
    if (method === 'DELETE') {
      this.sessions.delete(this.#session_id(request));
      return this.#json(response, 204, null, {'Set-Cookie': 'perennial=; Max-Age=0; HttpOnly; SameSite=Strict; Path=/'});
    }
    const user = this.#user(request);
    const may = {...user?.may ?? {monitor: false, admin: false}, inspect: user !== null && (user.inspect ?? true)};
    const answer = {users: this.users !== null, user: user?.name ?? null, may, serves: this.#serves()};
    if (query.get('with') === 'server' && answer.serves && answer.may.monitor) Object.assign(answer, {server: this.queue.view_server(user)});
    this.#json(response, 200, answer);
  }

  /** What has ended in all tubes, in groups: a page looks at `ended_jobs_max` jobs. */
  #ended_groups(query, user) {
    const [tube, how, by, since] = ['tube', 'how', 'by', 'since_seconds'].map((name) => query.get(name));
    if (tube && !may_on(user, tube).inspect) throw new Refusal(403, 'forbidden', forbidden_text('inspect', tube));
    if (how !== null && how.split(',').some((each) => !ways_to_end.includes(each))) throw bad_request('how must be some of deleted, flushed, expired.');
    const kept = new Set([...new Set(this.queue.ended.map(({job}) => job.tube))].filter((name) => may_on(user, name).inspect && (!tube || name === tube))
      .flatMap((name) => this.queue.kept(name)));
    const all = this.queue.ended.filter((each) => kept.has(each));
    const left = all.filter(({place}) => place < Number(query.get('after') ?? Infinity));
    const end_of = ({job, at}) => ({id: String(job.id), ended_at: clock(at), ended_age_seconds: Math.floor(seconds() - at)});
    const groups = [];
    let looked_at = 0;
    for (const each of left) {
      if (looked_at === this.ended_jobs_max) break;
      const is_wanted = (!how || how.split(',').includes(each.how)) && (!by || by === each.user) && seconds() - each.at <= Number(since ?? Infinity);
      const group = is_wanted && groups.findLast((one) => one.tube === each.job.tube && one.ended === each.how && one.ended_by === each.user);
      if (group && group.last_at - each.at <= 10) Object.assign(group, {jobs: group.jobs + 1, oldest: end_of(each), last_at: each.at});
      else if (is_wanted) {
        if (groups.length === Number(query.get('limit') ?? 100)) break;
        groups.push({tube: each.job.tube, ended: each.how, ended_by: each.user, jobs: 1, whole: true, newest: end_of(each), oldest: end_of(each), after: String(each.place + 1),
          may: may_on(user, each.job.tube), last_at: each.at});
      }
      ++looked_at;
    }
    // What comes on the next page may belong to what this one ends with.
    const cut_at = looked_at < left.length ? left[looked_at - 1].at : -Infinity;
    for (const group of groups) group.whole = group.last_at - cut_at > 10;
    return {tubes: new Set(all.map(({job}) => job.tube)).size, all_tubes: this.has_all_tubes, looked_at,
      next: looked_at < left.length ? String(left[looked_at - 1].place) : null, groups: groups.map(({last_at, ...group}) => group)};
  }

  #ended(id) {
    const found = this.queue.ended.find((each) => String(each.job.id) === id);
    if (!found || !this.queue.kept(found.job.tube).includes(found)) throw new Refusal(404, 'not_found', 'No job of this id that has ended is kept.');
    return found;
  }

  #job_body(response, job, query) {
    if (!job) throw not_found('job');
    const offset = Number(query.get('offset') ?? 0);
    const length = Number(query.get('length') ?? body_window_bytes);
    if (!(length >= 1 && length <= body_window_bytes)) throw bad_request('length is from 1 to 65536.');
    response.writeHead(200, {'Content-Type': 'application/octet-stream', 'Content-Disposition': 'attachment', 'Content-Security-Policy': 'sandbox',
      'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store', 'Perennial-Body-Bytes': job.body.length});
    response.end(job.body.subarray(offset, offset + length));
  }

  async #search(response, query, user) {
    const bytes = Buffer.from(query.get('q') ?? '');
    const way = query.get('path');
    const name = query.get('tube') || null;
    const chosen = (query.get('state') ?? states.join()).split(',');
    const limit = Number(query.get('limit') ?? 100);
    const after = Number(query.get('after') ?? 0);
    if (way !== null && !/^\$(\.\w+)+$/.test(way)) throw bad_request('path must be a path such as $.customer.id or $.items[*].sku.');
    if (way === null && (!bytes.length || bytes.length > 1000)) throw bad_request('q, the bytes to look for, is missing or longer than 1000.');
    if (chosen.some((state) => !states.includes(state))) throw bad_request('state must be some of ready, reserved, delayed, buried.');
    if (!(limit >= 1 && limit <= 1000)) throw bad_request('limit is from 1 to 1000.');
    if (this.is_searching) throw new Refusal(429, 'too_many_requests', 'Another search runs. Try again when it has ended.');
    this.is_searching = true;
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, this.search_ms);
      response.on('close', () => {
        clearTimeout(timer);
        resolve();
      });
    });
    this.is_searching = false;
    if (response.destroyed) return;  // Nobody waits for it any more.
    const queue = this.queue;
    const tube = queue.tubes.get(name);
    const all = name === null ? [...queue.jobs.keys()].sort((a, b) => a - b) : tube ? queue.matching(tube, states) : [];
    const ids = all.filter((id) => id > after && chosen.includes(queue.jobs.get(id).state));
    const jobs = [];
    let looked_at = 0;
    while (looked_at < ids.length && looked_at < this.search_bodies_max && jobs.length < limit) {
      const job = queue.jobs.get(ids[looked_at++]);
      if (way === null ? job.body.includes(bytes) : has_value(job.body, way, query.get('equals'))) jobs.push(queue.view_job(job, user));
    }
    this.#json(response, 200, {jobs, looked_at, next: looked_at < ids.length ? String(ids[looked_at - 1]) : null});
  }

  #frames(topics, user) {
    return topics.map((topic) => {
      if (topic === 'server') return [topic, this.queue.view_server(user)];
      if (topic === 'operations') return [topic, {operations: [...this.queue.operations.values()].map((each) => this.queue.view_operation(each))}];
      const tube = this.queue.tubes.get(topic.slice(5));
      return [topic, tube ? this.queue.view_tube(tube) : null];
    });
  }

  #events(request, response, url, user) {
    if (this.#streams.size >= this.streams_max) throw new Refusal(503, 'unavailable', 'There are too many streams.');
    const topics = url.searchParams.get('topics').split(',');
    response.writeHead(200, {'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store'});
    response.write('retry: 300\n\n');
    const send = () => {
      if (this.is_silent) return;
      for (const [topic, value] of this.#frames(topics, user)) {
        response.write(`event: ${topic}\ndata: ${JSON.stringify(value)}\n\n`);
      }
    };
    send();
    const timer = setInterval(send, this.frame_ms);
    this.#streams.add(response);
    response.on('close', () => {
      clearInterval(timer);
      this.#streams.delete(response);
    });
  }

  // A tube or a schedule named "." is "-." in a path, and ".." is "-..".
  #parts(path) {
    const parts = path.split('/').slice(1).map(decodeURIComponent);
    return (parts[0] === 'tubes' || parts[0] === 'schedules') && parts[1] ? [parts[0], parts[1].replace(/^-(?=.)/, ''), ...parts.slice(2)] : parts;
  }

  #route(method, parts, query, body, user) {
    const queue = this.queue;
    const [first, second, third, fourth, ...more] = parts;
    if (more.length) throw not_found('path');
    const is = (wanted, ...pattern) => method === wanted && pattern.length === parts.length && pattern.every((part, index) => part === null || part === parts[index]);
    const job = () => queue.jobs.get(Number(second)) ?? (() => { throw not_found('job'); })();
    const job_in = (...allowed) => {
      const found = job();
      if (!allowed.includes(found.state)) throw new Refusal(404, 'not_found', 'The job is in another state, or held by a worker.');
      return found;
    };
    const admin = () => {
      if (!user.may.admin) throw new Refusal(403, 'forbidden', forbidden_text('admin'));
    };
    const tube = () => queue.tubes.get(second) ?? (() => { throw new Refusal(404, 'not_found', 'There is no such tube.', {may: may_on(user, second)}); })();

    if (is('GET', 'server')) return {value: queue.view_server(user)};
    if (is('GET', 'server', 'details')) return {value: queue.view_details()};
    if (is('GET', 'audit')) return admin(), {value: {lines: queue.audit}};
    if (is('POST', 'reload')) return admin(), {value: {read: queue.reloads}};
    if (is('POST', 'cluster', 'handover')) {
      admin();
      if (!queue.cluster_details?.standbys) throw new Refusal(409, 'conflict', 'No standby that may lead is up to date.');
      return {status: 202, value: {asked: true}};
    }
    if (is('GET', 'work-times')) {
      return {value: {bounds_seconds: work_bounds, wait: queue.view_times(queue.waits),
        run: Object.fromEntries(run_ends.map((end) => [end, queue.view_times(queue.runs[end])]))}};
    }
    if (is('GET', 'tubes')) return {value: this.#tubes(query, user)};
    if (is('GET', 'tubes', null)) return {value: {...queue.view_tube(tube()), settings: tube().settings, may: may_on(user, second)}};
    if (is('GET', 'tubes', null, 'jobs')) return {value: this.#jobs(query, second, user)};
    if (is('GET', 'tubes', null, 'jobs', 'count')) return {value: {count: queue.tubes.has(second) ? this.#fitting(query, tube()).length : 0}};
    if (is('GET', 'failures')) {
      const of_tube = query.get('tube');
      if (of_tube && !may_on(user, of_tube).inspect) throw new Refusal(403, 'forbidden', forbidden_text('inspect', of_tube));
      return {value: queue.failures(query, user)};
    }
    if (is('POST', 'jobs', 'batch')) return {value: this.#act_on(body, user)};
    if (is('GET', 'tubes', null, 'settings')) return {value: this.#settings(second)};
    if (is('PUT', 'tubes', null, 'settings')) {
      if (!may_on(user, second).manage) throw new Refusal(403, 'forbidden', forbidden_text('manage', second));
      if (body.tries === 0) throw bad_request('tries must be a whole number from 1 to 1000000.');
      queue.set.set(second, body);
      Object.assign(queue.settings_of(second), no_settings(), Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null)));
      return {value: this.#settings(second)};
    }
    if (is('GET', 'jobs')) return {value: this.#jobs(query, null, user)};
    if (is('GET', 'jobs', null)) return {value: queue.view_job(job(), user)};
    if (is('GET', 'connections')) return {value: this.#connections(query)};
    if (first === 'schedules' || first === 'schedule-times') return this.#schedules(is, second, query, body, user);
    if (is('GET', 'leases')) return {value: this.#leases(query, user)};
    if (is('DELETE', 'leases', null)) {
      const lease = queue.leases.get(second);
      if (!lease || !may_on(user, lease.job.tube).manage) throw new Refusal(404, 'not_found', no_lease);
      if (lease.has_ended) throw new Refusal(409, 'conflict', lease_has_ended);
      return {value: {ended: true, dead: queue.end_lease(lease), state: lease.job.state}};
    }
    if (is('GET', 'configuration')) return admin(), {value: {yaml: 'data_dir: perennial-data\nlisten: [127.0.0.1]\nport: 11300\n# <script>alert(1)</script>\n'}};
    if (is('GET', 'operations')) return {value: {operations: [...queue.operations.values()].map((each) => queue.view_operation(each))}};
    if (is('GET', 'history')) return {value: this.#history(query)};
    if (is('GET', 'tubes', null, 'ended')) {
      if (!may_on(user, second).inspect) throw new Refusal(403, 'forbidden', forbidden_text('inspect', second));
      const left = queue.kept(second).filter(({place}) => place < Number(query.get('after') ?? Infinity));
      const page = left.slice(0, Number(query.get('limit') ?? 100));
      return {value: {jobs: page.map((each) => queue.view_ended(each, user)), next: page.length < left.length ? String(page.at(-1).place) : null}};
    }
    if (is('GET', 'ended')) return {value: this.#ended_groups(query, user)};
    if (is('GET', 'ended', null)) return {value: queue.view_ended(this.#ended(second), user)};
    if (is('POST', 'ended', null, 'restore')) return {value: {id: String(queue.restore(this.#ended(second)).id)}};
    if (is('GET', 'jobs', null, 'life')) {
      const live = queue.jobs.get(Number(second));
      const gone = live ? undefined : this.#ended(second);
      return {value: {id: second, life: queue.life_of(live ?? gone.job, gone)}};
    }
    if (is('GET', 'jobs', null, 'notes')) return {value: {notes: (queue.jobs.get(Number(second)) ?? this.#ended(second).job).said.slice(-3)}};
    if (is('POST', 'jobs', null, 'notes')) return queue.note(job(), body.text), {value: {noted: true}};
    if (is('POST', 'jobs')) return this.#put(body);
    if (is('DELETE', 'jobs', null)) return queue.remove(job_in('ready', 'delayed', 'buried')), {value: {deleted: true}};
    if (is('POST', 'jobs', null, 'kick')) return queue.kick(job_in('delayed', 'buried')), {value: {kicked: true}};
    if (is('POST', 'jobs', null, 'bury')) {
      const found = job_in('ready', 'delayed');
      found.buries++;
      found.priority = body.priority ?? found.priority;
      return queue.place(found, {state: 'buried'}), {value: {buried: true}};
    }
    if (is('POST', 'jobs', null, 'change')) return this.#change(job_in('ready', 'delayed', 'buried'), body);
    if (is('POST', 'tubes', null, 'pause')) return tube().paused_until = seconds() + body.seconds, {value: {paused: body.seconds > 0}};
    if (is('POST', 'tubes', null, 'kick')) {
      const from = tube().ids[tube().ids.buried.size ? 'buried' : 'delayed'];
      const ids = [...from].slice(0, body.count);
      ids.forEach((id) => queue.kick(queue.jobs.get(id)));
      return {value: {kicked: ids.length}};
    }
    if (is('POST', 'operations')) return {status: 202, value: queue.view_operation(body.action === 'restore' ? queue.start_restore(body, user.name) : queue.start_operation(body, user.name))};
    if (is('DELETE', 'operations', null)) {
      const operation = queue.operations.get(second);
      if (!operation) throw not_found('operation');
      if (operation.state === 'running') operation.state = 'cancelled';
      return {value: queue.view_operation(operation)};
    }
    if (is('DELETE', 'connections', null)) {
      admin();
      if (!queue.connections.delete(second)) throw not_found('connection');
      return {value: {closed: true}};
    }
    if (is('POST', 'drain') || is('POST', 'undrain')) return admin(), queue.draining = first === 'drain', {value: {draining: queue.draining}};
    if (is('POST', 'checkpoint')) return admin(), {value: {path: 'perennial-data/checkpoints/20260101T000000Z'}};
    if (method !== 'GET') throw new Refusal(405, 'method_not_allowed', 'This cannot be done here.');
    throw not_found('path');
  }

  #history(query) {
    const series = query.get('series') ?? 'server';
    const spans = history_spans[series === 'server' ? 'server' : 'tube'];
    const span = Number(query.get('span') ?? spans[0]);
    if (!spans.includes(span)) throw not_found('span');
    const history = this.history?.(series, span);
    if (!history) throw not_found('history');
    return {span_seconds: span, spans_seconds: spans, ...history};
  }

  #tubes(query, user) {
    const queue = this.queue;
    const match = query.get('match');
    const fits = match === null ? null : new RegExp(`^${match.split('*').map((part) => part.replace(/[\\^$.+?()[\]{}|]/g, '\\$&')).join('.*')}$`, 's');
    const key = query.get('sort') ?? 'name';
    const sign = query.get('order') === 'desc' ? -1 : 1;
    const found = [...queue.tubes.values()].filter(({name}) => !fits || fits.test(name)).map((each) => queue.view_tube(each));
    found.sort((a, b) => (a[key] < b[key] ? -sign : a[key] > b[key] ? sign : a.name < b.name ? -1 : 1));
    const offset = Number(query.get('offset') ?? 0);
    const lost = query.get('gone') === 'yes' ? queue.gone.filter((name) => !queue.tubes.has(name) && (!fits || fits.test(name))) : [];
    for (const name of lost) {
      const none = Object.fromEntries([...states, 'urgent', 'puts', 'deletes', 'using', 'watching', 'waiting', 'pause_left_seconds', 'oldest_ready_seconds', 'parked', 'duplicates', 'dead', 'expired'].map((each) => [each, 0]));
      found.push({name, ...none, gone_seconds: 300});
    }
    return {total: queue.tubes.size, matched: found.length, gone: lost.length, tubes: found.slice(offset, offset + Number(query.get('limit') ?? 100)).map((tube) => ({...tube, may: may_on(user, tube.name)}))};
  }

  #jobs(query, name, user) {
    const queue = this.queue;
    const chosen = (query.get('state') ?? states.join()).split(',');
    const limit = Number(query.get('limit') ?? 100);
    const is_newest_first = query.get('order') === 'newest';
    const after = Number(query.get('after') ?? 0);
    const note = query.get('note');
    if (name !== null && !queue.tubes.has(name)) throw not_found('tube');
    const ids = name === null ? [...queue.jobs.keys()].sort((a, b) => a - b) : queue.matching(queue.tubes.get(name), states);
    if (is_newest_first) ids.reverse();
    // As a real server does, it looks at no more than so many jobs for one page.
    const looked_at = ids.filter((id) => (is_newest_first ? !after || id < after : id > after)).slice(0, Math.max(limit, 500));
    const jobs = looked_at.map((id) => queue.jobs.get(id)).filter((job) => chosen.includes(job.state) && fits(query, queue.view_job(job)) &&
      (note === null || (queue.newest_note(job)?.line ?? '') === note)).slice(0, limit);
    const last = jobs.length === limit ? jobs.at(-1).id : looked_at.at(-1);
    return {jobs: jobs.map((job) => ({...queue.view_job(job, user), ...(query.get('with') === 'note' ? {note: queue.newest_note(job)} : {})})),
      next: last !== undefined && last !== ids.at(-1) ? String(last) : null};
  }

  #settings(name) {
    return {set: this.queue.set.get(name) ?? {}, in_force: this.queue.settings_of(name)};
  }

  /** One act on each of some jobs. */
  #act_on({action, ids, to}, user) {
    const queue = this.queue;
    if (!Array.isArray(ids) || !ids.length || ids.length > 1000) throw bad_request('ids must be a list of 1 to 1000 ids of jobs.');
    const from = {kick: ['delayed', 'buried'], delete: ['ready', 'delayed', 'buried'], bury: ['ready', 'delayed'], move: ['ready', 'delayed', 'buried']}[action];
    if (!from || (action === 'move') !== (to !== undefined)) throw bad_request('action must be kick, delete, bury or move.');
    const [done, left] = [[], []];
    for (const id of ids) {
      const job = queue.jobs.get(Number(id));
      if (!job || !from.includes(job.state) || !may_on(user, job.tube).manage) {
        left.push(id);
        continue;
      }
      done.push(id);
      if (action === 'kick') queue.kick(job);
      else if (action === 'delete') queue.remove(job, 'deleted', user.name);
      else if (action === 'bury') job.buries++, queue.place(job, {state: 'buried'});
      else queue.place(job, {tube: to});
    }
    return {done, left, problem: null};
  }

  #fitting(query, tube) {
    const chosen = (query.get('state') ?? states.join()).split(',');
    return this.queue.matching(tube, chosen).filter((id) => fits(query, this.queue.view_job(this.queue.jobs.get(id))));
  }

  #connections(query) {
    const limit = Number(query.get('limit') ?? 100);
    const after = Number(query.get('after') ?? 0);
    const all = [...this.queue.connections.values()].filter(({id}) => Number(id) > after);
    const connections = all.slice(0, limit);
    return {connections, next: all.length > limit ? connections.at(-1).id : null};
  }

  #schedules(is, name, query, body, user) {
    const all = this.queue.schedules;
    const view = ({body: text, ...schedule}) => ({...schedule, last_job_state: this.queue.jobs.get(Number(schedule.last_job))?.state ?? null});
    const row = (schedule) => {
      const {priority, delay_seconds, ttr_seconds, tries, backoff, dead, expire_seconds, key, key_seconds, key_until, concurrency, missed, overlap, jitter_seconds, ...rest} = view(schedule);
      return {...rest, may: may_on(user, rest.tube)};
    };
    if (is('GET', 'schedules')) {
      const limit = Number(query.get('limit') ?? 100);
      const tube = query.get('tube');
      const left = [...all.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
        .filter((each) => each.name > (query.get('after') ?? '') && (!tube || each.tube === tube) && may_on(user, each.tube).inspect);
      return {value: {next: left.length > limit ? left[limit - 1].name : null, schedules: left.slice(0, limit).map(row)}};
    }
    if (is('GET', 'schedule-times')) return {value: {times: schedule_times(query)}};
    const manage = (tube) => {
      if (!may_on(user, tube).manage) throw new Refusal(403, 'forbidden', forbidden_text('manage', tube));
    };
    if (is('PUT', 'schedules', null)) {
      manage(body.tube);
      if (/[^A-Za-z0-9\-+/;.$_()]/.test(name)) throw bad_request('This is no name for a schedule.');
      const {name: _, ...set} = this.queue.schedule(name, body);
      return {value: row({name, ...set})};
    }
    const schedule = all.get(name);
    if (!schedule || !(may_on(user, schedule.tube).inspect || may_on(user, schedule.tube).manage)) throw new Refusal(404, 'not_found', no_schedule);
    if (is('GET', 'schedules', null)) return {value: {...view(schedule), bytes: Buffer.byteLength(schedule.body), may: may_on(user, schedule.tube), body: schedule.body}};
    manage(schedule.tube);
    if (is('DELETE', 'schedules', null)) return all.delete(name), {value: {deleted: true}};
    if (is('POST', 'schedules', null, 'pause')) {
      schedule.paused = body.paused;
      schedule.state = body.paused ? 'paused' : 'active';
      return {value: {paused: body.paused}};
    }
    if (is('POST', 'schedules', null, 'run')) {
      if (schedule.overlap === 'skip' && this.queue.jobs.has(Number(schedule.last_job))) return {value: {id: schedule.last_job, duplicate: true}};
      schedule.last_job = String(this.queue.put(schedule.tube, schedule.body).id);
      ++schedule.fired;
      return {value: {id: schedule.last_job, duplicate: false}};
    }
    throw not_found('path');
  }

  #leases(query, user) {
    const tube = query.get('tube');
    if (tube && !may_on(user, tube).manage) throw new Refusal(403, 'forbidden', forbidden_text('manage', tube));
    const limit = Number(query.get('limit') ?? 100);
    const all = [...this.queue.leases.values()].filter(({id, job}) => Number(id) > Number(query.get('after') ?? 0) && may_on(user, job.tube).manage && (!tube || job.tube === tube));
    const leases = all.slice(0, limit).map((each) => this.queue.view_lease(each));
    return {leases, next: all.length > limit ? leases.at(-1).id : null};
  }

  #put({tube, body, body_base64, ...fields}) {
    if (!tube) throw bad_request('There is no tube.');
    if (/[^A-Za-z0-9\-+/;.$_()]/.test(tube)) throw bad_request('This is no name for a tube.');
    if (this.queue.draining) throw new Refusal(503, 'draining', 'The server drains, and takes no new jobs.');
    const held = fields.key && [...this.queue.jobs.values()].find((job) => job.key === fields.key && job.tube === tube);
    if (held) return {status: 201, value: {id: String(held.id), duplicate: true}};
    const job = this.queue.put(tube, body_base64 === undefined ? body ?? '' : Buffer.from(body_base64, 'base64'),
      {...fields, state: fields.delay_seconds ? 'delayed' : 'ready', left_seconds: fields.delay_seconds ?? 0});
    return {status: 201, value: {id: String(job.id), duplicate: false}};
  }

  #change(job, {tube, priority, delay_seconds, ttr_seconds}) {
    if ([tube, priority, delay_seconds, ttr_seconds].every((value) => value === undefined)) throw bad_request('Nothing is to be changed.');
    if (delay_seconds !== undefined && job.state === 'buried') throw not_found('job that can be delayed');
    if (priority !== undefined) job.priority = priority;
    if (ttr_seconds !== undefined) job.ttr_seconds = ttr_seconds;
    if (delay_seconds !== undefined) {
      job.delay_seconds = job.left_seconds = delay_seconds;
      this.queue.place(job, {state: delay_seconds ? 'delayed' : 'ready'});
    }
    if (tube !== undefined) this.queue.place(job, {tube});
    return {value: {changed: true}};
  }
}

/** Not those of a calendar: one each hour of a day in 2030, in a zone that is an hour ahead. */
function schedule_times(query) {
  const cron = query.get('cron');
  if (cron !== null && cron.trim().split(/\s+/).length !== 5) throw bad_request('cron: there are not 5 fields.');
  if (query.get('zone') === 'Europe/Bonn') throw bad_request("The server has no time zone 'Europe/Bonn'.");
  if (cron === null && !(Number(query.get('every_seconds')) > 0) && !query.get('at')) throw bad_request('every_seconds must be a number.');
  const hour = (index) => String(index).padStart(2, '0');
  return Array.from({length: query.get('at') ? 1 : Number(query.get('count'))}, (_, index) =>
    ({at: `2030-01-01T${hour(index)}:00:00.000Z`, local: `2030-01-01T${hour(index + 1)}:00:00.000+01:00`}));
}

/** Whether a body is JSON with this scalar there. Of paths only those of names. */
function has_value(body, path, text) {
  const read = (json) => {
    try {
      return JSON.parse(json);
    } catch {
      return undefined;
    }
  };
  return path.split('.').slice(1).reduce((value, name) => value?.[name], read(body.toString())) === (read(text) ?? text);
}

// ---------------------------------------------------------------------------------------------- a queue to look at

export function fill(queue, {tubes = 300, buried = 250, ready = 40} = {}) {
  const names = ['mail', 'images', 'billing/invoices', 'search;reindex', 'webhooks', 'reports.daily'];
  names.forEach((name, index) => {
    for (let i = 0; i < Math.max(1, ready - index * 6); ++i) queue.put(name, `{"n":${i}}`, {age_seconds: [5200, 640, 48, 12, 3, 0.4][index] - i * 0.01});
    for (let i = 0; i < 7 - index; ++i) queue.put(name, `later ${i}`, {state: 'delayed', delay_seconds: 600, left_seconds: 500 - i, age_seconds: 100});
    for (let i = 0; i < 4; ++i) queue.put(name, `now ${i}`, {state: 'reserved', holder: String(1 + i), left_seconds: 40 - i, reserves: 1, attempts: 1, age_seconds: 30, priority: 10 + i});
  });
  for (let i = 0; i < buried; ++i) {
    queue.put('mail', JSON.stringify({to: `user${i}@example.com`, order: 1, text: 'Your order has left our house.'}).replace('"order":1', `"order":1234567890123456789${i}`),
      {state: 'buried', priority: 1000 + (i % 5), reserves: 3, releases: 2, attempts: 3, tries: 3, age_seconds: 86400 + i * 61});
  }
  // Why they failed, the last ones in the last hours.
  const why = ['550 5.1.1 mailbox unavailable\nSMTPRecipientsRefused: user@example.com', 'connect ETIMEDOUT 10.2.0.25:25\n    at TCPConnectWrap.afterConnect (node:net:1611)\nError: mail server does not answer',
    'exit 3: template "order-left" has no field total'];
  [...queue.tube('mail').ids.buried].forEach((id, index) => queue.note(queue.jobs.get(id), why[index % 7 < 4 ? 0 : index % 7 < 6 ? 1 : 2], 'mailer', 240 + (index % 7) * 900 + index * 30));
  queue.note(queue.put('images', '{"image":"a.png"}', {state: 'buried', reserves: 5, attempts: 5, tries: 5, age_seconds: 5400}),
    'Traceback (most recent call last):\n  File "/app/resize.py", line 41, in resize\n    image = Image.open(path)\nPIL.UnidentifiedImageError: cannot identify image file \'a.png\'', 'resizer', 95);
  queue.note(queue.put('webhooks-dead', '{"url":"https://shop.example/hook"}', {from: 'webhooks', reserves: 8, attempts: 8, tries: 8, age_seconds: 200}), 'HTTP 503 from https://shop.example/hook', 'worker', 12);
  queue.waits = [5120, 9800, 4410, 3020, 880, 210, 97, 60, 33, 12, 40, 160, 22, 3, 1, 0, 0];
  queue.runs.deleted = [0, 120, 2200, 9100, 7420, 3300, 480, 60, 9, 0, 0, 0, 0, 0, 0, 0, 0];
  queue.runs.timeout = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 41, 3, 0, 0, 0, 0, 0];
  queue.certificates = [{listener: '0.0.0.0:11400', left_seconds: 86400 * 60}, {listener: '[::]:11401', left_seconds: 86400 * 3}, {listener: '10.0.0.5:11402', left_seconds: -5}];
  const line = {user: 'anna', action: 'flush-tube', subject: 'mail', refused: false, via: 'http', connection: '9223372036854775900', from: '10.0.0.9', left_out: 0};
  queue.audit = [{...line, age_seconds: 12}, {...line, age_seconds: 70, user: 'mailer', action: 'kick', refused: true, via: 'queue', connection: '4', left_out: 17},
    {...line, age_seconds: 4000, user: null, action: 'sign-in', subject: '', refused: true, connection: '0'}];
  ['worker', 'worker', 'resizer', null].forEach((user, index) => queue.lease(queue.put(index < 2 ? 'mail' : 'images', '{"from":"fetch"}', {tries: 4, attempts: index, age_seconds: 200}),
    {user, address: index === 3 ? '[2001:db8::25:9]:51833' : `10.0.1.${7 + index}:51820`, ago_seconds: 12 + index * 20, left_seconds: 48 - index * 9}));
  queue.gone = ['imports/2024', 'one-off'];
  const mailed = queue.put('mail', 'the bills');
  queue.schedule('nightly', {tube: 'mail', cron: '0 3 * * mon-fri', zone: 'Europe/Berlin', body: 'the bills', fired: 12, last_job: String(mailed.id), last_planned: '2026-11-27T02:00:00.000Z',
    last_fired: '2026-11-27T02:00:00.012Z', jitter_seconds: 900, tries: 3, overlap: 'skip'});
  queue.schedule('ping', {tube: 'webhooks', every_seconds: 90, body: 'ping', refused: true, refused_because: 'jobs_max', fired: 1234567, missed_times: 41, last_job: '999999'});
  queue.schedule('moved', {tube: 'reports.daily', zone: 'Asia/Rangoon', state: 'no-zone', planned: null, next: null, body: 'x'});
  queue.schedule('launch', {tube: 'mail', at: '2026-11-01T09:00:00.000Z', state: 'over', planned: null, next: null, fired: 1, last_job: '3', body: 'x'});
  queue.schedule('reports', {tube: 'reports.daily', state: 'paused', paused: true, skipped: 3, body: 'x'});
  queue.tube('images').paused_until = seconds() + 250;
  Object.assign(queue.tube('mail'), {using: 2, watching: 5, waiting: 0});
  Object.assign(queue.tube('webhooks'), {using: 1, watching: 12, waiting: 9});
  for (let i = 0; i < tubes; ++i) queue.put(`tenant-${String(i).padStart(5, '0')}`, 'x', {age_seconds: (i % 40) / 10});
  for (let i = 1; i <= 8; ++i) {
    queue.connections.set(String(i), {id: String(i), address: i === 8 ? 'unix' : `10.0.0.${i}:${40000 + i}`, user: null, used: 'default',
      watched: i % 2 ? ['mail'] : ['webhooks', 'images', 'billing/invoices'], watched_count: i % 2 ? 1 : i === 4 ? 9 : 3, held: i % 3, waiting: i % 3 === 0, output_bytes: i === 5 ? 40960 : 0});
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const mock = new Mock(process.env.CONSOLE_ASSETS);
  fill(mock.queue, {tubes: 10000});
  setInterval(() => {
    for (let i = 0; i < 20 + Math.random() * 30; ++i) mock.queue.put('webhooks', 'x');
    for (const id of [...mock.queue.tube('webhooks').ids.ready].slice(0, 20 + Math.random() * 30)) mock.queue.remove(mock.queue.jobs.get(id));
  }, 500);
  await mock.start(Number(process.argv[2] ?? 0));
  console.log(mock.url);
}
