'use strict';
const { Client } = require('node-beanstalk');
const { run } = require('./scenario.js');

const job = (found) => found && { id: found.id, body: found.payload };

// node-beanstalk returns false or null if the server does not find the job.
async function must(promise) {
  const answer = await promise;
  if (answer === false || answer === null) throw new Error('NOT_FOUND');
  return answer;
}

async function connect(host, port) {
  const c = new Client({ host, port });
  await c.connect();
  return {
    use: (tube) => c.use(tube),
    watch: (tube) => c.watch(tube),
    ignore: (tube) => c.ignore(tube),
    put: async (body, { pri, delay, ttr }) => (await c.put(body, ttr, pri, delay)).id,
    reserve: async (seconds) => job(await c.reserveWithTimeout(seconds)),
    reserveJob: async (id) => job(await c.reserveJob(id)),
    release: (id, pri, delay) => must(c.release(id, pri, delay)),
    bury: (id, pri) => must(c.bury(id, pri)),
    touch: (id) => must(c.touch(id)),
    del: (id) => must(c.delete(id)),
    kick: (n) => c.kick(n),
    kickJob: (id) => must(c.kickJob(id)),
    peek: async (id) => job(await c.peek(id)),
    peekReady: async () => job(await c.peekReady()),
    peekDelayed: async () => job(await c.peekDelayed()),
    peekBuried: async () => job(await c.peekBuried()),
    stats: () => c.stats(),
    statsTube: (tube) => c.statsTube(tube),
    statsJob: (id) => c.statsJob(id),
    pause: (tube, seconds) => must(c.pauseTube(tube, seconds)),
    close: () => c.disconnect(),
  };
}

run('node-beanstalk', connect, process.argv[2], Number(process.argv[3]));
