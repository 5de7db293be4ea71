// node fivebeans-extensions.js: what fivebeans has no function for.
const { once } = require('events');
const { client: Fivebeans } = require('fivebeans');

const queue = new Fivebeans('127.0.0.1', 11300);

// Takes `lines` lines of the answer out of what has come, when all of them are there.
class Lines {
  constructor(lines) { this.lines = lines; }
  reset() {}
  process(data) {
    const found = data.toString('latin1').split('\r\n', this.lines + 1);
    if (found.length <= this.lines) return data;
    this.complete = this.success = true;
    this.args = [found.slice(0, this.lines).join('\n')];
    return data.subarray(Buffer.byteLength(this.args[0], 'latin1') + this.lines + 1);
  }
}

const ask = (command, body, lines = 1) => new Promise((resolve) => {
  queue.handlers.push([new Lines(lines), (error, answer) => resolve(answer)]);
  queue.stream.write(`${command}\r\n${body}\r\n`);
});

const put = (body, options) => ask(`put 1024 0 60 ${Buffer.byteLength(body)} ${options}`, body);

async function main() {
  queue.connect();
  await once(queue, 'connect');
  console.log(await put('June', 'tube:reports idp:june')); // Unique by its key.
  console.log(await put('June', 'tube:reports idp:june')); // So this one is not put: the answer names the first.
  console.log(await put('July', 'tube:reports tries:5 backoff:10:600 dead:reports-dead'));

  const items = '1024 0 60 3\r\none\r\n1024 0 60 3\r\ntwo'; // Two jobs in one step: all are put, or none.
  console.log(await ask(`put-batch 2 ${items.length} tube:reports`, items, 3));
  queue.end();
}

main();
