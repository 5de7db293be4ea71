// node fivebeans-put.js BODY: puts a job into the tube "mail".
const { client: Fivebeans } = require('fivebeans');

const queue = new Fivebeans('127.0.0.1', 11300);
queue.on('error', (error) => { throw error; });
queue.on('connect', () => {
  queue.use('mail', (error) => {
    if (error) throw error;
    queue.put(1024, 0, 60, process.argv[2], (refused, id) => {
      if (refused) throw refused;
      console.log('job', id);
      queue.end();
    });
  });
});
queue.connect();
