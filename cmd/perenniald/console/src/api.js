// Requests to the server. Every refusal becomes an ApiError with a sentence for people.

import {tube_part} from './router.js';

/** @typedef {import('./types.js').Job} Job */

export class ApiError extends Error {
  /**
   * @param {number} status 0: no answer.
   * @param {string} message
   * @param {{count?: number, may?: import('./types.js').TubeMay}} [more] What a 409 says: the number of jobs now. What a 404 of a tube says: what may be
   *   done with it.
   */
  constructor(status, message, {count, may} = {}) {
    super(message);
    this.status = status;
    this.job_count = count;
    this.may = may;
  }
}

/** @type {() => void} */
let on_other_session = () => {};
/** Called when the server may no longer know who asks, or no longer serve. @param {() => void} callback */
export const set_on_other_session = (callback) => (on_other_session = callback);

/**
 * @param {string} method
 * @param {string} path
 * @param {object} [body]
 * @param {AbortSignal} [signal]
 * @returns {Promise<Response>}
 */
async function send(method, path, body, signal) {
  /** @type {RequestInit} */
  const request = {method, signal, headers: {Accept: 'application/json'}};
  if (body !== undefined) {
    request.headers['Content-Type'] = 'application/json';
    request.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(`/api/v1${path}`, request);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, 'The server does not answer.');
  }
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  if ((response.status === 401 || response.status === 503) && !path.startsWith('/session')) on_other_session();
  throw new ApiError(response.status, problem.detail || `The server answers with status ${response.status}.`, problem);
}

/** @param {Response} response */
async function json_of(response) {
  try {
    return await response.json();
  } catch {
    throw new ApiError(0, 'The answer of the server is incomplete.');
  }
}

/** @param {string} path @param {AbortSignal} [signal] */
export const get = async (path, signal) => json_of(await send('GET', path, undefined, signal));

/** @param {string} path @param {object} [body] */
export const post = async (path, body = {}) => json_of(await send('POST', path, body));

/** @param {string} path @param {object} body */
export const put = async (path, body) => json_of(await send('PUT', path, body));

/** @param {string} path */
export async function remove(path) {
  const response = await send('DELETE', path);
  return response.status === 204 ? null : json_of(response);
}

/** @param {Record<string, string|number|undefined|null>} values */
export function query(values) {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== '');
  return entries.length ? '?' + entries.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join('&') : '';
}

/** @param {string} name @param {string} [rest] */
export const tube_path = (name, rest = '') => `/tubes/${tube_part(name)}${rest}`;

export const body_window_bytes = 65536;

/**
 * At most 64 KiB of a body.
 * @param {string} id
 * @param {number} offset
 * @param {number} length
 * @param {AbortSignal} [signal]
 * @param {'jobs'|'ended'} [place] Where the job is.
 * @returns {Promise<{bytes: Uint8Array<ArrayBuffer>, total: number}>}
 */
export async function get_body_window(id, offset, length, signal, place = 'jobs') {
  const response = await send('GET', `/${place}/${encodeURIComponent(id)}/body${query({offset, length})}`, undefined, signal);
  const bytes = new Uint8Array(await response.arrayBuffer());
  return {bytes, total: Number(response.headers.get('Perennial-Body-Bytes') ?? bytes.length)};
}

/** @param {Job} job @returns {Promise<Uint8Array<ArrayBuffer>>} */
export async function get_body(job) {
  const parts = [];
  let total = job.body_bytes;
  for (let offset = 0; offset < total;) {
    const window = await get_body_window(job.id, offset, body_window_bytes);
    total = window.total;
    if (!window.bytes.length) throw new ApiError(0, 'The body ended before its size was reached.');
    parts.push(window.bytes);
    offset += window.bytes.length;
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}
