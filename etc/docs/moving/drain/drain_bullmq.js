// Moves the jobs of a queue from BullMQ to Perennial: node drain_bullmq.js QUEUE TUBE. REDIS and PERENNIAL are HOST:PORT, if they
// are not on this machine.
//
// Each job is put first and removed then. Its id is its key, so it may be stopped at any moment and started again. Stop the old workers
// first: it leaves alone what one of them holds.
const net = require('net');
const readline = require('readline');
const { Queue } = require('bullmq');

const [, , name, tube] = process.argv;
const [redisHost, redisPort] = (process.env.REDIS || '127.0.0.1:6379').split(':');
const [host, port] = (process.env.PERENNIAL || '127.0.0.1:11300').split(':');
const ttr = 60; // Seconds that a worker may hold a job.

const perennial = net.connect(Number(port), host);
const answers = readline.createInterface({ input: perennial })[Symbol.asyncIterator]();

// Returns whether the job was put, and false if it was there already.
async function put(job) {
  const body = JSON.stringify({ name: job.name, data: job.data });
  const delay = job.delay ? Math.max(0, Math.ceil((job.timestamp + job.delay - Date.now()) / 1000)) : 0;
  const options = [`tube:${tube}`, `idp:${name}/${job.id}:86400`];
  if (job.opts.attempts > 1) options.push(`tries:${job.opts.attempts}`);
  if (job.opts.backoff && job.opts.backoff.delay > 0) options.push(`backoff:${job.opts.backoff.delay}ms`);
  const line = `put ${1024 + (job.opts.priority || 0)} ${delay} ${ttr} ${Buffer.byteLength(body)} ${options.join(' ')}`;
  perennial.write(`${line}\r\n${body}\r\n`);
  const answer = (await answers.next()).value || 'the server has gone';
  if (!answer.startsWith('INSERTED ')) throw new Error(`job ${job.id} is not put, and left where it was: ${answer}`);
  return answer.split(' ').length === 2;
}

async function main() {
  const queue = new Queue(name, { connection: { host: redisHost, port: Number(redisPort) } });
  let moved = 0;
  let there = 0;
  for (;;) {
    const jobs = await queue.getJobs(['waiting', 'paused', 'prioritized', 'delayed'], 0, 99, true);
    for (const job of jobs) {
      if (await put(job)) moved += 1; else there += 1;
      await job.remove();
    }
    if (jobs.length === 0) break;
  }
  console.log(`moved ${moved}; ${there} were there already`);
  await queue.close();
  perennial.end();
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
