// The fake host refuses what it does not know, and does what the API server does.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { ApiError, HostError, client, definePlugin, isOwnWrite, keyvalue, lister, timer, workqueue } from "informer-sdk";
import { host } from "informer-sdk/testing";

const PODS = "v1/pods";
const CONFLICT = (error) => error instanceof ApiError && error.code === "conflict" && error.status === 409;

beforeEach(() => host.reset());

function pod(name, namespace = "shop", more = {}) {
  return { apiVersion: "v1", kind: "Pod", metadata: { namespace, name, labels: { app: name }, ...more }, spec: { x: 1 } };
}

/** The object as the cluster has it, and no request. */
function kept(name) {
  return host.cluster.of(PODS).get(`shop/${name}`);
}

test("a version that the plugin has written in an earlier test is no own write", () => {
  const seen = [];
  const plugin = definePlugin({ ignoreOwnWrites: true, onUpdate: (_, { resourceVersion }) => void seen.push(resourceVersion) });
  const old = host.put(PODS, pod("web"));
  const { resourceVersion } = client.update(PODS, old).metadata;

  host.reset();
  host.put(PODS, pod("web"));
  const foreign = host.put(PODS, pod("web"));
  host.update(plugin, PODS, old, foreign);

  assert.deepEqual(seen, [resourceVersion]);
});

test("a list is sorted by namespace and name", () => {
  for (const [namespace, name] of [["b", "x"], ["a", "z"], ["b", "a"], ["a-b", "y"]]) host.put(PODS, pod(name, namespace));
  const expected = ["a/z", "a-b/y", "b/a", "b/x"];

  assert.deepEqual([...lister.listMeta(PODS, { pageSize: 3 })].map(({ key }) => key), expected);
  assert.deepEqual([...client.list(PODS)].map(({ metadata: { namespace, name } }) => `${namespace}/${name}`), expected);
});

test("a plugin that deletes what it lists sees each object and each key once", () => {
  const names = ["a", "b", "c", "d", "e"];
  const bucket = keyvalue.open("seen");
  for (const list of [() => lister.listMeta(PODS, { pageSize: 2 }), () => client.list(PODS, { pageSize: 2 })]) {
    for (const name of names) host.put(PODS, pod(name));
    const seen = [];
    for (const found of list()) {
      client.deleteObject(PODS, found);
      seen.push((found.metadata ?? found).name);
    }
    assert.deepEqual(seen, names);
  }
  for (const name of names) bucket.set(name, 1);
  const keys = [];
  for (const key of bucket.keys()) {
    bucket.delete(key);
    keys.push(key);
  }
  assert.deepEqual(keys, names);
});

test("a page that the host has forgotten is refused", () => {
  for (const [list, code] of [[lister.listMeta, "stale-page"], [client.list, "gone"]]) {
    for (const name of ["a", "b"]) host.put(PODS, pod(name));
    const found = list(PODS, { pageSize: 1 });
    found.next();
    host.reset();
    assert.throws(() => found.next(), (error) => error.code === code && /page token/.test(error.message));
  }
});

test("an empty namespace selects the objects of all namespaces, as in the host", () => {
  host.put(PODS, pod("a"));
  host.put(PODS, pod("b", "blog"));

  for (const list of [lister.listMeta, lister.list, client.list]) assert.equal([...list(PODS, { namespace: "" })].length, 2);
  assert.deepEqual([...lister.list(PODS, { index: ["namespace", ""] })], []);
});

test("a list by the index `namespace` selects, and one by another index is refused", () => {
  host.put(PODS, pod("a"));
  host.put(PODS, pod("b", "blog"));
  const index = ["node", "n1"];

  assert.deepEqual([...lister.listMeta(PODS, { index: ["namespace", "blog"] })].map(({ key }) => key), ["blog/b"]);
  for (const list of [() => lister.list(PODS, { index }), () => lister.listMeta(PODS, { index }), () => lister.listFields(PODS, [], { index })]) {
    assert.throws(() => [...list()], (error) => error instanceof HostError && error.code === "invalid" && /no index but/.test(error.message));
  }
});

test("a field selector is refused", () => {
  assert.throws(() => [...client.list(PODS, { fields: "spec.nodeName=n1" })], (error) => {
    return error instanceof ApiError && error.code === "invalid" && error.status === 400 && /no field selectors/.test(error.message);
  });
});

test("a label selector that the fake host does not know is refused, and not without a match", () => {
  for (const name of ["a", "b"]) host.put(PODS, pod(name));

  assert.deepEqual([...lister.listMeta(PODS, { labels: "app==a" })].map(({ name }) => name), ["a"]);
  for (const labels of ["app", "!app", "app!=a", "app in (a, b)", "app=a, tier=x"]) {
    assert.throws(() => [...lister.list(PODS, { labels })], (error) => error instanceof HostError && error.code === "invalid");
    assert.throws(() => [...client.list(PODS, { labels })], (error) => error instanceof ApiError && error.code === "invalid");
  }
});

test("a dry run answers, and changes nothing", () => {
  const web = host.put(PODS, pod("web"));
  const dryRun = true;

  assert.equal(client.create(PODS, pod("new"), { dryRun }).metadata.name, "new");
  assert.equal(client.apply(PODS, pod("new"), { dryRun }).metadata.name, "new");
  assert.equal(client.update(PODS, { ...web, spec: { x: 2 } }, { dryRun }).spec.x, 2);
  assert.equal(client.mergePatch(PODS, "shop/web", { spec: { x: 3 } }, { dryRun }).spec.x, 3);
  assert.equal(client.modify(PODS, "shop/web", (object) => void (object.spec.x = 4), { dryRun }).spec.x, 4);
  client.deleteObject(PODS, "shop/web", { dryRun });

  assert.deepEqual([...host.cluster.of(PODS).values()], [web]);
  assert.ok(!isOwnWrite(web));
  assert.throws(() => client.create(PODS, pod("web"), { dryRun }), (error) => error.code === "already-exists");
  assert.throws(() => client.deleteObject(PODS, "shop/none", { dryRun }), (error) => error.code === "not-found");
});

test("a dry run keeps a finalizer of an object that is being deleted", () => {
  const gone = host.put(PODS, pod("web", "shop", { finalizers: ["example.com/x"], deletionTimestamp: "2026-01-01T00:00:00Z" }));
  const without = { ...gone, metadata: { ...gone.metadata, finalizers: [] } };

  client.update(PODS, without, { dryRun: true });
  assert.deepEqual(kept("web"), gone);
  client.mergePatch(PODS, "shop/web", { metadata: { finalizers: null } });
  assert.equal(kept("web"), undefined, "its last finalizer is gone");
});

test("a write of another version or of another object is a conflict", () => {
  const old = host.put(PODS, pod("web"));
  const web = host.put(PODS, { ...old, spec: { x: 2 } });
  const { uid, resourceVersion } = web.metadata;

  for (const metadata of [{ resourceVersion: old.metadata.resourceVersion }, { uid: "another" }]) {
    // The API server compares the UID of a patch with that of the object as it does for every field that cannot change.
    const refused = metadata.uid === undefined ? CONFLICT : { name: "ApiError", code: "invalid", status: 422 };
    assert.throws(() => client.update(PODS, { ...web, metadata: { ...web.metadata, ...metadata } }), CONFLICT);
    assert.throws(() => client.mergePatch(PODS, "shop/web", { metadata, spec: { x: 3 } }), refused);
    assert.throws(() => client.apply(PODS, { ...pod("web"), metadata: { namespace: "shop", name: "web", ...metadata } }), refused);
    assert.throws(() => client.deleteObject(PODS, "shop/web", metadata), CONFLICT);
  }

  assert.deepEqual(kept("web"), web);
  assert.equal(client.mergePatch(PODS, "shop/web", { metadata: { uid, resourceVersion }, spec: { x: 3 } }).spec.x, 3);
  client.deleteObject(PODS, "shop/web", { uid, resourceVersion: kept("web").metadata.resourceVersion });
  assert.equal(kept("web"), undefined);
});

test("a write does not change the fields of the server", () => {
  const { uid } = host.put(PODS, pod("web", "shop", { finalizers: ["example.com/x"] })).metadata;
  client.deleteObject(PODS, "shop/web");
  const { deletionTimestamp } = kept("web").metadata;
  assert.ok(deletionTimestamp);

  const { metadata } = client.update(PODS, pod("web", "shop", { finalizers: ["example.com/x", "example.com/y"] }));
  assert.deepEqual([metadata.uid, metadata.deletionTimestamp], [uid, deletionTimestamp]);

  client.mergePatch(PODS, "shop/web", { metadata: { uid: null, deletionTimestamp: null } });
  assert.deepEqual([kept("web").metadata.uid, kept("web").metadata.deletionTimestamp], [uid, deletionTimestamp]);
});

test("a deleted object without finalizers stays after a write", () => {
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  host.put(PODS, pod("web", "shop", { deletionTimestamp }));

  client.mergePatch(PODS, "shop/web", { spec: { x: 2 } });

  assert.deepEqual([kept("web").spec.x, kept("web").metadata.deletionTimestamp], [2, deletionTimestamp]);
});

test("a new object gets its UID and its generated name from the server", () => {
  const made = { metadata: { namespace: "shop", generateName: "job-", uid: "of a copied object" } };

  const [first, second] = [client.create(PODS, made), client.create(PODS, made)].map(({ metadata }) => metadata);

  assert.match(first.name, /^job-.+/);
  assert.notEqual(first.name, second.name);
  assert.ok(first.uid !== second.uid && first.uid !== made.metadata.uid && first.uid !== undefined, first.uid);
  assert.equal(kept(first.name).metadata.uid, first.uid);
  const dry = client.create(PODS, made, { dryRun: true }).metadata;
  assert.ok(![first.uid, second.uid, made.metadata.uid, undefined].includes(dry.uid), dry.uid);
  assert.equal(lister.get(PODS, dry), undefined);
});

test("a creation with a version or without a name is refused", () => {
  for (const [metadata, status] of [[{ name: "a", resourceVersion: "7" }, 400], [{}, 422]]) {
    assert.throws(() => client.create(PODS, { metadata }), { name: "ApiError", code: "invalid", status });
  }
});

test("the index `namespace` of cluster-scoped objects has one empty value", () => {
  for (const name of ["n1", "n2"]) host.put("v1/nodes", { metadata: { name } });

  assert.deepEqual([...lister.indexValues("v1/nodes", "namespace")], [{ value: "", objects: 2 }]);
});

test("a function of a bucket is refused, and one that the host does not have cannot be", () => {
  const bucket = keyvalue.open("counts");
  host.refuse("keyvalue.set", { tag: "other", val: "the quota is used up" });

  assert.throws(() => bucket.set("n", 1), (error) => error instanceof HostError && /the quota is used up/.test(error.message));
  bucket.set("n", 1);
  assert.equal(bucket.get("n"), 1);
  assert.throws(() => host.refuse("client.udpate", new Error("no")), /the fake host has no client.udpate; it has client.create, /);
});

test("a key is in the workqueue once, and its backoffs are counted", () => {
  for (const key of ["a", "b", "a"]) workqueue.add(key);
  for (const millis of [30, 10, 20]) workqueue.addAfter("a", millis);
  for (let count = 0; count < 2; count += 1) workqueue.addRateLimited("a");

  const delayed = [{ key: "a", millis: 10 }, { key: "a", limited: true }];
  assert.deepEqual(host.keys, [{ key: "a", millis: 0 }, { key: "b", millis: 0 }, ...delayed]);
  assert.deepEqual([workqueue.length(), workqueue.numRequeues("a"), workqueue.numRequeues("b")], [2, 2, 0]);
  workqueue.forget("a");
  assert.equal(workqueue.numRequeues("a"), 0);
  host.keys.shift();
  workqueue.addAfter("a", 0);
  assert.deepEqual(host.keys.at(-1), { key: "a", millis: 0 });
});

test("a timer without a name is refused", () => {
  assert.throws(() => timer.after("", 1), { name: "HostError", code: "invalid" });
  assert.equal(host.timers.size, 0);
});

test("the object that `put` returns is a copy", () => {
  host.put(PODS, pod("web")).spec.x = 2;

  assert.equal(lister.get(PODS, "shop/web").spec.x, 1);
});

test("a pointer finds the fields of an object, and nothing else", () => {
  host.put(PODS, pod("web"));
  const pointers = ["/spec/x", "/spec/constructor", "/spec/x/y", "", "/spec/none/deep", "/kind/0"];

  const values = lister.getFields(PODS, "shop/web", pointers);

  assert.equal(values[3].kind, "Pod");
  values[3] = undefined;
  assert.deepEqual(values, [1, undefined, undefined, undefined, undefined, undefined]);
});

test("a pointer does not find the length of an array, and one that is no pointer is refused", () => {
  host.put(PODS, { ...pod("web"), list: ["a"] });

  assert.deepEqual(lister.getFields(PODS, "shop/web", ["/list/0", "/list/length"]), ["a", undefined]);
  for (const pointer of ["spec", "sha256:/spec"]) {
    assert.throws(() => lister.getFields(PODS, "shop/web", [pointer]), (error) => error instanceof HostError && error.code === "invalid");
  }
});

test("the order of keys is no difference, and each digit of a large number is one", () => {
  const seen = [];
  const plugin = definePlugin({ onUpdate: (old, object) => void seen.push(object.differs(old, "/spec")) });
  const specs = [{ a: 1, b: { c: 1, d: 2n ** 63n } }, { b: { d: 2n ** 63n, c: 1 }, a: 1 }, { b: { d: 2n ** 63n + 1n, c: 1 }, a: 1 }, undefined];

  for (let i = 1; i < specs.length; i += 1) {
    const [old, now] = [specs[i - 1], specs[i]].map((spec) => ({ ...pod("web"), spec }));
    assert.equal(host.update(plugin, PODS, old, now), undefined);
  }

  assert.deepEqual(seen, [false, true, true]);
});

test("a value that is no number of 64 bits is not incremented", () => {
  const bucket = keyvalue.open("counts");
  for (const kept of ["five", "18446744073709551615"]) {
    bucket.setBytes("n", new TextEncoder().encode(kept));

    assert.throws(() => bucket.increment("n"), (error) => error instanceof HostError && error.code === "other");
    assert.equal(new TextDecoder().decode(bucket.getBytes("n")), kept);
  }
  bucket.setBytes("n", new TextEncoder().encode("9007199254740993"));
  bucket.increment("n");
  assert.equal(new TextDecoder().decode(bucket.getBytes("n")), "9007199254740994");
});
