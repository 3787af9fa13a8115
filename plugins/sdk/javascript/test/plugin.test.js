import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import {
  HostError, PermanentError, RetryAfterError, callAgain, client, definePlugin, isOwnWrite, lister, timer, workqueue,
} from "informer-sdk";
import { api, host } from "informer-sdk/testing";

const PODS = "v1/pods";

beforeEach(() => host.reset());

function pod(name, more = {}) {
  return { apiVersion: "v1", kind: "Pod", metadata: { namespace: "shop", name, labels: { app: name } }, ...more };
}

test("a handler reads metadata at once, fields by pointer and the body once", () => {
  const seen = [];
  const plugin = definePlugin({
    onAdd(object, cause) {
      seen.push(object.gvr, object.key, object.labels.app, object.controller, cause);
      assert.deepEqual(host.calls, []);
      seen.push(object.get("/spec/x"), object.get("/spec/none"), ...object.getMany("/spec/x", "/metadata/name"));
      assert.equal(object.body, object.body);
    },
  });

  assert.equal(host.add(plugin, PODS, host.put(PODS, pod("web", { spec: { x: 1 } }))), undefined);

  assert.deepEqual(seen, [PODS, "shop/web", "web", undefined, "live", 1, undefined, 1, "web"]);
  assert.deepEqual(host.calls, ["objects.get", "objects.get", "objects.getMany", "objects.json"]);
});

test("an update has the state before, and the host compares", () => {
  const seen = [];
  const plugin = definePlugin({
    onUpdate(old, object) {
      seen.push(old.resourceVersion, object.resourceVersion, object.differs(old, "/spec"), object.differs(old, "/kind"));
    },
  });
  const old = host.put(PODS, pod("web", { spec: { x: 1 } }));

  assert.equal(host.update(plugin, PODS, old, host.put(PODS, pod("web", { spec: { x: 2 } }))), undefined);

  assert.deepEqual(seen, ["2", "3", true, false]);
});

test("whatever is thrown becomes a failure with message, stack and causes", () => {
  const thrown = [];
  const plugin = definePlugin({
    onAdd() {
      throw thrown[0];
    },
  });
  const fails = (value) => {
    thrown[0] = value;
    return host.add(plugin, PODS, pod("web"));
  };

  const { tag, val } = fails(new TypeError("no", { cause: new RangeError("far") }));
  assert.equal(tag, "retry");
  assert.match(val, /^TypeError: no\n +at .*plugin\.test\.js[^]*\ncaused by RangeError: far\n +at /);
  assert.deepEqual(fails("text"), { tag: "retry", val: "text" });
  assert.deepEqual(fails(undefined), { tag: "retry", val: "undefined" });
  assert.deepEqual(fails({ a: 1 }), { tag: "retry", val: '{"a":1}' });
  const loop = {};
  loop.loop = loop;
  assert.deepEqual(fails(loop), { tag: "retry", val: "[object Object]" }, "JSON cannot hold it");
  assert.deepEqual(fails({ a: 1n }), { tag: "retry", val: "[object Object]" });
  assert.match(fails(new Error("no", { cause: loop })).val, /\ncaused by \[object Object\]$/);
  assert.equal(fails(new PermanentError("never")).tag, "permanent");
  const later = fails(new RetryAfterError("soon", 1.5));
  assert.equal(later.tag, "retry-after");
  assert.equal(later.val[1], 2);
});

test("an error of the host is caught by its class, and asks for its time if no code catches it", () => {
  host.refuse("lister.get", { code: "not-granted", message: "reading v1/pods is not granted" });
  host.refuse("client.get", api("too-many-requests", "slow down", 429, 700));
  const caught = [];
  const plugin = definePlugin({
    onAdd(object) {
      try {
        lister.get(PODS, object);
      } catch (error) {
        caught.push(error);
      }
      client.get(PODS, object);
    },
  });

  const failure = host.add(plugin, PODS, pod("web"));

  assert.ok(caught[0] instanceof HostError);
  assert.equal(caught[0].code, "not-granted");
  assert.equal(caught[0].message, "not-granted: reading v1/pods is not granted");
  assert.equal(failure.tag, "retry-after");
  assert.match(failure.val[0], /^ApiError: too-many-requests: slow down\n/);
  assert.equal(failure.val[1], 700);
});

test("an argument of a wrong type is an error and no trap", () => {
  for (const wrong of [() => lister.get(PODS, { namespace: "a" }), () => lister.get(undefined, "a/b"), () => lister.get(PODS, "a/b/c")]) {
    assert.throws(wrong, TypeError);
  }
  assert.throws(() => [...lister.list(PODS, { pageSize: -1 })], /pageSize is no whole number/);
});

test("reconcile returns what is next, and fails by class", () => {
  const results = [undefined, { requeue: true }, { requeueAfter: 1.2 }, "soon"];
  const thrown = [];
  const plugin = definePlugin({
    reconcile(key) {
      assert.equal(key, "shop/web");
      if (thrown.length > 0) throw thrown[0];
      return results.shift();
    },
  });
  const reconcile = () => host.reconcile(plugin, "shop/web");

  assert.deepEqual(reconcile(), { outcome: { tag: "done" } });
  assert.deepEqual(reconcile(), { outcome: { tag: "requeue" } });
  assert.deepEqual(reconcile(), { outcome: { tag: "requeue-after", val: 2 } });
  assert.equal(reconcile().failure.tag, "terminal");
  thrown[0] = new Error("no");
  assert.equal(reconcile().failure.tag, "retry");
  thrown[0] = new PermanentError("never");
  assert.equal(reconcile().failure.tag, "terminal");
  thrown[0] = new RetryAfterError("soon", 5);
  assert.deepEqual(reconcile(), { outcome: { tag: "requeue-after", val: 5 } });
  assert.equal(host.lines.at(-1).level, "warn");
  assert.match(host.lines.at(-1).fields.error, /^RetryAfterError: soon/);
});

test("start gets the configuration, and what it throws is text", () => {
  const seen = [];
  const plugin = definePlugin({
    start(config) {
      seen.push(config.a);
      if (config.a === 2) throw new Error("a is 2");
    },
    onAdd() {},
  });

  assert.equal(host.start(plugin, { a: 1 }), undefined);
  assert.match(host.start(plugin, { a: 2 }), /^Error: a is 2\n/);
  assert.deepEqual(seen, [1, 2]);
});

test("a mistake in the definition is an error of the build", () => {
  assert.throws(() => definePlugin({ onUpdated() {} }), /there is no `onUpdated`; there are start, /);
  assert.throws(() => definePlugin({ onAdd: 1 }), /onAdd is no function/);
  assert.throws(() => definePlugin({ async onAdd() {} }), /onAdd is async/);
  // A call of a generator does nothing, and a promise of it is none.
  assert.throws(() => definePlugin({ *onAdd() {} }), /onAdd is a generator/);
  assert.throws(() => definePlugin({ async *onAdd() {} }), /onAdd is async/);
  assert.throws(() => definePlugin({}), /one of onAdd, /);
});

test("the build finds the functions that the plugin defines", () => {
  const { plugin } = definePlugin({ onAdd() {}, onDelete: undefined, reconcile() {}, onTimer: undefined });

  assert.deepEqual(plugin.defined, { handler: ["onAdd"], reconciler: ["reconcile"] });
});

test("a promise that a handler returns is a permanent failure", () => {
  const plugin = definePlugin({ onAdd: () => Promise.resolve() });

  assert.equal(host.add(plugin, PODS, pod("web")).tag, "permanent");
});

test("own writes are not delivered again if the plugin wants so", () => {
  const seen = [];
  const plugin = definePlugin({ ignoreOwnWrites: true, onUpdate: (old, { resourceVersion }) => void seen.push(resourceVersion) });

  const old = host.put(PODS, pod("web"));
  const written = client.update(PODS, old);
  assert.ok(isOwnWrite(written));
  assert.equal(host.update(plugin, PODS, old, written), undefined);
  assert.equal(host.update(plugin, PODS, old, written, "relist"), undefined);
  const foreign = host.put(PODS, pod("web"));
  assert.equal(host.update(plugin, PODS, written, foreign), undefined);

  assert.deepEqual(seen, [foreign.metadata.resourceVersion]);
});

test("an attempt that wrote and failed is repeated although the version is an own write", () => {
  let calls = 0;
  const plugin = definePlugin({
    ignoreOwnWrites: true,
    onUpdate(_, object) {
      calls += 1;
      if (calls === 1) client.mergePatch(PODS, object, { spec: { x: 1 } });
      if (calls === 1) throw new Error("after the write");
    },
  });
  const old = host.put(PODS, pod("web"));

  assert.equal(host.update(plugin, PODS, old, host.put(PODS, pod("web"))).tag, "retry");
  host.attempt = 2;
  const merged = lister.get(PODS, "shop/web");
  assert.ok(isOwnWrite(merged));
  assert.equal(host.update(plugin, PODS, old, merged), undefined);

  assert.equal(calls, 2);
});

test("an own write is delivered as an addition, and by a resync and a replay", () => {
  const seen = [];
  const plugin = definePlugin({
    ignoreOwnWrites: true,
    onAdd: (_, cause) => void seen.push(`add ${cause}`),
    onUpdate: (_old, _new, cause) => void seen.push(cause),
  });
  const written = client.create(PODS, pod("web"));

  host.add(plugin, PODS, written);
  for (const cause of ["live", "resync", "replay"]) host.update(plugin, PODS, written, written, cause);

  assert.deepEqual(seen, ["add live", "resync", "replay"]);
});

test("a write that changes nothing does not make the version of another client an own one", () => {
  const foreign = host.put(PODS, pod("web"));
  host.cluster.update = host.cluster.patch = () => foreign;

  client.update(PODS, foreign);
  client.mergePatch(PODS, "shop/web", { metadata: { resourceVersion: foreign.metadata.resourceVersion } });
  client.jsonPatch(PODS, "shop/web", [{ op: "test", path: "/metadata/resourceVersion", value: foreign.metadata.resourceVersion }]);
  assert.ok(!isOwnWrite(foreign));
  client.mergePatch(PODS, "shop/web", {});
  assert.ok(isOwnWrite(foreign), "the version before the write is not known");
});

test("a time and a count are at most the largest number that QuickJS passes on", () => {
  const most = 0x7fffffff;
  const plugin = definePlugin({ onAdd: () => callAgain(1e12), reconcile: () => ({ requeueAfter: Infinity }) });

  host.add(plugin, PODS, pod("web"));
  timer.after("late", most + 1);
  workqueue.addAfter("shop/web", 0xffffffff);
  assert.deepEqual(host.again, [most]);
  assert.equal(host.timers.get("late"), most);
  assert.deepEqual(host.keys, [{ key: "shop/web", millis: most }]);
  assert.deepEqual(host.reconcile(plugin, "shop/web"), { outcome: { tag: "requeue-after", val: most } });
  assert.equal(new RetryAfterError("late", 1e10).millis, most);
  host.refuse("client.get", api("too-many-requests", "slow down", 429, 0xffffffff));
  const asks = definePlugin({ onAdd: (object) => void client.get(PODS, object) });
  assert.equal(host.add(asks, PODS, pod("web")).val[1], most);
  const limits = [];
  host.cluster.page = (_gvr, _of, limit) => {
    limits.push(limit);
    return { objects: [], next: null };
  };
  assert.deepEqual([...client.list(PODS, { pageSize: 0xffffffff })], []);
  assert.deepEqual(limits, [most]);
});

test("an interface without a function behind it cannot be exported", () => {
  const { plugin, handler } = definePlugin({ onAdd() {} });
  assert.equal(typeof plugin.describe, "function");
  assert.equal(typeof handler.onDelete, "function");

  assert.throws(() => definePlugin({ onAdd() {} }).reconciler, /`reconciler` is exported, and there is no reconcile/);
  assert.throws(() => definePlugin({ reconcile() {} }).handler, /`handler` is exported, and there is no onAdd, onUpdate, onDelete/);
});

test("signals reach their functions, and fail as handlers do", () => {
  const seen = [];
  const plugin = definePlugin({
    onAdd: () => callAgain(1.5),
    onSynced({ gvr, count, resourceVersion }) {
      seen.push(`${gvr} ${count} ${resourceVersion}`);
      timer.after("soon", 5);
      timer.after("never", 5);
      timer.cancel("never");
    },
    onTimer(name) {
      seen.push(name);
      if (name === "bad") throw new PermanentError("no");
    },
    onConfig: ({ greeting }) => void seen.push(greeting),
  });
  host.put(PODS, pod("web"));

  assert.equal(host.add(plugin, PODS, pod("web")), undefined);
  assert.equal(host.synced(plugin, PODS), undefined);
  assert.deepEqual([host.again, ...host.timers], [[2], ["soon", 5]]);
  assert.equal(host.fire(plugin, "soon"), undefined);
  assert.equal(host.fire(plugin, "bad").tag, "permanent");
  assert.equal(host.configure(plugin, { greeting: "hi" }), undefined);

  assert.deepEqual(seen, [`${PODS} 1 2`, "soon", "bad", "hi"]);
  assert.equal(host.timers.size, 0);
});

test("the cache has an age, and its indexes have values", () => {
  host.put(PODS, pod("web"));
  host.put(PODS, { metadata: { namespace: "blog", name: "web" } });
  host.put(PODS, { metadata: { namespace: "blog", name: "db" } });

  assert.deepEqual(lister.state(PODS), { synced: true, resourceVersion: "4", ageMs: 0 });
  const values = [...lister.indexValues(PODS, "namespace", { pageSize: 1 })];
  assert.deepEqual(values, [{ value: "blog", objects: 2 }, { value: "shop", objects: 1 }]);
  assert.throws(() => [...lister.indexValues(PODS, "node")], HostError);
});

test("each notification of a batch has its outcome", () => {
  const seen = [];
  const outcomes = { web: undefined, db: { again: 1.5 }, bad: new PermanentError("no"), slow: new RetryAfterError("soon", 2), odd: 3 };
  const plugin = definePlugin({
    onBatch(notifications) {
      seen.push(...notifications.map(({ verb, object, old, cause, attempt }) => [verb, object.key, old?.name, cause, attempt]));
      return notifications.map(({ object }) => outcomes[object.name]);
    },
  });

  const found = host.batch(plugin, PODS, [
    { object: pod("web") },
    { verb: "updated", object: pod("db"), old: pod("db"), cause: "resync", attempt: 2 },
    { verb: "deleted", object: pod("bad"), finalStateKnown: false },
    { object: pod("slow") },
    { object: pod("odd") },
  ]);

  assert.deepEqual(seen.slice(0, 2), [["added", "shop/web", undefined, "live", 1], ["updated", "shop/db", "db", "resync", 2]]);
  assert.deepEqual(found.slice(0, 2), [{ tag: "handled" }, { tag: "again", val: 2 }]);
  assert.deepEqual(found.slice(2).map(({ tag, val }) => [tag, val.tag]), [
    ["failed", "permanent"],
    ["failed", "retry-after"],
    ["failed", "permanent"],
  ]);
  assert.match(found[4].val.val, /an outcome of onBatch is 3/);
});

test("a wrong outcome of one notification is no failure of the others", () => {
  const outcomes = [undefined, { again: "soon" }, { again: -1 }, 1n, {}, "done"];
  const plugin = definePlugin({ onBatch: () => outcomes });

  const [good, ...wrong] = host.batch(plugin, PODS, outcomes.map((_, at) => ({ object: pod(`pod-${at}`) })));

  assert.deepEqual(good, { tag: "handled" });
  assert.equal(wrong.length, 5);
  for (const { tag, val } of wrong) assert.deepEqual([tag, val.tag], ["failed", "permanent"]);
  assert.match(wrong[0].val.val, /an outcome of onBatch is {"again":"soon"}/);
});

test("a batch that throws is delivered one by one", () => {
  const plugin = definePlugin({
    onBatch() {
      throw new PermanentError("boom");
    },
  });

  assert.deepEqual(host.batch(plugin, PODS, [{ object: pod("web") }, { object: pod("db") }]), []);
  assert.equal(host.lines.at(-1).level, "warn");
  const [alone] = host.batch(plugin, PODS, [{ object: pod("web") }]);
  assert.equal(alone.val.tag, "permanent");
});
