// T5, T6, T7, T8 and T30 of etc/docs/security.md, as far as a browser shows them.

import assert from 'node:assert/strict';
import {readFileSync, readdirSync} from 'node:fs';
import {createServer, request} from 'node:http';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {fileURLToPath} from 'node:url';
import {gzipSync} from 'node:zlib';
import {page_policy} from './mock.mjs';
import {api, assets, eventually, is_mock, open_browser, open_server, page_test} from './support.mjs';

const console_folder = fileURLToPath(new URL('../../cmd/perenniald/console/', import.meta.url));

/** Another site, with one page. */
async function other_site(html) {
  const site = createServer((_, response) => response.writeHead(200, {'Content-Type': 'text/html'}).end(html));
  await new Promise((resolve) => site.listen(0, '127.0.0.1', resolve));
  const stop = () => {
    site.close();
    site.closeAllConnections();
  };
  after(stop);
  return {port: site.address().port, stop};
}

/** What another site can send without asking. */
const attack = (url, id) => `<!doctype html><body><script>
  const sent = [];
  const send = (path, method, type, body) => sent.push(fetch('${url}/api/v1' + path, {method, mode: 'no-cors', headers: type ? {'Content-Type': type} : {}, body}).catch(() => {}));
  send('/jobs', 'POST', 'text/plain', '{"tube":"cross","body":"x"}');
  send('/jobs', 'POST', 'application/x-www-form-urlencoded', '{"tube":"cross","body":"x"}');
  send('/jobs/${id}/kick', 'POST');
  send('/drain', 'POST', 'text/plain', '{}');
  for (const [path, method] of [['/jobs/${id}', 'DELETE'], ['/jobs', 'POST']]) {
    sent.push(fetch('${url}/api/v1' + path, {method, headers: {'Content-Type': 'application/json'}, body: method === 'POST' ? '{"tube":"cross","body":"x"}' : undefined}).catch(() => {}));
  }
  for (const path of ['/jobs/${id}/kick', '/drain', '/tubes/cross/kick', '/checkpoint', '/operations']) {
    sent.push(new Promise((resolve) => { const image = new Image(); image.onload = image.onerror = resolve; image.src = '${url}/api/v1' + path; }));
  }
  navigator.sendBeacon('${url}/api/v1/drain', new Blob(['{}'], {type: 'text/plain'}));
  Promise.all(sent).then(() => {
    const form = document.createElement('form');
    Object.assign(form, {method: 'post', enctype: 'text/plain', action: '${url}/api/v1/jobs'});
    const field = document.createElement('input');
    Object.assign(field, {name: '{"tube":"cross","body":"', value: '"}'});
    form.append(field);
    document.body.append(form);
    form.submit();
  });
</script>`;

page_test('T5 Another site changes nothing', async (page, server) => {
  const id = await server.put('cross', 'x', {state: 'buried'});
  for (const host of ['127.0.0.1', 'localhost']) {
    const site = await other_site(attack(server.url, id));
    await page.goto(`http://${host}:${site.port}/`, {waitUntil: 'commit'});
    // The form is sent last, and its answer is the page then.
    await page.waitForURL(`${server.url}/api/v1/jobs`, {waitUntil: 'commit'});
    site.stop();
  }
  page.problems.length = 0;  // The browser's own words about what it refused.
  if (is_mock) assert.ok(server.mock.requests.length > 0);
  assert.deepEqual(await server.stats_tube('cross').then(({ready, buried}) => [ready, buried]), [0, 1]);
  assert.equal((await api(server, '/server')).value.draining, false);
});

test('T5 No GET changes anything', async () => {
  const server = await open_server();
  const id = await server.put('by-get', 'x', {state: 'buried'});
  for (const path of [`/jobs/${id}/kick`, `/jobs/${id}/bury`, `/jobs/${id}/change?priority=1`, '/jobs', `/jobs/${id}`, '/tubes/by-get/pause?seconds=60', '/tubes/by-get/kick',
    '/operations?action=delete&tube=by-get&states=buried&confirmed=1', '/connections/1', '/drain', '/undrain', '/checkpoint']) {
    for (const method of ['GET', 'HEAD']) await fetch(`${server.url}/api/v1${path}`, {method});
  }
  const {value: job} = await api(server, `/jobs/${id}`);
  assert.deepEqual([job.state, job.kicks, job.priority], ['buried', 0, 1024]);
  assert.equal((await api(server, '/tubes/by-get')).value.pause_left_seconds, 0);
  assert.equal((await api(server, '/server')).value.draining, false);
  await server.stop();
});

test('T5 A change needs its own origin, and JSON', async () => {
  const server = await open_server();
  const {host} = new URL(server.url);
  const put = (headers) => fetch(`${server.url}/api/v1/jobs`, {method: 'POST', headers: {'Content-Type': 'application/json', ...headers}, body: '{"tube":"origin","body":"x"}'})
    .then((response) => response.status);
  // Node's fetch sends no Origin of its own, and may not be told a Sec-Fetch header by a page; here it may.
  assert.equal(await put({Origin: `http://${host}`}), 201);
  assert.equal(await put({Origin: 'http://evil.test'}), 403);
  assert.equal(await put({Origin: 'null'}), 403);
  assert.equal(await put({'Content-Type': 'text/plain', Origin: `http://${host}`}), 415);
  await server.stop();
});

const status_for_host = (server, host) => new Promise((resolve, reject) => {
  const {hostname, port} = new URL(server.url);
  request({hostname, port, path: '/api/v1/server', headers: {Host: host}}, (response) => resolve(response.resume().statusCode)).on('error', reject).end();
});

test('T6 Another host is misdirected', async () => {
  const server = await open_server();
  const {host, port} = new URL(server.url);
  assert.equal(await status_for_host(server, host), 200);
  for (const name of ['evil.test', `evil.test:${port}`, '[::1].evil', `127.0.0.1.evil:${port}`, 'localhost.evil.test']) {
    assert.ok([400, 421].includes(await status_for_host(server, name)), name);
  }
  await server.stop();
});

test('T6 A name that is bound to this machine reads nothing', async () => {
  const server = await open_server();
  const browser = await open_browser(['--host-resolver-rules=MAP evil.test 127.0.0.1']);
  after(() => browser.close());
  const page = await browser.newPage();
  const {port} = new URL(server.url);
  for (const path of ['/', '/api/v1/server']) {
    const response = await page.goto(`http://evil.test:${port}${path}`);
    assert.equal(response.status(), 421);
    assert.equal(await page.locator('#app').count(), 0);
  }
  await browser.close();
  await server.stop();
});

page_test('T7 A planted script does not run', async (page, server) => {
  await page.goto(server.url);
  await page.getByRole('heading', {name: 'Overview'}).waitFor();
  const outcome = await page.evaluate(() => {
    const words = [];
    const attempt = (name, act) => {
      try {
        act();
        words.push(`${name} done`);
      } catch {
        words.push(`${name} refused`);
      }
    };
    attempt('script', () => {
      const script = document.createElement('script');
      script.append(document.createTextNode('window.planted = 1'));
      document.head.append(script);
    });
    attempt('innerHTML', () => { document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.planted = 1">'); });
    attempt('handler', () => { document.body.setAttribute('onclick', 'window.planted = 1'); document.body.click(); });
    attempt('foreign', () => { document.createElement('script').src = 'http://127.0.0.1:9/x.js'; });
    return words;
  });
  assert.deepEqual(outcome.filter((word) => !/^(script|handler)/.test(word)), ['innerHTML refused', 'foreign refused']);
  assert.equal(await page.evaluate(() => window.planted), undefined);
  await eventually(() => page.problems.some((problem) => /policy: (script-src|require-trusted-types-for)/.test(problem)), true);
  await assert.rejects(page.evaluate(() => fetch('http://127.0.0.1:9/')));
  page.problems.length = 0;  // They are what this test wants.
});

page_test('T8 In a frame of another site there is nothing', async (page, server) => {
  const site = await other_site(`<!doctype html><iframe src="${server.url}/"></iframe>`);
  await page.goto(`http://127.0.0.1:${site.port}/`);
  await eventually(() => page.problems.some((problem) => /frame-ancestors/.test(problem)), true);
  const [, frame] = page.frames();
  assert.equal(await frame.locator('#app').count(), 0);
  page.problems.length = 0;
  await page.goto('about:blank');
  site.stop();
});

test('Pages have their policy, and files their lifetime', async () => {
  const server = await open_server();
  const page = await fetch(`${server.url}/tubes/mail`, {headers: {Accept: 'text/html'}});
  assert.equal(page.status, 200);
  assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
  assert.equal(page.headers.get('content-security-policy').replace(/;?\s*$/, ''), page_policy);
  assert.equal(page.headers.get('x-content-type-options'), 'nosniff');
  assert.equal(page.headers.get('cache-control'), 'no-cache');
  const text = await page.text();
  assert.doesNotMatch(text, /<script(?![^>]* src=)|<style| style=| on[a-z]+=/);
  const again = await fetch(`${server.url}/`, {headers: {Accept: 'text/html', 'If-None-Match': page.headers.get('etag')}});
  assert.equal(again.status, 304);
  const files = [...text.matchAll(/(?:src|href)="(\/[^"]+\.(?:js|css))"/g)].map(([, path]) => path);
  assert.equal(files.length, 4);
  for (const path of files) {
    const file = await fetch(server.url + path);
    assert.match(file.headers.get('cache-control'), /immutable/);
    assert.equal(file.headers.get('content-encoding'), 'gzip');
    assert.match(file.headers.get('content-type'), /^text\/(javascript|css); charset=utf-8$/);
  }
  assert.equal((await fetch(`${server.url}/app-00000000.js`)).status, 404);
  await server.stop();
});

// ---------------------------------------------------------------------------------------------- the files

const files = () => readdirSync(assets).map((name) => ({name, text: readFileSync(join(assets, name), 'utf8'), bytes: gzipSync(readFileSync(join(assets, name)), {level: 9}).length}));

/** The files that a file loads before it runs. */
const needed = ({text}) => [...text.matchAll(/(?:^|[;}])(?:import|export)(?:[^"'();]*from)?"\.\/([^"]+)"/g)].map(([, name]) => name);

test('The first load is at most 32 KB, a file of later screens at most 18 KB, and all is at most 96 KB', {skip: !assets && 'needs CONSOLE_ASSETS'}, (t) => {
  const all = files();
  const page = all.find(({name}) => name === 'index.html');
  const first = all.filter(({name}) => name === 'index.html' || page.text.includes(name));
  const sum = (some) => some.reduce((total, {bytes}) => total + bytes, 0);
  t.diagnostic(`first load ${sum(first)} bytes, all ${sum(all)} bytes`);
  assert.equal(first.length, 5);
  assert.ok(sum(first) <= 32 * 1000, `${sum(first)} bytes`);
  assert.ok(sum(all) <= 96 * 1000, `${sum(all)} bytes`);
  // The page names all that the first file needs, so that nothing of it is found out late.
  const [app] = first.filter(({name}) => name.startsWith('app-'));
  const shared = needed(app);
  assert.equal(shared.length, 1);
  assert.ok(page.text.includes(`<link rel="modulepreload" href="/${shared[0]}">`));
  assert.deepEqual(needed(first.find(({name}) => name === shared[0])), []);
  // A screen that is loaded later needs one file more.
  const later = all.filter(({name}) => /^of_/.test(name));
  assert.equal(later.length, 6);
  for (const file of later) {
    assert.deepEqual([...new Set(needed(file))], shared, file.name);
    assert.ok(file.bytes <= 18 * 1000, `${file.name}: ${file.bytes} bytes`);
  }
});

test('T30 The files run no text, and know no other site', {skip: !assets && 'needs CONSOLE_ASSETS'}, () => {
  for (const {name, text} of files().filter(({name: each}) => each !== 'licenses.txt')) {
    assert.doesNotMatch(text, /\beval\s*\(|new Function\b|\bFunction\s*\(|document\.write|importScripts|setTimeout\(\s*["'`]/, name);
    const sites = [...text.matchAll(/(?:https?:|wss?:)?\/\/[a-z0-9-]+\.[a-z0-9.-]+/gi)].map(([site]) => site).filter((site) => site !== 'http://www.w3.org');
    assert.deepEqual(sites, [], name);
  }
});

test('T30 The packages are three, pinned, and run no script', () => {
  const {dependencies, scripts} = JSON.parse(readFileSync(join(console_folder, 'package.json'), 'utf8'));
  assert.deepEqual(Object.keys(dependencies), ['htm', 'preact', 'uplot']);
  assert.equal(scripts, undefined);
  for (const version of Object.values(dependencies)) assert.match(version, /^\d+\.\d+\.\d+$/);
  const {packages} = JSON.parse(readFileSync(join(console_folder, 'package-lock.json'), 'utf8'));
  assert.deepEqual(Object.keys(packages), ['', 'node_modules/htm', 'node_modules/preact', 'node_modules/uplot']);
  for (const [name, {integrity, hasInstallScript}] of Object.entries(packages).slice(1)) {
    assert.match(integrity, /^sha512-/, name);
    assert.equal(hasInstallScript, undefined, name);
  }
});

test('T7 The sources make no markup of strings', () => {
  const sources = readdirSync(join(console_folder, 'src'), {recursive: true}).filter((name) => name.endsWith('.js'));
  assert.ok(sources.length >= 5);
  assert.ok(sources.includes('screens/job.js'));
  for (const name of sources) {
    const text = readFileSync(join(console_folder, 'src', name), 'utf8');
    assert.doesNotMatch(text, /innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|DOMParser|createContextualFragment|\bstyle="/, name);
  }
});
