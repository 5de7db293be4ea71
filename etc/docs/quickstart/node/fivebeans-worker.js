// node fivebeans-worker.js: does the jobs of the tube "mail", one after the other.
const { once } = require('events');
const { client: Fivebeans } = require('fivebeans');

// Stands for your work. It throws when it fails.
async function send(body, attempt) {
  if (attempt === 1) throw new Error('the mail server is busy');
  if (body === 'to nobody') throw new Error('nobody has that name');
}

const queue = new Fivebeans('127.0.0.1', 11300);
queue.on('close', () => process.exit(1)); // What keeps the worker running starts it again.

// Fivebeans calls back with an error, which is the word of the answer, or with values.
const ask = (command, ...values) => new Promise((resolve, reject) => {
  queue[command](...values, (error, ...answer) => (error ? reject(error) : resolve(answer)));
});

async function main() {
  queue.connect();
  await once(queue, 'connect');
  await ask('watch', 'mail');
  await ask('ignore', 'default');
  for (;;) {
    const [id, payload] = await ask('reserve');
    const [stats] = await ask('stats_job', id);
    const body = payload.toString();
    const failure = await send(body, stats.reserves).catch((error) => error);
    if (!failure) {
      await ask('destroy', id);
      console.log(`job ${id}, attempt ${stats.reserves}: sent ${body}`);
      continue;
    }
    console.log(`job ${id}, attempt ${stats.reserves}: ${failure.message}`);
    try {
      await ask('release', id, stats.pri, 0); // The tube's back-off says when it comes back.
    } catch (answer) {
      if (answer !== 'BURIED') throw new Error(answer);
      console.log(`job ${id}, no tries left`);
    }
  }
}

main();
