// The bytes of a body as text or as hexadecimal.

import {visible} from './format.js';

/**
 * The window may begin or end within a character of UTF-8; that alone makes it no binary.
 * @param {Uint8Array} bytes
 * @returns {{text: string, is_utf8: boolean}}
 */
export function decode(bytes) {
  let start = 0;
  while (start < Math.min(3, bytes.length) && (bytes[start] & 0xc0) === 0x80) ++start;
  try {
    return {text: new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(bytes.subarray(start), {stream: true}), is_utf8: true};
  } catch {
    return {text: new TextDecoder('utf-8', {ignoreBOM: true}).decode(bytes), is_utf8: false};
  }
}

/** @param {Uint8Array} bytes @param {number} offset Of the first one in the body. */
export function hex_dump(bytes, offset) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const row = Array.from(bytes.subarray(at, at + 16));
    const hex = row.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const text = row.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '·')).join('');
    lines.push(`${(offset + at).toString(16).padStart(8, '0')}  ${hex.padEnd(47)}  ${text}`);
  }
  return lines.join('\n');
}

/** @param {Uint8Array} bytes */
export function base64(bytes) {
  let binary = '';
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(binary);
}

/** The start of a body for a table. @param {Uint8Array} bytes */
export const first_line = (bytes) => visible(decode(bytes).text).replaceAll('\n', ' ');
