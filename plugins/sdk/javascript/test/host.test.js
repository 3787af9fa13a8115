import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import {
  ApiError, client, config, definePlugin, delivery, finalize, formatKey, keyOf, keyvalue, lister, log, metrics, ownerReference, parseKey, setOwner, workqueue,
} from "informer-sdk";
import { api, host } from "informer-sdk/testing";

import { console } from "../src/log.js";

const PODS = "v1/pods";

beforeEach(() => host.reset());

function pod(name, namespace = "shop") {
  return { apiVersion: "v1", kind: "Pod", metadata: { namespace, name, labels: { app: name } }, spec: { name } };
}

test("a list is read page by page, and only as far as it is used", () => {
  for (const name of ["a", "b", "c", "d", "e"]) host.put(PODS, pod(name));
  host.put(PODS, pod("x", "zoo"));

  const names = [...lister.listMeta(PODS, { namespace: "shop", pageSize: 2 })].map(({ name }) => name);
  assert.deepEqual(names, ["a", "b", "c", "d", "e"]);
  assert.equal(host.calls.length, 3);
  for (const { spec } of lister.list(PODS, { pageSize: 2 })) {
    if (spec.name === "b") break;
  }
  assert.equal(host.calls.length, 4);
  const fields = [...lister.listFields(PODS, ["/spec/name", "/none"], { labels: "app=c" })];
  assert.deepEqual(fields, [{ key: { namespace: "shop", name: "c" }, values: ["c", undefined] }]);
  assert.deepEqual([...client.list(PODS, { pageSize: 4 })].map(formatKey).at(-1), "zoo/x");
});

test("a read of what is not there is undefined", () => {
  assert.equal(lister.get(PODS, "shop/none"), undefined);
  assert.equal(lister.getFields(PODS, "shop/none", ["/spec"]), undefined);
  assert.throws(() => client.get(PODS, "shop/none"), (error) => error instanceof ApiError && error.code === "not-found" && error.status === 404);
});

test("modify reads again after a conflict, and sends nothing without a change", () => {
  host.put(PODS, pod("web"));
  host.refuse("client.update", api("conflict", "changed", 409), api("conflict", "changed", 409));

  const changed = client.modify(PODS, "shop/web", (object) => {
    object.spec.replicas = 3;
  });

  assert.equal(changed.spec.replicas, 3);
  assert.equal(host.calls.filter((name) => name === "client.update").length, 3);
  host.calls = [];
  client.modify(PODS, "shop/web", (object) => ({ ...object }));
  assert.deepEqual(host.calls, ["client.get"]);
});

test("modify refuses a result that is no object, and sends nothing", () => {
  host.put(PODS, pod("web"));
  const modified = (change) => () => client.modify(PODS, "shop/web", change);
  const refused = (text) => (error) => error instanceof TypeError && error.message.includes(text);

  // Without braces, an arrow function returns the value of its assignment.
  assert.throws(modified((object) => (object.spec.replicas = 3)), refused("the function of modify has returned 3: return nothing, or"));
  assert.throws(modified((object) => object.spec), refused("has returned [object Object]: return nothing, or an object with metadata.name"));
  assert.throws(modified(async (object) => void (object.spec.replicas = 3)), /PermanentError: the function of modify has returned a promise/);
  assert.throws(() => client.retryOnConflict(async () => {}), /the function of retryOnConflict has returned a promise/);

  assert.ok(!host.calls.includes("client.update"));
  assert.equal(client.modify(PODS, "shop/web", () => null).metadata.name, "web");
  assert.ok(!host.calls.includes("client.update"), "no object is no change");
});

test("a conflict that stays is thrown after five attempts, another error at once", () => {
  host.put(PODS, pod("web"));
  let attempts = 0;
  const failing = (code) => () => {
    attempts += 1;
    throw new ApiError(code, "no", 409);
  };

  assert.throws(() => client.retryOnConflict(failing("conflict")), ApiError);
  assert.equal(attempts, 5);
  assert.throws(() => client.retryOnConflict(failing("forbidden")), ApiError);
  assert.equal(attempts, 6);
});

test("objects are applied, patched and deleted", () => {
  client.apply(PODS, pod("web"), { force: true });
  assert.equal(client.mergePatch(PODS, "shop/web", { spec: { name: null, x: 1 } }).spec.x, 1);
  client.deleteObject(PODS, "shop/web", { propagation: "foreground" });
  assert.equal(lister.get(PODS, "shop/web"), undefined);
  assert.throws(() => client.deleteObject(PODS, "shop/web", { propagation: "fast" }), TypeError);
});

test("an Event has its fields, and a note is optional", () => {
  client.recordEvent(PODS, pod("web"), { reason: "Scaled", action: "Scaling", warning: true });

  const regarding = { namespace: "shop", name: "web" };
  assert.deepEqual(host.events, [{ gvr: PODS, regarding, warning: true, reason: "Scaled", action: "Scaling", note: "" }]);
});

test("a finalizer is added once, and removed after the cleanup", () => {
  const cleaned = [];
  const reconcile = () => finalize(PODS, lister.get(PODS, "shop/web"), "example.com/x", ({ metadata }) => cleaned.push(metadata.name));
  host.put(PODS, pod("web"));

  assert.equal(reconcile(), true);
  assert.equal(reconcile(), true);
  assert.deepEqual(lister.get(PODS, "shop/web").metadata.finalizers, ["example.com/x"]);
  assert.equal(host.calls.filter((name) => name === "client.update").length, 1);
  client.deleteObject(PODS, "shop/web");
  assert.equal(reconcile(), false);
  assert.deepEqual(cleaned, ["web"]);
  assert.equal(lister.get(PODS, "shop/web"), undefined);
});

test("a cleanup that throws keeps the finalizer", () => {
  const gone = pod("web");
  gone.metadata = { ...gone.metadata, finalizers: ["example.com/x"], deletionTimestamp: "2026-01-01T00:00:00Z" };
  host.put(PODS, gone);

  const failing = () => finalize(PODS, lister.get(PODS, "shop/web"), "example.com/x", () => {
    throw new Error("not yet");
  });

  assert.throws(failing, /not yet/);
  assert.deepEqual(lister.get(PODS, "shop/web").metadata.finalizers, ["example.com/x"]);
});

test("a cleanup that is async, or a generator, keeps the finalizer", () => {
  const metadata = { ...pod("web").metadata, finalizers: ["example.com/x"], deletionTimestamp: "2026-01-01T00:00:00Z" };
  host.put(PODS, { ...pod("web"), metadata });
  const finalized = (cleanup) => () => finalize(PODS, lister.get(PODS, "shop/web"), "example.com/x", cleanup);

  assert.throws(finalized(async () => {}), /PermanentError: cleanup has returned a promise\. .*: remove `async` and `await`/);
  assert.throws(finalized(function* cleanup() {}), /PermanentError: cleanup is a generator, whose code has not run/);

  assert.deepEqual(lister.get(PODS, "shop/web").metadata.finalizers, ["example.com/x"]);
});

test("a finalizer that came too late does not let the plugin go on", () => {
  const lives = host.put(PODS, pod("web"));
  const never = () => assert.fail("there is nothing to clean up");
  const ended = { ...lives.metadata, finalizers: ["another"], deletionTimestamp: "2026-01-01T00:00:00Z" };

  host.put(PODS, { ...lives, metadata: ended });
  assert.equal(finalize(PODS, lives, "example.com/x", never), false, "the object is being deleted by now");
  host.put(PODS, { ...lives, metadata: { ...lives.metadata, uid: "another" } });
  assert.equal(finalize(PODS, lives, "example.com/x", never), false, "another object has its name by now");

  assert.deepEqual(host.calls, ["client.get", "client.get"]);
});

test("an object that is gone after the cleanup has no finalizer", () => {
  const gone = pod("web");
  gone.metadata = { ...gone.metadata, finalizers: ["example.com/x"], deletionTimestamp: "2026-01-01T00:00:00Z" };
  let cleaned = 0;

  assert.equal(finalize(PODS, gone, "example.com/x", () => void (cleaned += 1)), false);
  host.refuse("client.get", api("forbidden", "no", 403));
  assert.throws(() => finalize(PODS, gone, "example.com/x", () => {}), /forbidden/);

  assert.equal(cleaned, 1);
});

test("an owner is set once, and only one controller", () => {
  const owner = host.put(PODS, pod("owner"));
  const child = setOwner(setOwner(pod("child"), owner), owner);

  assert.deepEqual(child.metadata.ownerReferences, [ownerReference(owner)]);
  assert.throws(() => setOwner(child, host.put(PODS, pod("other"))), /shop\/child is controlled by Pod owner/);
  assert.throws(() => setOwner(pod("x", "elsewhere"), owner), /another namespace/);
  assert.throws(() => ownerReference(pod("unborn")), /the owner has no uid/);
});

test("key-values hold JSON, also with other characters than those of ASCII", () => {
  const bucket = keyvalue.open("state");
  const value = { text: "späti 🦀 % \ud800", list: [1, null] };

  bucket.set("a", value);
  assert.deepEqual(bucket.get("a"), { ...value, text: "späti 🦀 % \ud800" });
  assert.equal(bucket.increment("n", 5), 5);
  assert.equal(bucket.increment("n"), 6);
  assert.equal(bucket.get("n"), 6);
  assert.ok(bucket.has("n"));
  bucket.set("b", 1);
  assert.deepEqual([...keyvalue.open("state").keys()], ["a", "b", "n"]);
  bucket.delete("a");
  assert.equal(bucket.get("a"), undefined);
  assert.throws(() => bucket.set("f", () => {}), TypeError);
});

test("a counter only grows", () => {
  const bucket = keyvalue.open("counters");

  assert.equal(bucket.increment("n", 0), 0);
  for (const delta of [-1, 1.5, 2 ** 53, "1"]) {
    assert.throws(() => bucket.increment("n", delta), /^TypeError: delta is no whole number from 0 to 9007199254740991: /);
  }
  assert.equal(bucket.get("n"), 0);
});

test("a bucket is opened once, however often a handler asks for it", () => {
  for (let call = 0; call < 100; call += 1) keyvalue.open("once").increment("n");

  assert.equal(keyvalue.open("once").get("n"), 100);
  assert.equal(host.calls.filter((name) => name === "keyvalue.open").length, 1);
});

test("console writes lines with fields", () => {
  log.info("plain");
  assert.equal(host.lines.length, 0, "the module is being evaluated, and there is no host yet");
  host.start(definePlugin({ onAdd() {} }));
  console.log("scaled", 3, { from: 1, why: new Error("x"), nested: { a: 1 } });
  console.error({ only: "message" });
  console.assert(1 > 2, "arithmetic");

  const [plain, scaled, only, failed] = host.lines.slice(-4);
  assert.deepEqual(plain, { level: "info", message: "plain", fields: {} });
  assert.equal(scaled.message, "scaled 3");
  assert.equal(scaled.fields.from, "1");
  assert.match(scaled.fields.why, /^Error: x\n/);
  assert.equal(scaled.fields.nested, '{"a":1}');
  assert.deepEqual(only, { level: "error", message: '{"only":"message"}', fields: {} });
  assert.equal(failed.message, "assertion failed arithmetic");
});

test("half a character does not reach the host, where it would be a trap", () => {
  host.start(definePlugin({ onAdd() {} }));
  host.lines = [];
  const cut = "🦀".slice(0, 1);
  console.log(`a${cut}`, { [`b${cut}`]: `c${cut}🦀` });
  client.recordEvent(PODS, pod("web"), { reason: "Scaled", action: "Scaling", note: `d${cut}` });
  metrics.counterAdd("writes", 1, { [`e${cut}`]: cut });
  workqueue.add(cut);
  const plugin = definePlugin({
    onAdd() {
      throw new Error(`f${cut}`);
    },
  });
  const { val } = host.add(plugin, PODS, pod("web"));

  assert.deepEqual(host.lines, [{ level: "info", message: "a\ufffd", fields: { "b\ufffd": "c\ufffd🦀" } }]);
  assert.equal(host.events[0].note, "d\ufffd");
  assert.deepEqual(host.metrics[0].labels, { "e\ufffd": "\ufffd" });
  assert.equal(host.keys[0].key, "\ufffd");
  assert.match(val, /^Error: f\ufffd\n/);
});

test("the small interfaces pass their values on", () => {
  host.config = { "a.b": "1" };
  assert.equal(config.get("a.b"), "1");
  assert.equal(config.get("c"), undefined);
  assert.deepEqual(config.all(), { "a.b": "1" });
  assert.equal(delivery().attempt, 1);
  metrics.counterAdd("writes", 2, { kind: "pod" });
  assert.deepEqual(host.metrics, [{ kind: "counterAdd", name: "writes", labels: { kind: "pod" }, value: 2 }]);
  workqueue.add(pod("web"));
  workqueue.addAfter("shop/web", 10);
  assert.deepEqual(host.keys, [{ key: "shop/web", millis: 0 }, { key: "shop/web", millis: 10 }]);
  assert.deepEqual(keyOf("web"), { namespace: "", name: "web" });
  assert.deepEqual(keyOf({ ...pod("web"), name: "a field" }), { namespace: "shop", name: "web" });
  assert.deepEqual(parseKey("v1/pods shop/web"), { of: "v1/pods", namespace: "shop", name: "web" });
  assert.deepEqual(parseKey("shop/web"), { namespace: "shop", name: "web" });
  assert.throws(() => parseKey("v1/pods "), TypeError);
});

test("a parsed key is added to the workqueue with its resource", () => {
  const keys = ["v1/pods shop/web", "apps/v1/ReplicaSet shop/web", "v1/nodes n1", "shop/web"];

  for (const key of keys) workqueue.add(parseKey(key));
  workqueue.add({ ...pod("api"), of: "a field" });

  assert.deepEqual(host.keys.map(({ key }) => key), [...keys, "shop/api"]);
});
