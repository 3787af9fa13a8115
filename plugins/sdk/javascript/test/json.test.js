import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { client, definePlugin, finalize, lister } from "informer-sdk";
import { host } from "informer-sdk/testing";

import { parse, stringify } from "../src/json.js";

const LIMITS = "example.com/v1/limits";
const FIRST = "9007199254740993";
/** Another number, which JavaScript rounds to the same one. */
const SECOND = "9007199254740992";

beforeEach(() => host.reset());

/** A text of JSON, changed. */
function changed(text, change) {
  const object = parse(text);
  return stringify(change(object) ?? object, object);
}

function limit(more = {}) {
  return {
    apiVersion: "example.com/v1",
    kind: "Limit",
    metadata: { namespace: "shop", name: "web" },
    spec: { bytes: 9223372036854775807n, replicas: 1, ids: [9007199254740993n, 9007199254740992n], ...more },
  };
}

test("modify keeps a large number that the plugin does not touch", () => {
  host.put(LIMITS, limit());

  const answer = client.modify(LIMITS, "shop/web", (object) => {
    object.spec.replicas = 3;
  });

  assert.equal(answer.spec.replicas, 3);
  const { spec } = host.cluster.find(LIMITS, { namespace: "shop", name: "web" });
  assert.deepEqual(spec, { ...limit().spec, replicas: 3 });
});

test("modify keeps the large numbers of a copy that the plugin returns", () => {
  host.put(LIMITS, limit({ ids: [] }));

  client.modify(LIMITS, "shop/web", (object) => ({ ...structuredClone(object), spec: { ...object.spec, replicas: 3 } }));

  assert.equal(host.cluster.find(LIMITS, { namespace: "shop", name: "web" }).spec.bytes, 9223372036854775807n);
});

test("a change that only looks at a large number sends nothing", () => {
  host.put(LIMITS, limit());

  client.modify(LIMITS, "shop/web", (object) => ({ ...object, spec: { ...object.spec, bytes: 9223372036854775807 } }));

  assert.deepEqual(host.calls, ["client.get"]);
});

test("finalize keeps the large numbers of an object, at its addition and at its removal", () => {
  host.put(LIMITS, limit());
  const reconcile = () => finalize(LIMITS, lister.get(LIMITS, "shop/web"), "example.com/x", () => {});
  const written = [];
  const { update } = host.cluster;
  host.cluster.update = (gvr, key, json, options) => {
    written.push(json);
    return update.call(host.cluster, gvr, key, json, options);
  };

  assert.equal(reconcile(), true);
  client.deleteObject(LIMITS, "shop/web");
  assert.equal(reconcile(), false);

  assert.equal(written.length, 2);
  for (const json of written) {
    assert.ok(json.includes(`"spec":{"bytes":9223372036854775807,"replicas":1,"ids":[${FIRST},${SECOND}]}`), json);
  }
});

test("an object of a request is written with the numbers that it had", () => {
  const { spec } = limit();
  const reads = [
    () => client.get(LIMITS, "shop/web"),
    () => client.mergePatch(LIMITS, "shop/web", { spec: { replicas: 7 } }),
  ];
  for (const read of reads) {
    host.put(LIMITS, limit());
    const object = read();
    object.spec.replicas = 3;
    client.update(LIMITS, object);
    assert.deepEqual(host.cluster.find(LIMITS, { namespace: "shop", name: "web" }).spec, { ...spec, replicas: 3 });
  }
  const copy = client.get(LIMITS, "shop/web");
  client.update(LIMITS, { ...copy, spec: { ...copy.spec, ids: [] } });
  assert.equal(host.cluster.find(LIMITS, { namespace: "shop", name: "web" }).spec.bytes, spec.bytes);
});

test("an object of the cache or of a list with a large number is refused, and never rounded", () => {
  const stored = host.put(LIMITS, limit());
  const bodies = [];
  host.add(definePlugin({ onAdd: ({ body }) => void bodies.push(body) }), LIMITS, stored);

  for (const object of [lister.get(LIMITS, "shop/web"), ...lister.list(LIMITS), ...client.list(LIMITS), ...bodies]) {
    assert.throws(() => client.update(LIMITS, object), /^TypeError: \/spec\/bytes is 9223372036854775808, .*: change the object by client\.modify/);
  }

  assert.equal(bodies.length, 1);
  assert.deepEqual(host.cluster.find(LIMITS, { namespace: "shop", name: "web" }), stored);
});

test("numbers keep their digits, and other values are written as JSON.stringify does", () => {
  const text = `{"metadata":{"name":"9007199254740993 \\"12\\\\"},"a":[${FIRST},1.0,-0,1.50,1e3,0.12345678901234567891,1e400],`
    + `"__proto__":{"n":${SECOND}},"${FIRST}":"${FIRST}","b":[{"n":${FIRST}},{"n":${SECOND}}],"c":"\\ud800é\\u0000","d":null,"e":{}}`;
  const members = (json) => json.match(/-?\d[\d.eE+-]*/g).sort();

  assert.deepEqual(members(changed(text, () => {})), members(text));
  const same = changed(text, (object) => {
    object.e.x = { toJSON: () => ["x", undefined, new Number(2)], none: undefined };
    object.none = undefined;
    object.a.push(9007199254740995n, true);
    object.b.push({ n: 4 });
    object.when = new Date(0);
  });
  assert.ok(same.includes(`"a":[${FIRST},1.0,-0,1.50,1e3,0.12345678901234567891,1e400,9007199254740995,true]`), same);
  assert.ok(same.includes(`"b":[{"n":${FIRST}},{"n":${SECOND}},{"n":4}]`) && same.includes('"e":{"x":["x",null,2]}'), same);
  assert.ok(same.includes(`"__proto__":{"n":${SECOND}}`) && same.includes('"when":"1970-01-01T00:00:00.000Z"}'), same);
  assert.equal(stringify({ a: [undefined, () => {}, "x"], b: undefined }), '{"a":[null,null,"x"]}');
  assert.equal(changed(' { "n" : 12345678901234567890 , "s" : "a" } ', () => {}), '{"n":12345678901234567890,"s":"a"}');
});

test("a large number that has moved keeps its digits if only one number looks like it", () => {
  const text = `{"ids":[5,${FIRST},123456789012345678901]}`;

  assert.equal(changed(text, ({ ids }) => ids.shift()?.none), `{"ids":[${FIRST},123456789012345678901]}`);
  assert.equal(changed(text, (object) => void object.ids.reverse()), `{"ids":[123456789012345678901,${FIRST},5]}`);
});

test("numbers that look the same are distinguished by their places", () => {
  const text = `{"from":${FIRST},"to":${SECOND},"ids":[${FIRST},${SECOND}],"x":1}`;

  assert.equal(changed(text, (object) => void (object.x = 2)), text.replace('"x":1', '"x":2'));
  assert.equal(changed(text, (object) => void object.ids.push(3)), text.replace("]", ",3]"));
  // The first one has gone, and the second one looks like it.
  assert.throws(() => changed(text, (object) => void object.ids.shift()), /^TypeError: \/ids\/0 is 9007199254740992, .*client\.mergePatch/);
  const swapped = `{"a":{"n":${FIRST}},"b":{"n":${SECOND}}}`;
  assert.throws(() => changed(swapped, (object) => void (object.b = object.a)), /has several such numbers/);
});

test("a new number that JavaScript may have rounded is refused, and a bigint is written", () => {
  const large = 2 ** 53;

  assert.throws(() => client.mergePatch(LIMITS, "shop/web", { spec: { bytes: large } }), (error) => {
    assert.equal(error.name, "TypeError");
    assert.match(error.message, /^\/spec\/bytes is 9007199254740992, .* rounded .*: change the object by client\.modify, or write a BigInt, such as 9007199254740993n$/);
    return true;
  });
  assert.throws(() => client.create(LIMITS, { metadata: {}, spec: { bytes: -large } }), /\/spec\/bytes is -9007199254740992/);
  // As null it would remove the field.
  for (const number of [NaN, Infinity]) {
    assert.throws(() => client.mergePatch(LIMITS, "shop/web", { spec: { x: number } }), /\/spec\/x is (NaN|Infinity), which JSON cannot hold/);
  }
  assert.deepEqual(host.calls, []);
  host.put(LIMITS, limit());
  client.mergePatch(LIMITS, "shop/web", { spec: { bytes: 9007199254740993n } });
  assert.equal(host.cluster.find(LIMITS, { namespace: "shop", name: "web" }).spec.bytes, 9007199254740993n);
});

test("a value that JSON cannot hold is an error", () => {
  const loop = {};
  loop.loop = loop;

  assert.throws(() => stringify(loop), /^TypeError: the value refers to itself, or is nested too deeply/);
  assert.throws(() => client.mergePatch(LIMITS, "shop/web", undefined), /^TypeError: undefined cannot be written as JSON/);
});

test("a text with long strings takes no longer than its length", () => {
  const text = JSON.stringify({ a: "\\".repeat(500_000), b: '"'.repeat(500_000), c: Array.from({ length: 50_000 }, (_, at) => `${at}.5`) });
  const begun = performance.now();

  assert.equal(changed(text, (object) => void (object.d = 1)), `${text.slice(0, -1)},"d":1}`);

  assert.ok(performance.now() - begun < 5000);
});
