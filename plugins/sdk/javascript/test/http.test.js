import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { HostError, http } from "informer-sdk";
import { host } from "informer-sdk/testing";

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

test("a request without a grant is denied, and the error has no path", () => {
  assert.throws(() => http.fetch("http://other.example.com/secret"), (error) => {
    assert.ok(error instanceof HostError);
    assert.equal(error.code, "http-request-denied");
    assert.match(error.message, /GET http:\/\/other\.example\.com: the host denies it/);
    return !error.message.includes("secret");
  });
  for (const url of ["", "chat.example.com", "ftp://a/", "https:///a"]) {
    assert.throws(() => http.fetch(url), { code: "invalid" });
  }
});
