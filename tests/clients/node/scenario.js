'use strict';
// What every client from npm is put through. An adapter gives each the same face:
//   use(tube) watch(tube) ignore(tube)
//   put(body, {pri, delay, ttr}) -> id          reserve(seconds) -> {id, body} or null
//   release(id, pri, delay) bury(id, pri) touch(id) del(id) kick(n) -> n  kickJob(id)
//   reserveJob(id) -> {id, body} (only where the client has it)
//   peek(id) peekReady() peekDelayed() peekBuried() -> {id, body} or null
//   stats() statsTube(tube) statsJob(id) -> object of numbers and strings, or null
//   pause(tube, seconds) close()
// del, touch, release, bury and kickJob throw when the server does not find the job.

const assert = require('node:assert/strict');

const ttr = 60;
const workers = 4;
const producers = 4;
const jobsPerProducer = 100;

async function run(name, connect, host, port) {
  const timer = setTimeout(() => fail(name, new Error('took longer than a minute')), 60000);
  try {
    const client = await connect(host, port);
    const tube = `tube-of-${name}`;
    await client.use(tube);
    await client.watch(tube);
    await client.ignore('default');
    for (const step of [lifeOfAJob, order, delays, buryAndKick, pauses, bodies, misses, figures]) {
      await step(client, tube);
    }
    await client.close();
    await concurrent(connect, host, port, `crowd-of-${name}`);
    clearTimeout(timer);
    console.log(`${name}: ok`);
  } catch (error) {
    fail(name, error);
  }
}

function fail(name, error) {
  console.error(`${name}: FAILED`, error);
  process.exit(1);
}

async function lifeOfAJob(client, tube) {
  const id = await client.put('first', { pri: 7, delay: 0, ttr });
  const fresh = await client.statsJob(id);
  assert.equal(fresh.state, 'ready');
  assert.equal(fresh.tube, tube);
  assert.equal(Number(fresh.pri), 7);
  assert.equal(Number(fresh.ttr), ttr);
  assert.deepEqual(await client.peek(id), { id, body: 'first' });
  assert.deepEqual(await client.peekReady(), { id, body: 'first' });
  assert.deepEqual(await client.reserve(0), { id, body: 'first' });
  assert.equal((await client.statsJob(id)).state, 'reserved');
  await client.touch(id);
  await client.release(id, 9, 0);
  const released = await client.statsJob(id);
  assert.equal(released.state, 'ready');
  assert.equal(Number(released.pri), 9);
  assert.equal(Number(released.releases), 1);
  assert.deepEqual(await client.reserve(0), { id, body: 'first' });
  await client.del(id);
  assert.equal(await client.peek(id), null);
  assert.equal(await client.reserve(0), null);
}

async function order(client) {
  const low = await client.put('low', { pri: 20, delay: 0, ttr });
  const high = await client.put('high', { pri: 10, delay: 0, ttr });
  const later = await client.put('later', { pri: 10, delay: 0, ttr });
  for (const id of [high, later, low]) {
    assert.equal((await client.reserve(0)).id, id);
    await client.del(id);
  }
}

async function delays(client) {
  const begun = Date.now();
  const id = await client.put('in a second', { pri: 0, delay: 1, ttr });
  assert.equal((await client.statsJob(id)).state, 'delayed');
  assert.equal((await client.peekDelayed()).id, id);
  assert.equal(await client.reserve(0), null);
  assert.equal((await client.reserve(5)).id, id);
  assert.ok(Date.now() - begun > 900, 'a delay ended early');
  await client.release(id, 0, 1000);
  assert.equal((await client.statsJob(id)).state, 'delayed');
  await client.kickJob(id);
  assert.equal((await client.reserve(0)).id, id);
  await client.del(id);
}

async function buryAndKick(client) {
  const ids = [];
  for (const body of ['one', 'two', 'three']) {
    ids.push(await client.put(body, { pri: 5, delay: 0, ttr }));
    assert.equal((await client.reserve(0)).id, ids.at(-1));
    await client.bury(ids.at(-1), 6);
  }
  assert.deepEqual(await client.peekBuried(), { id: ids[0], body: 'one' });
  assert.equal(await client.peekReady(), null);
  assert.equal(await client.kick(2), 2);
  await client.kickJob(ids[2]);
  const kicked = await client.statsJob(ids[2]);
  assert.equal(kicked.state, 'ready');
  assert.equal(Number(kicked.kicks), 1);
  assert.equal(Number(kicked.buries), 1);
  if (client.reserveJob) {
    assert.deepEqual(await client.reserveJob(ids[1]), { id: ids[1], body: 'two' });
  }
  for (const id of ids) await client.del(id);
}

async function pauses(client, tube) {
  const id = await client.put('paused', { pri: 0, delay: 0, ttr });
  await client.pause(tube, 1);
  const begun = Date.now();
  assert.equal(await client.reserve(0), null);
  assert.equal(Number((await client.statsTube(tube)).pause), 1);
  assert.equal((await client.reserve(5)).id, id);
  assert.ok(Date.now() - begun > 800, 'a pause ended early');
  await client.del(id);
}

async function bodies(client) {
  for (const body of ['\r\n', 'a\r\nRESERVED 1 2\r\n', 'ünïcödé \u0000 zero', 'x'.repeat(60000)]) {
    const id = await client.put(body, { pri: 0, delay: 0, ttr });
    assert.deepEqual(await client.reserve(1), { id, body });
    await client.del(id);
  }
}

async function misses(client) {
  const id = await client.put('gone', { pri: 0, delay: 0, ttr });
  await client.del(id);
  for (const word of ['del', 'touch', 'kickJob']) {
    await assert.rejects(async () => client[word](id), `${word} of a deleted job`);
  }
  await assert.rejects(async () => client.bury(id, 0), 'bury of a deleted job');
  await assert.rejects(async () => client.release(id, 0, 0), 'release of a deleted job');
  assert.equal(await client.statsJob(id), null);
}

async function figures(client, tube) {
  const all = await client.stats();
  for (const key of ['current-jobs-ready', 'cmd-put', 'total-jobs', 'pid', 'uptime', 'version']) {
    assert.ok(key in all, `stats has no ${key}`);
  }
  assert.ok(Number(all['cmd-put']) >= 10);
  const own = await client.statsTube(tube);
  assert.equal(own.name, tube);
  for (const state of ['ready', 'reserved', 'delayed', 'buried']) {
    assert.equal(Number(own[`current-jobs-${state}`]), 0, `${state} jobs are left`);
  }
  assert.equal(Number(own['current-using']), 1);
  assert.equal(Number(own['current-watching']), 1);
}

// Several producers and workers at once: each job is done exactly once.
async function concurrent(connect, host, port, tube) {
  const done = [];
  const produce = async (producer) => {
    const client = await connect(host, port);
    await client.use(tube);
    for (let n = 0; n < jobsPerProducer; n++) {
      await client.put(`${producer}/${n}/${'.'.repeat(n * 10)}`, { pri: n, delay: 0, ttr });
    }
    await client.close();
  };
  const work = async () => {
    const client = await connect(host, port);
    await client.watch(tube);
    await client.ignore('default');
    for (let job = await client.reserve(1); job !== null; job = await client.reserve(1)) {
      done.push(job.body.split('/', 2).join('/'));
      await client.del(job.id);
    }
    await client.close();
  };
  const everyone = [];
  for (let n = 0; n < producers; n++) everyone.push(produce(n));
  for (let n = 0; n < workers; n++) everyone.push(work());
  await Promise.all(everyone);
  assert.equal(done.length, producers * jobsPerProducer);
  assert.equal(new Set(done).size, done.length, 'a job was done twice');
}

module.exports = { run };
