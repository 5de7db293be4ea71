// worker.mjs: does the jobs of the tube "mail".
const api = process.env.API ?? "http://127.0.0.1:11380/api/v1";
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function ask(method, path, body) {
  const headers = { "Content-Type": "application/json" };
  if (process.env.TOKEN) headers.Authorization = `Bearer ${process.env.TOKEN}`;
  const answer = await fetch(api + path, { method, headers, body: body && JSON.stringify(body) });
  if (!answer.ok) throw new Error((await answer.json()).detail);
  return answer.json();
}

// It may be called again for a job that was done already, so it must be harmless to repeat.
async function work(job, body) {
  if (body === "to nobody") throw new Error("there is no such address");
  console.log(`${job.id}: ${body}`);
}

async function finish({ lease, left_seconds, job, body }) {
  const mine = `/reservations/${lease}`;
  const touches = setInterval(() => ask("POST", `${mine}/touch`, {}).catch(() => {}), left_seconds * 300);
  const failure = await work(job, body).then(() => null, (error) => error);
  clearInterval(touches);
  if (!failure) return ask("DELETE", mine);
  await ask("POST", `${mine}/note`, { text: failure.message });
  await ask("POST", `${mine}/release`, {});
}

for (;;) {
  // Where the server is away, or the lease has ended, nothing is lost: the job comes again.
  const asked = ask("POST", "/tubes/mail/reservations?wait_seconds=20&count=10");
  const { reservations } = await asked.catch(() => pause(1000).then(() => ({ reservations: [] })));
  await Promise.all(reservations.map((each) => finish(each).catch((error) => console.error(error.message))));
}
