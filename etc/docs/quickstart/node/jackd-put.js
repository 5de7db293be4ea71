// node jackd-put.js BODY: puts a job into the tube "mail".
const Jackd = require('jackd');

async function main() {
  const queue = await new Jackd().connect({ host: '127.0.0.1', port: 11300 });
  await queue.use('mail');
  console.log('job', await queue.put(process.argv[2], { ttr: 60 }));
  await queue.quit();
}

main();
