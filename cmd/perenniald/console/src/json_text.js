// JSON made readable as text. No value is parsed, so a number of thirty digits stays what it is. What is no JSON is found
// first (json_fault), because its white space may matter.

// Deeper levels are not indented further: 64 KiB of "[" would become gigabytes.
const indented_levels_max = 20;
const token = /"(?:[^"\\]|\\.)*"?|[{}[\],:]|[^\s{}[\],:"]+|\s+/gs;

/** @param {string} text */
export const looks_like_json = (text) => /^\s*[{[]/.test(text);

/** @param {string} text */
export function format_json(text) {
  const out = [];
  let level = 0;
  let opened = false;  // Whether the last token opened an object or an array.
  const line = () => '\n' + '  '.repeat(Math.min(level, indented_levels_max));
  for (const [part] of text.matchAll(token)) {
    if (/^\s/.test(part)) continue;
    if (part === '}' || part === ']') {
      level = Math.max(0, level - 1);
      out.push(opened ? part : line() + part);
      opened = false;
      continue;
    }
    if (opened) out.push(line());
    opened = part === '{' || part === '[';
    if (opened) ++level;
    out.push(part === ',' ? ',' + line() : part === ':' ? ': ' : part);
  }
  return out.join('');
}

const space = /[ \t\n\r]*/y;
const string = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/y;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const word = /true|false|null/y;
// What the end of the text may cut off. Tried only where nothing whole is left.
const cut_token = /^(?:-|-?(?:0|[1-9]\d*)(?:\.|(?:\.\d+)?[eE][+-]?)|t|tr|tru|f|fa|fal|fals|n|nu|nul|\\(?:u[0-9a-fA-F]{0,3})?)$/;
const cut_token_max = 1024;

/** The end of the match at this place, or -1. @param {RegExp} pattern @param {string} text @param {number} at */
function end_of(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

/**
 * Where the text stops being JSON, as an index, or null if it is JSON. The length of the text: it is the beginning of JSON.
 * It does not recurse: 64 KiB of "[" are no problem.
 * @param {string} text
 */
export function json_fault(text) {
  const open = [];
  /** @type {'value'|'value or end'|'key'|'key or end'|'colon'|'comma or end'} */
  let wanted = 'value';
  const fault_at = (/** @type {number} */ at) =>
    text.length - at <= cut_token_max && cut_token.test(text.slice(at)) ? text.length : at;
  for (let at = 0; ;) {
    at = end_of(space, text, at);
    if (!open.length && wanted === 'comma or end') return at === text.length ? null : at;
    if (at === text.length) return at;
    const c = text[at];
    const closes = wanted === 'comma or end' || wanted === 'value or end' || wanted === 'key or end';
    if (closes && c === (open[open.length - 1] === '{' ? '}' : ']')) {
      open.pop();
      wanted = 'comma or end';
      ++at;
    } else if (wanted === 'comma or end' || wanted === 'colon') {
      if (c !== (wanted === 'colon' ? ':' : ',')) return fault_at(at);
      wanted = wanted === 'comma or end' && open[open.length - 1] === '{' ? 'key' : 'value';
      ++at;
    } else if (c === '"') {
      at = end_of(string, text, at);
      if (text[at] !== '"') return fault_at(at);
      ++at;
      wanted = wanted === 'key' || wanted === 'key or end' ? 'colon' : 'comma or end';
    } else if (wanted === 'key' || wanted === 'key or end') {
      return at;
    } else if (c === '{' || c === '[') {
      open.push(c);
      wanted = c === '{' ? 'key or end' : 'value or end';
      ++at;
    } else {
      const rest = fault_at(at);
      if (rest === text.length) return rest;
      at = Math.max(end_of(number, text, at), end_of(word, text, at));
      if (at < 0) return rest;
      wanted = 'comma or end';
    }
  }
}
