// T7: what a job, a tube or a client says is text, on every screen.

import assert from 'node:assert/strict';
import {visible} from '../../cmd/perenniald/console/src/format.js';
import {announced, eventually, is_mock, page_test, rows} from './support.mjs';

const markup = [
  '<script>window.hacked = 1</script>',
  '"><img src=x onerror="window.hacked = 1">',
  "'><svg onload=window.hacked=1>",
  '<iframe srcdoc="<script>parent.hacked=1</script>"></iframe>',
  'javascript:window.hacked=1',
  '${window.hacked=1}{{constructor.constructor("window.hacked=1")()}}',
  '</pre></textarea></title><script>window.hacked=1</script>',
  '{"__html":"<img src=x onerror=window.hacked=1>","dangerouslySetInnerHTML":{"__html":"x"}}',
];
const unclean = ['\u202egpj.exe', 'a\0b', '\x1b[31mred\x07', '\ufeffbom', 'zero\u200bwidth', '__proto__', 'constructor', 'undefined', 'null'];

/** Nothing of it has run, and nothing of it has become an element. */
async function is_text(page) {
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.locator('main img, main iframe, main script, main [onerror], main [onload]').count(), 0);
}

page_test('T7 Bodies are text in each view', async (page, server, t) => {
  for (const body of [...markup, unclean.join('\n')]) {
    await t.test(JSON.stringify(body), async () => {
      await page.goto(`${server.url}/jobs/${await server.put('bodies', body)}`);
      const shown = page.locator('pre.body');
      await page.getByRole('button', {name: 'Text'}).click();
      await eventually(() => shown.evaluate((element) => element.textContent), visible(body));
      assert.equal(await shown.evaluate((element) => element.childElementCount), 0);
      await page.getByRole('button', {name: 'JSON'}).click();
      await page.getByRole('button', {name: 'Hex'}).click();
      await is_text(page);
    });
  }
});

page_test('T7 What PHP has serialized is text', async (page, server) => {
  for (const text of markup) {
    const bytes = Buffer.byteLength(text);
    await page.goto(`${server.url}/jobs/${await server.put('php', `O:${bytes}:"${text}":1:{s:${bytes}:"${text}";s:${bytes}:"${text}";}`)}`);
    await eventually(() => page.locator('pre.body').evaluate((element) => element.textContent), visible(`${text} {\n  "${text}" => "${text}"\n}`));
    await is_text(page);
  }
});

page_test('T7 Bodies that are no text at all are hexadecimal', async (page, server) => {
  const id = await server.put('binary', Buffer.from([0xff, 0xfe, 0, 0xc3, 0x28, 0xed, 0xa0, 0x80]));
  await page.goto(`${server.url}/jobs/${id}`);
  await eventually(() => page.locator('pre.body').innerText().then((text) => text.slice(0, 33)), '00000000  ff fe 00 c3 28 ed a0 80');
  await page.getByRole('button', {name: 'Text'}).click();
  await page.getByText('not UTF-8').waitFor();
});

page_test('T7 Bodies that would freeze a page do not', async (page, server) => {
  for (const body of ['['.repeat(65000), '{"a":'.repeat(13000), '"'.repeat(65000), '\\'.repeat(65000), '\u202e'.repeat(21000), 'x'.repeat(65000)]) {
    await page.goto(`${server.url}/jobs/${await server.put('heavy', body)}`);
    await page.locator('pre.body').waitFor();
    assert.ok(await page.evaluate(() => document.querySelector('pre.body').textContent.length) >= 21000);
    await page.getByRole('button', {name: 'Hex'}).click();
    await page.locator('pre.body', {hasText: '00000000'}).waitFor();
  }
});

page_test('T7 First bytes in a list are text', async (page, server) => {
  for (const body of markup) await server.put('previews', body);
  await page.goto(`${server.url}/tubes/previews`);
  await page.getByLabel('Show bodies').check();
  await eventually(() => rows(page, 'Table of jobs').then((found) => found.map((cells) => cells.at(-1))), markup.map((body) => body.slice(0, 80)));
  await is_text(page);
});

page_test('T7 What is searched for, and what holds it, are text', async (page, server, t) => {
  for (const text of [...markup, '\u202egpj.exe', '\x1b[31mred\x07', '%00%ff&tube=x#y', '__proto__']) {
    await t.test(JSON.stringify(text), async () => {
      const id = await server.put('searched', `{${text}`);
      await page.goto(`${server.url}/search?tube=searched&q=${encodeURIComponent(text)}`);
      await eventually(() => rows(page, 'Table of jobs').then((found) => found.map((cells) => cells[1])), [id]);
      assert.equal(await page.locator('.found .name').textContent(), visible(text));
      assert.equal(await page.getByLabel('Text').inputValue(), text);
      await page.getByLabel('Show bodies').check();
      await eventually(() => rows(page, 'Table of jobs').then((found) => found[0].at(-1)), visible(`{${text}`.slice(0, 80)));
      await is_text(page);
    });
  }
  await page.goto(`${server.url}/search?q=x&tube=${encodeURIComponent(markup[0])}`);
  await page.getByText('0 jobs found').first().waitFor();
  await is_text(page);
});

page_test('T7 Names are text on every screen, and lead to their tube', async (page, server, t) => {
  const legal = ['a/b;c', 'x.y$z(1)_+-', '$(hacked)', '..;/..'];
  // A client of the protocol cannot make these, so the server would have to be broken, too.
  const illegal = is_mock ? [...markup.slice(0, 3), unclean[0], unclean[1], '__proto__', 'a?b#c', '%2e%2e%2f', 'tube,server'] : [];
  const names = [...legal, ...illegal];
  for (const name of names) await server.put(name, 'x', {state: 'buried'});
  await page.goto(`${server.url}/tubes?sort=name`);
  for (const name of names) {
    await t.test(JSON.stringify(name), async () => {
      const shown = visible(name);
      await page.getByRole('link', {name: shown, exact: true}).click();
      await page.locator('h1', {hasText: shown}).waitFor();
      await eventually(() => page.getByRole('link', {name: /^\s*Buried/}).locator('b').innerText(), '1');
      // Each request that names the tube means this one, and no other.
      if ([...legal, markup[0], unclean[0], 'a?b#c'].includes(name)) {
        await page.getByRole('button', {name: 'Delete all…'}).click();
        await page.getByRole('dialog').getByText(`1 job in ${shown}`).waitFor();
        await page.getByRole('dialog').getByRole('button', {name: 'Delete 1 job'}).click();
        await announced(page, `1 job deleted in ${shown}.`);
        await eventually(() => server.stats_tube(name).then(({buried}) => buried || 0), 0);
      }
      await is_text(page);
      await page.goBack();
    });
  }
  await page.goto(`${server.url}/jobs`);
  await page.locator('tr[data-row]').first().or(page.getByText('No jobs.')).waitFor();
  await is_text(page);
});

page_test('T7 A tube named like a path has an address of its own', async (page, server) => {
  for (const name of ['.', '..', '...', '../..']) {
    const id = await server.put(name, 'x', {state: 'buried'});
    await page.goto(`${server.url}/tubes?sort=name`);
    await page.getByRole('link', {name, exact: true}).click();
    await page.getByRole('heading', {name: `Tube ${name}`, exact: true}).waitFor();
    await page.getByRole('link', {name: /^\s*Buried/}).click();
    const seen = () => rows(page, 'Table of jobs').then((found) => found.map((cells) => cells[1]));
    await eventually(seen, [id]);
    await page.reload();
    await eventually(seen, [id]);
    await page.getByRole('button', {name: 'Pause…'}).click();
    await page.getByRole('dialog').getByRole('button', {name: 'Pause'}).click();
    await announced(page, 'The tube is paused.');
    await page.getByRole('button', {name: 'Resume'}).click();
    await announced(page, 'The tube is no longer paused.');
    await page.getByRole('button', {name: 'Delete all…'}).click();
    await page.getByRole('dialog').getByRole('button', {name: 'Delete 1 job'}).click();
    await announced(page, `1 job deleted in ${name}.`);
  }
});

page_test('T7 Addresses, users and refusals are text', async (page, server) => {
  const connection = {used: 'default', watched: [markup[1]], watched_count: 1, held: 0, waiting: false, output_bytes: 0};
  markup.forEach((text, index) => server.queue.connections.set(String(index + 1), {...connection, id: String(index + 1), address: text, user: text}));
  await page.goto(`${server.url}/connections`);
  await eventually(() => rows(page, 'Table of connections').then((found) => found.map((cells) => [cells[1], cells[2]])), markup.map((text) => [text, text]));
  server.mock.refuse = (method) => method !== 'GET' && markup[0];
  await page.getByRole('button', {name: 'Close connection 1'}).click();
  await page.getByRole('dialog').getByRole('button', {name: 'Close connection'}).click();
  await page.getByRole('dialog').getByText(markup[0]).waitFor();
  await is_text(page);
  server.mock.refuse = null;
  server.queue.certificates = markup.map((text) => ({listener: text, left_seconds: 1}));
  server.queue.audit = markup.map((text) => ({age_seconds: 1, user: text, action: text, subject: text, refused: false, via: 'queue', connection: '1', from: text, left_out: 0}));
  await page.goto(`${server.url}/server`);
  await eventually(() => rows(page, 'Table of the audit').then((found) => found.map((cells) => cells.slice(1, 4).concat(cells[6]))), markup.map((text) => Array(4).fill(text)));
  await is_text(page);
  const held = server.queue.put('held', 'x', {state: 'reserved', holder: '2'});
  await page.goto(`${server.url}/jobs/${held.id}`);
  await page.getByText(`connection 2 of ${markup[1]} from ${markup[1]}`).waitFor();
  await is_text(page);
  const leased = [...markup, unclean[0]].map((text) => server.queue.lease(server.queue.put('leased', 'x', {ttr_seconds: 600}), {user: text, address: text}).job.id);
  for (const path of ['/tubes/leased', '/connections']) {
    await page.goto(server.url + path);
    await eventually(() => rows(page, 'Table of leases').then((found) => found.map((cells) => cells.slice(-5, -3))), [...markup, unclean[0]].map((text) => [visible(text), visible(text)]));
    await is_text(page);
  }
  await page.goto(`${server.url}/jobs/${leased[1]}`);
  await page.getByText(`a lease over HTTP of ${markup[1]} from ${markup[1]}`).waitFor();
  await is_text(page);
}, {needs_mock: true});

page_test('T7 Addresses of pages are text', async (page, server) => {
  for (const text of markup.slice(0, 3)) {
    for (const path of [`/search?q=x&state=${encodeURIComponent(text)}`, `/tubes/${encodeURIComponent(text)}`, `/jobs/${encodeURIComponent(text)}`, `/tubes?match=${encodeURIComponent(text)}&sort=${encodeURIComponent(text)}`]) {
      await page.goto(server.url + path);
      await page.locator('h1').waitFor();
      await is_text(page);
    }
  }
});
