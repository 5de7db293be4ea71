// node jackd-extensions.js: what jackd has no function for.
const Jackd = require('jackd');

const queue = new Jackd();

// Sends a command with a body. The answer is one line, or as many as `lines` says.
async function ask(command, body, lines = 1) {
  const answers = [];
  const read = Array(lines).fill(async (buffer) => answers.push(buffer.toString()));
  await queue.createCommandHandler(() => Buffer.from(`${command}\r\n${body}\r\n`), read)();
  return answers.join('\n');
}

const put = (body, options) => ask(`put 1024 0 60 ${Buffer.byteLength(body)} ${options}`, body);

async function main() {
  await queue.connect({ host: '127.0.0.1', port: 11300 });
  console.log(await put('June', 'tube:reports idp:june')); // Unique by its key.
  console.log(await put('June', 'tube:reports idp:june')); // So this one is not put: the answer names the first.
  console.log(await put('July', 'tube:reports tries:5 backoff:10:600 dead:reports-dead'));

  const items = '1024 0 60 3\r\none\r\n1024 0 60 3\r\ntwo'; // Two jobs in one step: all are put, or none.
  console.log(await ask(`put-batch 2 ${items.length} tube:reports`, items, 3));
  await queue.quit();
}

main();
