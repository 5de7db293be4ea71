// Bodies, names and numbers as text. No browser is needed.

import assert from 'node:assert/strict';
import {readdirSync, readFileSync, statSync} from 'node:fs';
import {test} from 'node:test';
import {decode, hex_dump} from '../../cmd/perenniald/console/src/bytes_text.js';
import {bytes, count, duration, failed_attempts, jobs, rate, seconds_of, time, visible, visible_line} from '../../cmd/perenniald/console/src/format.js';
import {added, percentile} from '../../cmd/perenniald/console/src/percentile.js';
import {format_json, json_fault, looks_like_json} from '../../cmd/perenniald/console/src/json_text.js';
import {format_php} from '../../cmd/perenniald/console/src/php_text.js';

const table = (name, of, cases) => test(name, () => {
  for (const [input, want] of cases) assert.deepEqual(of(input), want, `of ${JSON.stringify(input)}`);
});

table('A duration is written so that it is read as the same', (seconds) => [duration(seconds), seconds_of(duration(seconds))], [
  [0, ['0s', 0]],
  [0.5, ['0.5s', 0.5]],
  [90, ['1m 30s', 90]],
  [5400, ['1h 30m', 5400]],
  [604800, ['7d', 604800]],
  [90061.25, ['1d 1h 1m 1.25s', 90061.25]],
]);

table('What is typed as a time is one, or none', seconds_of, [
  ['3600.5', 3600.5],
  [' 1h30m ', 5400],
  ['1.5h', 5400],
  ['2 d', 172800],
  ['', NaN],
  ['soon', NaN],
  ['-5', NaN],
  ['1h 30', NaN],
  ['1..5s', NaN],
  ['5 min', NaN],
  ['1e3', NaN],
]);

table('JSON is indented, and no value is changed', format_json, [
  ['{}', '{}'],
  ['[]', '[]'],
  ['[ ]', '[]'],
  ['[1,2]', '[\n  1,\n  2\n]'],
  ['{"a":{"b":[]},"c":null}', '{\n  "a": {\n    "b": []\n  },\n  "c": null\n}'],
  ['[12345678901234567890, 1e400, 1.0, -0]', '[\n  12345678901234567890,\n  1e400,\n  1.0,\n  -0\n]'],
  ['{"a":1,"a":2}', '{\n  "a": 1,\n  "a": 2\n}'],
  ['["{,:}\\"]\\\\", "\\u0041"]', '[\n  "{,:}\\"]\\\\",\n  "\\u0041"\n]'],
  ['["a  b"]', '[\n  "a  b"\n]'],
  ['{"cut":[1,"of', '{\n  "cut": [\n    1,\n    "of'],
  [']]}', '\n]\n]\n}'],
  ['{"a" 1}', '{\n  "a"1\n}'],
]);

table('What PHP has serialized is indented, and no value is changed', (text) => format_php(Buffer.from(text)), [
  ['a:0:{}', '{}'],
  ['s:4:"a"b;";', '"a"b;"'],
  ['a:2:{s:2:"to";s:3:"a@b";i:0;i:12345678901234567890;}', '{\n  "to" => "a@b"\n  0 => 12345678901234567890\n}'],
  ['a:5:{i:0;N;i:1;b:1;i:2;b:0;i:3;d:0.10;i:4;d:-INF;}', '{\n  0 => null\n  1 => true\n  2 => false\n  3 => 0.10\n  4 => -INF\n}'],
  ['O:8:"App\\Send":4:{s:1:"n";i:1;s:4:"\0*\0p";i:2;s:11:"\0App\\Send\0q";a:1:{i:0;R:2;}s:1:"r";r:1;}',
    'App\\Send {\n  "n" => 1\n  "p" (protected) => 2\n  "q" (private of App\\Send) => {\n    0 => the value 2\n  }\n  "r" => the value 1\n}'],
  ['a:2:{i:0;E:11:"Suit:Hearts";i:1;C:1:"X":4:{a{}b}}', '{\n  0 => Suit::Hearts\n  1 => X {a{}b}\n}'],
  ['s:6:"漢字";', '"漢字"'],  // The count is of bytes.
  // Not whole, too much, a wrong count, a number alone, and no PHP at all.
  ...['a:1:{i:0;', 'a:0:{}x', 's:3:"ab";', 's:999999999:"ab";', 'a:2:{i:0;i:1;}', 'a:1:{i:0;x:1;}', 'a:-1:{}', 'i:5;', '', 'a:', 'a letter', 's:0x1:"a";',
    'a:1:{i:0;'.repeat(65) + 'N;' + '}'.repeat(65)].map((text) => [text, null]),
  ['a:1:{i:0;'.repeat(63) + 'N;' + '}'.repeat(63), `${Array.from({length: 63}, (_, level) => `{\n${'  '.repeat(Math.min(level + 1, 20))}0 => `).join('')}null${
    Array.from({length: 63}, (_, level) => `\n${'  '.repeat(Math.min(62 - level, 20))}}`).join('')}`],
]);

/** The same values as counts and a sum. */
const times_of = (bounds, values) => ({
  counts: Array.from({length: bounds.length + 1}, (_, bucket) => values.filter((value) => value <= (bounds[bucket] ?? Infinity) && !(value <= (bounds[bucket - 1] ?? -1))).length),
  sum_seconds: values.reduce((sum, value) => sum + value, 0),
});

// What is not known is spread evenly, within what the sum leaves.
table('Percentiles lie where their bucket and the sum allow', ([counts, sum_seconds, part]) => percentile([1, 2, 4], {counts, sum_seconds}, part), [
  [[[0, 0, 0, 0], 0, 0.5], null],
  [[[10, 0, 0, 0], 5, 0.5], {seconds: 0.5, is_longer: false}],
  [[[0, 10, 0, 0], 15, 0.5], {seconds: 1.5, is_longer: false}],
  [[[0, 10, 0, 0], 15, 1], {seconds: 2, is_longer: false}],
  [[[0, 10, 0, 0], 20, 0.5], {seconds: 2, is_longer: false}],  // All that the bucket has at most.
  [[[5, 0, 5, 0], 18, 0.5], {seconds: 1, is_longer: false}],
  [[[5, 0, 5, 0], 18, 0.9], {seconds: 3.6, is_longer: false}],
  [[[1, 0, 0, 99], 500, 0.5], {seconds: 4, is_longer: true}],
  [[[0, 0, 1, 0], 2.5, 0.5], {seconds: 2.5, is_longer: false}],  // A single value has its own, where the middle of its bucket is 3.
  [[[0, 0, 2, 0], 4.25, 0.99], {seconds: 2.25, is_longer: false}],
]);

test('No percentile is above the largest value that can have been, or below the one before', () => {
  let seed = 20260103;
  const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
  const bounds = [0.001, 0.01, 0.1, 1, 5, 30];
  for (let i = 0; i < 3000; ++i) {
    const values = Array.from({length: 1 + Math.floor(random() * 12)}, () => 30 * random() ** (1 + 8 * random())).sort((a, b) => a - b);
    const times = times_of(bounds, values);
    const all = [0.5, 0.9, 0.99].map((part) => percentile(bounds, times, part).seconds);
    const what = `of ${values}, i ${i}`;
    // The largest, if all others were as short as their buckets allow.
    const least = values.map((value) => bounds.findLast((bound) => bound < value) ?? 0);
    const most = times.sum_seconds - least.slice(0, -1).reduce((sum, value) => sum + value, 0);
    all.forEach((each) => assert.ok(each <= most + 1e-9, `${each} above ${most}, ${what}`));
    assert.ok(all[0] <= all[1] && all[1] <= all[2], `${all}, ${what}`);
    if (values.length === 1) all.forEach((each) => assert.ok(Math.abs(each - values[0]) < 1e-9, what));
    // Each is in the bucket of the value that it stands for.
    [0.5, 0.9, 0.99].forEach((part, index) => {
      const value = values[Math.ceil(values.length * part - 1e-9) - 1];
      const bucket = (of) => bounds.findIndex((bound) => of <= bound + 1e-9);
      const [from, to] = [bounds[bucket(value) - 1] ?? 0, bounds[bucket(value)]];
      assert.ok(all[index] >= from - 1e-9 && all[index] <= to + 1e-9, `p${part} ${all[index]} is not from ${from} to ${to}, ${what}`);
    });
  }
});

test('Histograms are added bucket by bucket', () => {
  assert.deepEqual(added([{counts: [1, 2], sum_seconds: 0}, {counts: [10, 0], sum_seconds: 0}]), [11, 2]);
});

test('JSON keeps every character that is no white space between values', () => {
  let seed = 20260101;
  const random = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
  const pieces = ['{', '}', '[', ']', ',', ':', '"', '\\', 'a', '1', '-', ' ', '\n', '"x"', '\\"', 'é'];
  for (let i = 0; i < 2000; ++i) {
    const text = Array.from({length: random(30)}, () => pieces[random(pieces.length)]).join('');
    const bare = (value) => value.replace(/\s/g, '');
    assert.equal(bare(format_json(text)), bare(text), `of ${JSON.stringify(text)}, i ${i}`);
  }
});

table('What is no JSON is found at its first wrong character', json_fault, [
  ['{}', null], ['[]', null], [' [ 1 , -2.5e+10 , "a\\u00e9\\n" , true, false, null ] \n', null], ['{"a":{"b":[{}]}}', null], ['0', null], ['"x"', null],
  ['[1 2   3]', 3], ['[01]', 2], ['[1,]', 3], ['{"a":1,}', 7], ['{"a" 1}', 5], ['{1:2}', 1], ['[1]]', 3], ['[}', 1], ['{"a":1]', 6], ['[tru]', 1],
  ['["a\nb"]', 3], ['["\\x"]', 2], ['[1.]', 2], ['[+1]', 1], ['[\'a\']', 1], ['[NaN]', 1], ['[1]\u00a0', 3], ['[1] x', 4],
  // Cut off: the length.
  ...['', '[', '[1', '[1,', '{"a', '{"a"', '{"a":', '{"a":1', '["a\\', '["a\\u00', '[-', '[1.', '[1e', '[1e+', '[t', '[fals', '[nul', '{"cut":[1,"of'].map((text) => [text, text.length]),
]);

test('What JSON.parse takes has no fault, and nothing else', () => {
  let seed = 20260102;
  const random = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
  const pieces = ['{', '}', '[', ']', ',', ':', '"', '\\', '1', '0', '-', '.', 'e', ' ', '\n', '"x"', '"x":', 'true', 'null', '[]', '{}', '\\u0041'];
  for (let i = 0; i < 50000; ++i) {
    const text = Array.from({length: random(8)}, () => pieces[random(pieces.length)]).join('');
    let is_json = true;
    try { JSON.parse(text); } catch { is_json = false; }
    assert.equal(json_fault(text) === null, is_json, `of ${JSON.stringify(text)}, i ${i}`);
  }
});

test('JSON of 64 KiB of brackets has a fault only at its end', () => {
  assert.equal(json_fault('['.repeat(65536)), 65536);
  assert.equal(json_fault('['.repeat(65536) + ']'.repeat(65536)), null);
});

test('JSON of 64 KiB of brackets stays small', () => {
  const text = format_json('['.repeat(65536));
  assert.ok(text.length < 65536 * 45);
});

table('JSON is what begins like it', looks_like_json, [['{"a":1}', true], [' \n[1', true], ['12', false], ['"a"', false], ['', false], ['x{', false]]);

table('Times have two units', time, [
  [0, '0 s'], [-1, '0 s'], [0.0002, '0.2 ms'], [0.25, '250 ms'], [1.54, '1.5 s'], [59.9, '59 s'], [60, '1 min'], [61, '1 min 1 s'], [3600, '1 h'], [3725, '1 h 2 min'],
  [86399, '23 h 59 min'], [90000, '1 d 1 h'], [864000000, '10,000 d'],
]);
table('Bytes', bytes, [[0, '0 B'], [1023, '1,023 B'], [1024, '1 KiB'], [1536, '1.5 KiB'], [52428800, '50 MiB'], [2 ** 43, '8 TiB']]);
table('Counts', count, [[0, '0'], [999, '999'], [48211, '48,211'], [1234567, '1,234,567'], [-1234, '-1,234'], [0.5, '0.5'], [1234.0625, '1,234.063'],
  [9007199254740991, '9,007,199,254,740,991']]);
table('Jobs', jobs, [[0, '0 jobs'], [1, '1 job'], [1000, '1,000 jobs']]);
table('Failed attempts', failed_attempts, [[{attempts: 0, tries: 5}, '0 of 5'], [{attempts: 1200, tries: 5000}, '1,200 of 5,000'], [{attempts: 3, tries: 0}, '3'],
  [{attempts: 0, tries: 0}, '–']]);
table('Rates', rate, [[0, '0'], [0.25, '0.3'], [12.34, '12.3'], [1234.5, '1,235']]);

table('What is not seen is made visible', visible, [
  ['plain\n\ttext é 漢字 👍', 'plain\n\ttext é 漢字 👍'],
  ['a\0b', 'a␀b'],
  ['\r\x1b[31m', '␍␛[31m'],
  ['\u202egpj.exe', '⟨U+202E⟩gpj.exe'],
  ['a\u200bb\ufeff\u2066\x7f\x85', 'a⟨U+200B⟩b⟨U+FEFF⟩⟨U+2066⟩⟨U+007F⟩⟨U+0085⟩'],
]);
table('A line has no breaks', visible_line, [['a\nb\tc', 'a␊b␉c']]);

test('A window that cuts a character is UTF-8 all the same', () => {
  const whole = Buffer.from('€uro 漢');
  assert.deepEqual(decode(whole), {text: '€uro 漢', is_utf8: true});
  assert.deepEqual(decode(whole.subarray(1)), {text: 'uro 漢', is_utf8: true});
  assert.deepEqual(decode(whole.subarray(0, whole.length - 1)), {text: '€uro ', is_utf8: true});
  assert.equal(decode(Buffer.from([0x61, 0xff, 0x62])).is_utf8, false);
  assert.equal(decode(Buffer.from([0xc3, 0x28])).text, '\ufffd(');
  assert.equal(decode(Buffer.from('\ufeffx')).text, '\ufeffx');
  assert.deepEqual(decode(Buffer.alloc(0)), {text: '', is_utf8: true});
});

test('Hexadecimal has 16 bytes to a line', () => {
  assert.equal(hex_dump(Buffer.from('0123456789abcdefX\0'), 65536),
    '00010000  30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  0123456789abcdef\n' +
    `00010010  58 00${' '.repeat(42)}  X·`);
  assert.equal(hex_dump(Buffer.alloc(0), 0), '');
});

test('The pictures in the documents are those of pictures.mjs, in both themes, and small', () => {
  const docs = new URL('../../etc/docs/', import.meta.url);
  const names = readdirSync(new URL('images/', docs)).sort();
  const text = readFileSync(new URL('http.md', docs), 'utf8');
  assert.deepEqual([...text.matchAll(/images\/([a-z]+-(?:light|dark)\.png)/g)].map(([, name]) => name).sort(), names);
  assert.deepEqual(names, ['ended', 'job', 'jobs', 'overview', 'search', 'tubes'].flatMap((name) => [`${name}-dark.png`, `${name}-light.png`]));
  for (const name of names) assert.ok(statSync(new URL(`images/${name}`, docs)).size <= 60 * 1024, name);
});
