// A program in TypeScript whose every request and answer has the types that openapi-typescript makes from the description that the server
// gives. It does what a producer, a worker and whoever looks after a queue do, once each, and says what it has seen.
//
// worker.ts ADDRESS

import createClient from 'openapi-fetch';
import type {components, paths} from './api.js';

type Job = components['schemas']['Job'];
declare const process: {argv: string[]};

const queue = createClient<paths>({baseUrl: process.argv[2]});

// The answer, or an error with what the server says is wrong.
function answer<T>({data, error}: {data?: T; error?: {detail?: string}}): T {
  if (data === undefined) throw new Error(error?.detail ?? 'no answer');
  return data;
}

const seen: Record<string, unknown> = {};
const tube = 'mail';

// A setting, two puts in one, and one that is sent again.
answer(await queue.PUT('/api/v1/tubes/{tube}/settings', {params: {path: {tube}}, body: {tries: 3, keep_seconds: 600}}));
const put = () => queue.POST('/api/v1/jobs', {
  params: {header: {'Idempotency-Key': 'letters-of-today'}},
  body: [{tube, body: 'a letter', priority: 10}, {tube, body: 'another', priority: 20}],
});
const first = answer(await put());
const again = answer(await put());
seen.put = [first, again];

// Work: the note and the release of one, the end of the other.
const wait = {params: {path: {tube}, query: {count: 2, wait_seconds: 5}}};
const {reservations} = answer(await queue.POST('/api/v1/tubes/{tube}/reservations', wait));
const jobs: Job[] = reservations.map(({job}) => job);
seen.bodies = reservations.map(({body}) => body);
const [done, failed] = reservations.map(({lease}) => lease);
answer(await queue.POST('/api/v1/reservations/{lease}/touch', {params: {path: {lease: done}}, body: {}}));
answer(await queue.DELETE('/api/v1/reservations/{lease}', {params: {path: {lease: done}}}));
answer(await queue.POST('/api/v1/reservations/{lease}/note', {params: {path: {lease: failed}}, body: {text: 'no such address'}}));
answer(await queue.POST('/api/v1/reservations/{lease}/bury', {params: {path: {lease: failed}}, body: {}}));
const late = await queue.DELETE('/api/v1/reservations/{lease}', {params: {path: {lease: done}}});
seen.late = late.response.status;

// Whoever looks after it: what failed, why, and back with it; and what ended, and back with that.
const failures = answer(await queue.GET('/api/v1/failures', {}));
seen.failures = failures.groups.map(({tube, line, jobs}) => [tube, line, jobs]);
answer(await queue.POST('/api/v1/jobs/{id}/kick', {params: {path: {id: jobs[1].id}}, body: {}}));
seen.kicked = answer(await queue.GET('/api/v1/jobs/{id}', {params: {path: {id: jobs[1].id}}})).state;
answer(await queue.POST('/api/v1/ended/{id}/restore', {params: {path: {id: jobs[0].id}}, body: {}}));
const listed = answer(await queue.GET('/api/v1/tubes/{tube}/jobs', {params: {path: {tube}, query: {state: 'ready', order: 'oldest'}}}));
seen.ready = listed.jobs.map(({restored, priority}) => [restored, priority]);

console.log(JSON.stringify(seen));
