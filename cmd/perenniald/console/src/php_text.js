// What PHP's serialize() has written, as text. Nothing is made of it: no object, and no number, so each stays as it was written.

// Deeper ones are no body that somebody wants to read.
const levels_max = 64;
const indented_levels_max = 20;

/** @param {Uint8Array} bytes */
const string_of = (bytes) => new TextDecoder('utf-8', {ignoreBOM: true}).decode(bytes);

/** @param {number} level */
const line = (level) => '\n' + '  '.repeat(Math.min(level, indented_levels_max));

/** Finds values one after another. It throws at what serialize() does not write. */
class Reader {
  at = 0;

  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
  }

  /** @param {string} text */
  expect(text) {
    for (const character of text) if (this.bytes[this.at++] !== character.charCodeAt(0)) throw new Error('not PHP');
  }

  /** The text up to the character, which is passed. @param {string} end @param {RegExp} form */
  until(end, form) {
    const to = this.bytes.indexOf(end.charCodeAt(0), this.at);
    const text = to < 0 ? '' : string_of(this.bytes.subarray(this.at, to));
    if (!form.test(text)) throw new Error('not PHP');
    this.at = to + 1;
    return text;
  }

  /** So many bytes within these two characters. @param {string} open @param {string} close */
  counted(open, close) {
    const count = Number(this.until(':', /^\d{1,9}$/));
    this.expect(open);
    const text = string_of(this.bytes.subarray(this.at, this.at + count));
    this.at += count;
    this.expect(close);
    return text;
  }

  /** The keys and values of an array or an object. @param {number} level @param {boolean} is_object */
  members(level, is_object) {
    const count = Number(this.until(':', /^\d{1,9}$/));
    this.expect('{');
    let text = '';
    for (let member = 0; member < count; ++member) {
      const key = this.value(level + 1);
      text += `${line(level + 1)}${is_object ? property(key) : key} => ${this.value(level + 1)}`;
    }
    this.expect('}');
    return text ? `{${text}${line(level)}}` : '{}';
  }

  /** @param {number} level @returns {string} */
  value(level) {
    if (level > levels_max) throw new Error('too deep');
    const kind = String.fromCharCode(this.bytes[this.at++]);
    this.expect(kind === 'N' ? ';' : ':');
    switch (kind) {
      case 'N': return 'null';
      case 'b': return this.until(';', /^[01]$/) === '1' ? 'true' : 'false';
      case 'i': return this.until(';', /^[+-]?\d+$/);
      case 'd': return this.until(';', /^(-?INF|NAN|[+-]?[\d.]+(E[+-]?\d+)?)$/);
      case 'r': case 'R': return `the value ${this.until(';', /^\d+$/)}`;
      case 's': {
        const text = this.counted('"', '"');
        this.expect(';');
        return `"${text}"`;
      }
      case 'E': {
        const name = this.counted('"', '"');
        this.expect(';');
        return name.replace(':', '::');
      }
      case 'a': return this.members(level, false);
      case 'O': {
        const name = this.counted('"', '"');
        this.expect(':');
        return `${name} ${this.members(level, true)}`;
      }
      case 'C': {
        const name = this.counted('"', '"');
        this.expect(':');
        return `${name} {${this.counted('{', '}')}}`;
      }
      default: throw new Error('not PHP');
    }
  }
}

/** A name as serialize() writes it says who sees the property. @param {string} key */
const property = (key) => key.replace(/^"\0\*\0(.*)"$/s, '"$1" (protected)').replace(/^"\0([^\0]+)\0(.*)"$/s, '"$2" (private of $1)');

/**
 * The text of a whole body; null: it is not what serialize() writes of an array, an object or a text.
 * @param {Uint8Array} bytes
 */
export function format_php(bytes) {
  if (!/^[aOCEs]:\d/.test(string_of(bytes.subarray(0, 3)))) return null;
  try {
    const reader = new Reader(bytes);
    const text = reader.value(0);
    return reader.at === bytes.length ? text : null;
  } catch {
    return null;
  }
}
