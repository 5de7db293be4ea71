// JSON made readable as text. No value is parsed, so a number of thirty digits stays what it is, and text that is cut
// off or no JSON at all is still shown whole.

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
