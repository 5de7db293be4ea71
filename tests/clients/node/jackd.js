'use strict';
const Jackd = require('jackd');
const { run } = require('./scenario.js');

// jackd throws the word of an unexpected reply.
async function orNull(promise, ...words) {
  try {
    return await promise;
  } catch (error) {
    if (words.includes(error.message)) return null;
    throw error;
  }
}

const job = (found) => found && { id: found.id, body: found.payload.toString() };

// jackd returns the YAML as text.
function parse(yaml) {
  if (yaml === null) return null;
  const lines = yaml.split('\n').filter((line) => line.includes(': '));
  return Object.fromEntries(lines.map((line) => {
    const [key, ...value] = line.split(': ');
    return [key, value.join(': ').replace(/^"(.*)"$/, '$1')];
  }));
}

async function connect(host, port) {
  const c = new Jackd();
  await c.connect({ host, port });
  return {
    use: (tube) => c.use(tube),
    watch: (tube) => c.watch(tube),
    ignore: (tube) => c.ignore(tube),
    put: (body, { pri, delay, ttr }) => c.put(body, { priority: pri, delay, ttr }),
    reserve: async (seconds) => job(await orNull(c.reserveWithTimeout(seconds), 'TIMED_OUT')),
    reserveJob: async (id) => job(await c.reserveJob(id)),
    release: (id, priority, delay) => c.release(id, { priority, delay }),
    bury: (id, pri) => c.bury(id, pri),
    touch: (id) => c.touch(id),
    del: (id) => c.delete(id),
    kick: (n) => c.kick(n),
    kickJob: (id) => c.kickJob(id),
    peek: async (id) => job(await orNull(c.peek(id), 'NOT_FOUND')),
    peekReady: async () => job(await orNull(c.peekReady(), 'NOT_FOUND')),
    peekDelayed: async () => job(await orNull(c.peekDelayed(), 'NOT_FOUND')),
    peekBuried: async () => job(await orNull(c.peekBuried(), 'NOT_FOUND')),
    stats: async () => parse(await c.stats()),
    statsTube: async (tube) => parse(await c.statsTube(tube)),
    // jackd reports any reply but OK, also NOT_FOUND, as an "unexpected response".
    statsJob: async (id) => parse(await orNull(c.statsJob(id), 'Unexpected response: NOT_FOUND')),
    // jackd 2.2.2 sends pause-tube without its line end, so the argument includes it.
    pause: (tube, seconds) => c.pauseTube(tube, { delay: `${seconds}\r\n` }),
    close: () => c.quit(),
  };
}

run('jackd', connect, process.argv[2], Number(process.argv[3]));
