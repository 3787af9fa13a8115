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
