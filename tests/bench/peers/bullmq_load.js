// node bullmq_load.js fill|add|work SETTINGS: whole jobs of BullMQ. SETTINGS is JSON.
//
// `fill` puts as many jobs as may wait, so that producers do not do so at the cost of the workers. `add` puts jobs until
// it is killed. `work` takes them, counts what is completed after half a second of warm-up, and prints the rate. Each
// ends by itself some time after it should have been ended.
'use strict';
const { Queue, Worker } = require('bullmq');

const settings = JSON.parse(process.argv[3]);
const connection = { host: '127.0.0.1', port: settings.port };
const queueName = 'mail';
const warmUpMs = 500;
const patienceMs = 30000;
const addsBetweenLooks = 100;

const options = { removeOnComplete: true, removeOnFail: true };

async function fill() {
  const queue = new Queue(queueName, { connection });
  const jobs = Array.from({ length: settings.aheadMax }, () => ({ name: 'letter', data: { body: settings.body }, opts: options }));
  await queue.addBulk(jobs);
  process.exit(0);
}

async function add() {
  const queue = new Queue(queueName, { connection });
  let added = 0;
  let waiting = 0;
  const produce = async () => {
    for (;;) {
      if (waiting >= settings.aheadMax) await new Promise((resolve) => setTimeout(resolve, 5));
      else await queue.add('letter', { body: settings.body }, options);
      if (waiting >= settings.aheadMax || ++added % addsBetweenLooks === 0) waiting = await queue.getWaitingCount();
    }
  };
  await Promise.all(Array.from({ length: settings.producers }, produce));
}

async function work() {
  let completed = 0;
  const worker = new Worker(queueName, async () => {}, { connection, concurrency: settings.workers });
  worker.on('completed', () => { ++completed; });
  worker.on('failed', (job, error) => fail(error));
  await new Promise((resolve) => worker.once('completed', resolve));
  await new Promise((resolve) => setTimeout(resolve, warmUpMs));
  const [completedBefore, begun] = [completed, process.hrtime.bigint()];
  await new Promise((resolve) => setTimeout(resolve, settings.seconds * 1000));
  const seconds = Number(process.hrtime.bigint() - begun) / 1e9;
  console.log(JSON.stringify({ per_second: (completed - completedBefore) / seconds }));
  process.exit(0);
}

function fail(error) {
  console.error(error);
  process.exit(1);
}

setTimeout(() => fail(new Error('no end within the time')), settings.seconds * 1000 + patienceMs);
({ fill, add, work })[process.argv[2]]().catch(fail);
