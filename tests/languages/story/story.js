// What a plugin in JavaScript does with the SDK. story.py does the same.

import {
  ApiError, HostError, PermanentError, RetryAfterError, callAgain, client, definePlugin, delivery, isOwnWrite, keyvalue, lister, timer,
} from "informer-sdk";

const DEPLOYMENTS = "apps/v1/deployments";
const WEB = "default/web";
const APPLIED = "example.com/applied";

console.log("this line is written when the component is built");

export const { plugin, handler, syncHandler, timerHandler, configHandler } = definePlugin({
  name: "story",
  start(config) {
    console.info("started", { greeting: config.greeting });
  },
  onAdd(object) {
    if (object.name === "go") tell(object);
    if (object.name === "later" && delivery().attempt === 1) throw new RetryAfterError("soon", 5);
    if (object.name === "later") console.log(`later: attempt ${delivery().attempt}`);
    if (object.name === "bad") explode();
    if (object.name === "uncaught") lister.get("v1/secrets", "default/x");
    if (object.name === "again") callAgain(5);
  },
  onUpdate(old, object, cause) {
    if (object.name === "again") console.log(`again: ${cause}`);
    if (object.get(`/metadata/annotations/${APPLIED.replace("/", "~1")}`) === "yes") {
      console.log(`own write: ${isOwnWrite(object)}, differs: ${object.differs(old, "/metadata/annotations")}`);
    }
  },
  onSynced({ gvr, count, resourceVersion }) {
    // The plugin with the signals has one object.
    if (count !== 1) return;
    const cache = lister.state(gvr);
    const fresh = cache.resourceVersion !== "" && cache.ageMs < 60_000;
    console.log(`synced: ${gvr}, version: ${resourceVersion !== ""}, cache: ${cache.synced} ${fresh}`);
    const values = [...lister.indexValues(gvr, "app", { pageSize: 2 })].map(({ value, objects }) => `${value} ${objects}`);
    console.log(`values: ${values.join(", ")}`);
    timer.after("never", 50);
    timer.cancel("never");
    timer.after("soon", 5);
    timer.after("bad", 5);
    console.log(`taken: ${refused(() => timer.after("tick", 5))}`);
  },
  onTimer(name) {
    if (name === "bad") explode();
    if (name === "soon" && delivery().attempt === 1) throw new Error("not yet");
    console.log(`timer: ${name}, again: ${refused(() => callAgain(5))}`);
  },
  onConfig({ greeting, mood }) {
    console.log(`config: ${greeting} ${mood}`);
  },
});

function refused(call) {
  try {
    call();
  } catch (error) {
    if (error instanceof HostError) return error.code;
    throw error;
  }
}

function tell(object) {
  const names = [...lister.listMeta(DEPLOYMENTS, { namespace: "default", pageSize: 2 })].map(({ name }) => name);
  console.log(`pages: ${names.join(",")}`);
  console.log(`refused: ${refused(() => lister.get("v1/secrets", "default/x"))}`);
  try {
    client.get(DEPLOYMENTS, "default/none");
  } catch (error) {
    console.log(`missing: ${error instanceof ApiError && error.code} ${error.status}`);
  }
  let attempts = 0;
  const changed = client.modify(DEPLOYMENTS, WEB, ({ metadata }) => {
    attempts += 1;
    if (attempts === 1) client.mergePatch(DEPLOYMENTS, WEB, { metadata: { labels: { tier: "meanwhile" } } });
    metadata.labels.tier = "changed";
  });
  console.log(`changed at attempt ${attempts}: ${changed.metadata.labels.tier}`);
  // JavaScript rounds this number. The test of the patch fails if a write has rounded it.
  const seconds = 9007199254740993n;
  client.mergePatch(DEPLOYMENTS, WEB, { spec: { template: { spec: { terminationGracePeriodSeconds: seconds } } } });
  client.modify(DEPLOYMENTS, WEB, ({ spec }) => void (spec.paused = true));
  client.jsonPatch(DEPLOYMENTS, WEB, [{ op: "test", path: "/spec/template/spec/terminationGracePeriodSeconds", value: seconds }]);
  const bucket = keyvalue.open("story");
  bucket.set("ключ", { text: "späti 🦀" });
  console.log(`kept: ${bucket.get("ключ").text}, ${bucket.increment("n", 2)}, ${[...bucket.keys()].length} keys`);
  client.recordEvent(DEPLOYMENTS, object, { reason: "Told", action: "Telling", note: "the story" });
  const { apiVersion, kind } = object.body;
  const metadata = { namespace: "default", name: "web", annotations: { [APPLIED]: "yes" } };
  const applied = client.apply(DEPLOYMENTS, { apiVersion, kind, metadata });
  console.log(`applied: ${applied.metadata.annotations[APPLIED]}`);
}

function explode() {
  throw new PermanentError("boom", { cause: new RangeError("far") });
}
