// How long the first screen takes, in milliseconds from the moment that the browser begins to load the page. This is a measurement and no test:
// it asserts nothing, and tests/run leaves it out. Run it on an idle machine, against a server of any size:
//
//   CONSOLE_MODULES=FOLDER node first_screen.mjs http://127.0.0.1:11380 [RUNS] [--requests]
//
// The folder is the one that run.sh was given. Each way of opening the page is measured RUNS times (15):
//
//   process   a new browser, whose first page this is, while the browser still loads itself
//   context   a new context of a browser that is idle: nothing is cached, and a new process draws the page
//   again     the page once more in the same context: its files are cached
//   no page   a new context that opens /livez, which is one line of text: what the browser itself needs
//
// "painted" is the first contentful paint. "numbers" is the first frame in which the counts of jobs are seen, and "rows" the first with a row of the
// table of tubes, which a server without tubes lacks. --requests shows what one page of a new context asked for, and when.

import {createRequire} from 'node:module';
import {execFileSync} from 'node:child_process';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

const require = createRequire(join(process.env.CONSOLE_MODULES ?? dirname(fileURLToPath(import.meta.url)), 'package.json'));
const {chromium} = require('playwright-core');

const words = process.argv.slice(2);
const url = words.find((word) => word.startsWith('http'))?.replace(/\/$/, '');
if (!url) {
  console.error('first_screen.mjs URL [RUNS] [--requests]');
  process.exit(2);
}
const runs = Number(words.find((word) => /^\d+$/.test(word)) ?? 15);
const answer_ms = 10_000;

const launch = () => chromium.launch({
  executablePath: process.env.CHROMIUM ?? execFileSync('sh', ['-c', 'command -v chromium'], {encoding: 'utf8'}).trim(),
  args: process.getuid() === 0 ? ['--no-sandbox'] : [],
});

/** Notes when the numbers and the rows are seen. It runs in the page, before its scripts. */
function watch() {
  const wanted = {numbers: () => /\d/.test(document.querySelectorAll('.tile dd')[2]?.textContent ?? ''), rows: () => document.querySelector('tr[data-row]')};
  window.seen = {};
  const observer = new MutationObserver(() => {
    for (const [name, is_there] of Object.entries(wanted)) {
      if (!is_there()) continue;
      delete wanted[name];
      // The second callback begins after the frame of the first one is done.
      requestAnimationFrame(() => requestAnimationFrame(() => (window.seen[name] = performance.now())));
    }
    if (!Object.keys(wanted).length) observer.disconnect();
  });
  observer.observe(document, {childList: true, subtree: true, characterData: true});
}

async function open(context, {path = '/', idle_ms = 1000} = {}) {
  const page = await context.newPage();
  page.setDefaultTimeout(answer_ms);
  const names = path === '/' ? ['numbers', 'rows'] : [];
  if (names.length) await page.addInitScript(watch);
  // With a window the browser loads pages of its own, which have nothing to do with ours.
  await page.waitForTimeout(idle_ms);
  await page.goto(url + path, {waitUntil: 'commit'});
  await page.waitForFunction((all) => performance.getEntriesByName('first-contentful-paint').length && all.every((name) => window.seen?.[name]), names);
  const times = await page.evaluate(() => ({painted: performance.getEntriesByName('first-contentful-paint')[0].startTime, ...window.seen}));
  return {page, times};
}

async function in_new_context(browser, how) {
  const context = await browser.newContext({viewport: {width: 1280, height: 900}});
  const {times} = await open(context, how);
  await context.close();
  return times;
}

async function in_new_process() {
  const browser = await launch();
  try {
    return await in_new_context(browser, {idle_ms: 0});
  } finally {
    await browser.close();
  }
}

function line(name, all) {
  const of = (key) => {
    const values = all.map((each) => each[key]).sort((a, b) => a - b);
    if (values[0] === undefined) return ''.padEnd(22);
    return `${Math.round(values[Math.floor(values.length / 2)])} (${Math.round(values[0])}..${Math.round(values.at(-1))})`.padEnd(22);
  };
  console.log((name.padEnd(10) + of('painted') + of('numbers') + of('rows')).trimEnd());
}

const times_of = async (measure) => {
  const all = [];
  for (let run = 0; run < runs; ++run) {
    // What is left of the page before has ended.
    await new Promise((resolve) => setTimeout(resolve, 300));
    all.push(await measure());
  }
  return all;
};

if (words.includes('--requests')) {
  const browser = await launch();
  const context = await browser.newContext({viewport: {width: 1280, height: 900}});
  await open(await browser.newContext());  // The browser itself has done everything once.
  const {page, times} = await open(context);
  await page.waitForTimeout(500);
  const entries = await page.evaluate(() => performance.getEntriesByType('navigation').concat(performance.getEntriesByType('resource')).map((entry) => [
    new URL(entry.name).pathname + new URL(entry.name).search, entry.startTime, entry.requestStart, entry.responseStart, entry.responseEnd]));
  console.log('from  asked  first byte  last byte');
  for (const [name, ...at] of entries) console.log(at.map((ms) => String(Math.round(ms)).padStart(5)).join(' '), name);
  console.log(`painted ${Math.round(times.painted)}, numbers ${Math.round(times.numbers)}, rows ${Math.round(times.rows)}`);
  await browser.close();
} else {
  console.log(`${runs} runs, median (lowest..highest) in ms`);
  console.log(`${''.padEnd(10)}${'painted'.padEnd(22)}${'numbers'.padEnd(22)}rows`);
  line('process', await times_of(in_new_process));
  const browser = await launch();
  await in_new_context(browser);
  line('context', await times_of(() => in_new_context(browser)));
  const kept = await browser.newContext({viewport: {width: 1280, height: 900}});
  await open(kept);
  line('again', await times_of(async () => {
    const {page, times} = await open(kept);
    await page.close();
    return times;
  }));
  line('no page', await times_of(() => in_new_context(browser, {path: '/livez'})));
  await browser.close();
}
