import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { HostError, http } from "informer-sdk";
import { host, interfaces } from "informer-sdk/testing";

import { decodeLossy } from "../src/utf8.js";

beforeEach(() => host.reset());

test("a request is sent and answered", () => {
  const url = "https://chat.example.com/hooks/a?b=c";
  host.answers.set(`POST ${url}`, { status: 201, headers: { "X-Heard": "calm" }, body: JSON.stringify({ ok: "späti" }) });
  const large = "x".repeat(10_000);

  const answer = http.fetch(`${url}#part`, { headers: { "X-Mood": "calm" }, body: large, timeoutMs: 5000 });

  assert.deepEqual([answer.status, answer.ok, answer.json()], [201, true, { ok: "späti" }]);
  assert.equal(answer.headers.get("x-heard"), "calm");
  assert.deepEqual(host.requests, [{ request: `POST ${url}`, body: large }]);
});

test("half a character in a request is replaced", () => {
  const url = "https://chat.example.com/";
  host.answers.set(`POST ${url}`, { body: "ok" });
  const cut = "🦀".slice(0, 1);

  const answer = http.fetch(url, { headers: { [`x-${cut}`]: cut }, body: `a${cut}` });

  assert.equal(answer.text(), "ok");
  assert.equal(host.requests[0].body, "a\ufffd");
});

test("a header of an answer that is no UTF-8 has replacement characters", () => {
  const url = "https://chat.example.com/";
  host.answers.set(`GET ${url}`, { headers: { "X-Name": new Uint8Array([0x63, 0x61, 0x66, 0xe9]) }, body: "ok" });

  const answer = http.fetch(url);

  assert.equal(answer.headers.get("x-name"), "caf\ufffd");
  assert.equal(answer.text(), "ok");
});

test("an answer that breaks off is incomplete", () => {
  const url = "https://chat.example.com/";
  host.answers.set(`GET ${url}`, { body: "the beg", breaksOff: true });

  assert.throws(() => http.fetch(url), { code: "http-response-incomplete" });
});

test("malformed UTF-8 is replaced as TextDecoder does it", () => {
  const parts = [
    [0x61, 0x25, 0x00], [0xc3, 0xa9], [0xf0, 0x9f, 0xa6, 0x80], [0xe2, 0x82], [0xff, 0x61], [0xc0, 0xaf], [0xe0, 0x80, 0x80],
    [0xed, 0xa0, 0x80], [0xf0, 0x9f, 0x61], [0xf4, 0x90, 0x80, 0x80], [0xf4, 0x8f, 0xbf, 0xbf], [0x80], [0xe2, 0xc3, 0xa9],
  ];
  for (const bytes of [...parts, parts.flat()].map((part) => new Uint8Array(part))) {
    assert.equal(decodeLossy(bytes), new TextDecoder().decode(bytes));
  }
});

test("a request without a grant is denied, and the error has no path and no password", () => {
  for (const url of ["http://other.example.com/secret", "http://me:secret@other.example.com/"]) {
    assert.throws(() => http.fetch(url), (error) => {
      assert.ok(error instanceof HostError);
      assert.equal(error.code, "http-request-denied");
      assert.match(error.message, /GET http:\/\/other\.example\.com: the host denies it/);
      return !error.message.includes("secret");
    });
  }
  for (const url of ["", "chat.example.com", "ftp://a/", "https:///a"]) {
    assert.throws(() => http.fetch(url), { code: "invalid" });
  }
});

test("a request has the length of its body once", (context) => {
  const url = "https://chat.example.com/";
  host.answers.set(`POST ${url}`, {});
  const { Fields } = interfaces["wasi:http/types@0.2.12"];
  const fromList = context.mock.method(Fields, "fromList");

  http.fetch(url, { headers: { "Content-Length": "1", "X-Mood": "calm" }, body: "späti" });

  const [fields] = fromList.mock.calls[0].arguments;
  const decoded = fields.map(([name, bytes]) => [name, new TextDecoder().decode(bytes)]);
  assert.deepEqual(decoded, [["x-mood", "calm"], ["content-length", "6"]]);
});
