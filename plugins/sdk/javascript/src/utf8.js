// UTF-8: the engine has no TextEncoder.

/**
 * @param {string} text
 * @returns {Uint8Array}
 */
export function encode(text) {
  // Half a character has no UTF-8, and becomes the replacement character.
  const escaped = encodeURIComponent(text.replace(/[\ud800-\udfff]/gu, "\ufffd"));
  const bytes = new Uint8Array(escaped.length);
  let length = 0;
  for (let at = 0; at < escaped.length; at += 1, length += 1) {
    const escape = escaped[at] === "%";
    bytes[length] = escape ? Number.parseInt(escaped.slice(at + 1, at + 3), 16) : escaped.charCodeAt(at);
    if (escape) at += 2;
  }
  return bytes.slice(0, length);
}

/**
 * @param {Uint8Array} bytes
 * @returns {string}
 */
export function decode(bytes) {
  let escaped = "";
  for (const byte of bytes) {
    const plain = byte < 0x80 && byte !== 0x25;
    escaped += plain ? String.fromCharCode(byte) : `%${byte.toString(16).padStart(2, "0")}`;
  }
  return decodeURIComponent(escaped);
}

/**
 * Decodes text of another program: a replacement character stands for each part that is no UTF-8.
 *
 * @param {Uint8Array} bytes
 * @returns {string}
 */
export function decodeLossy(bytes) {
  let [text, code, missing, least, most] = ["", 0, 0, 0x80, 0xbf];
  for (const byte of bytes) {
    if (missing > 0 && byte >= least && byte <= most) {
      [code, missing, least, most] = [(code << 6) | (byte & 0x3f), missing - 1, 0x80, 0xbf];
      if (missing === 0) text += String.fromCodePoint(code);
      continue;
    }
    if (missing > 0) text += "\ufffd";
    missing = 0;
    if (byte < 0x80) {
      text += String.fromCharCode(byte);
    } else if (byte >= 0xc2 && byte <= 0xf4) {
      missing = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
      code = byte & (0x3f >> missing);
      // The second byte excludes longer forms than needed, halves of characters, and numbers above those of Unicode.
      least = byte === 0xe0 ? 0xa0 : byte === 0xf0 ? 0x90 : 0x80;
      most = byte === 0xed ? 0x9f : byte === 0xf4 ? 0x8f : 0xbf;
    } else {
      text += "\ufffd";
    }
  }
  return missing > 0 ? `${text}\ufffd` : text;
}
