// node jackd-worker.js: does the jobs of the tube "mail", one after the other.
const Jackd = require('jackd');

// Stands for your work. It throws when it fails.
async function send(body, attempt) {
  if (attempt === 1) throw new Error('the mail server is busy');
  if (body === 'to nobody') throw new Error('nobody has that name');
}

async function main() {
  const queue = await new Jackd().connect({ host: '127.0.0.1', port: 11300 });
  queue.socket.on('close', () => process.exit(1)); // What keeps the worker running starts it again.
  await queue.watch('mail');
  await queue.ignore('default');
  for (;;) {
    const job = await queue.reserve();
    const body = job.payload.toString();
    const attempt = Number(/^reserves: (\d+)/m.exec(await queue.statsJob(job.id))[1]);
    const failure = await send(body, attempt).catch((error) => error);
    if (!failure) {
      await queue.delete(job.id);
      console.log(`job ${job.id}, attempt ${attempt}: sent ${body}`);
      continue;
    }
    console.log(`job ${job.id}, attempt ${attempt}: ${failure.message}`);
    try {
      await queue.release(job.id); // The tube's back-off says when it comes back.
    } catch (error) {
      if (error.message !== 'BURIED') throw error;
      console.log(`job ${job.id}, no tries left`);
    }
  }
}

main();
