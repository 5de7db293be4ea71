'use strict';
const { client: FiveBeans } = require('fivebeans');
const { run } = require('./scenario.js');

// fivebeans returns an unexpected reply's word as the error.
function ask(c, command, ...words) {
  return new Promise((resolve, reject) => {
    c[command](...words, (error, ...values) => {
      if (error) reject(new Error(error));
      else resolve(values);
    });
  });
}

async function orNull(promise, ...words) {
  try {
    return await promise;
  } catch (error) {
    if (words.includes(error.message)) return null;
    throw error;
  }
}

const job = (values) => values && { id: values[0], body: values[1].toString() };
const first = (values) => values && values[0];

async function connect(host, port) {
  const c = new FiveBeans(host, port);
  await new Promise((resolve, reject) => {
    c.on('connect', resolve);
    c.on('error', reject);
    c.connect();
  });
  const find = async (command, ...words) => job(await orNull(ask(c, command, ...words), 'NOT_FOUND'));
  return {
    use: (tube) => ask(c, 'use', tube),
    watch: (tube) => ask(c, 'watch', tube),
    ignore: (tube) => ask(c, 'ignore', tube),
    put: async (body, { pri, delay, ttr }) => first(await ask(c, 'put', pri, delay, ttr, body)),
    reserve: async (seconds) =>
      job(await orNull(ask(c, 'reserve_with_timeout', seconds), 'TIMED_OUT')),
    release: (id, pri, delay) => ask(c, 'release', id, pri, delay),
    bury: (id, pri) => ask(c, 'bury', id, pri),
    touch: (id) => ask(c, 'touch', id),
    del: (id) => ask(c, 'destroy', id),
    kick: async (n) => Number(first(await ask(c, 'kick', n))),
    kickJob: (id) => ask(c, 'kick_job', id),
    peek: (id) => find('peek', id),
    peekReady: () => find('peek_ready'),
    peekDelayed: () => find('peek_delayed'),
    peekBuried: () => find('peek_buried'),
    stats: async () => first(await ask(c, 'stats')),
    statsTube: async (tube) => first(await ask(c, 'stats_tube', tube)),
    statsJob: async (id) => first(await orNull(ask(c, 'stats_job', id), 'NOT_FOUND')),
    pause: (tube, seconds) => ask(c, 'pause_tube', tube, seconds),
    close: () => c.end(),
  };
}

run('fivebeans', connect, process.argv[2], Number(process.argv[3]));
