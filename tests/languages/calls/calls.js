// A reconciler that is called 10,000 times. calls.c does the same.
import { HostError, definePlugin, keyvalue, lister, workqueue } from "informer-sdk";

const CALLS = 10_000;
const DEPLOYMENTS = "apps/v1/deployments";
const BIG = "/spec/template/spec/containers/0/env/0/value";

let calls = 0;

export const { plugin, reconciler } = definePlugin({ name: "calls", reconcile });

function reconcile(key) {
  if (key === "default/big") {
    const [text] = lister.getFields(DEPLOYMENTS, key, [BIG]);
    console.log(`big: ${text.length} characters, ${text.slice(-4)}`);
    return;
  }
  const object = lister.get(DEPLOYMENTS, key);
  const bucket = keyvalue.open("calls");
  if (calls % 10 === 0) bucket.set(key, object);
  if (bucket.get(key).metadata.name !== object.metadata.name) throw new Error("another value was kept");
  for (const _ of lister.listMeta(DEPLOYMENTS, { labels: "app=web" }));
  try {
    lister.get("v1/secrets", key);
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
  }
  calls += 1;
  if (calls % 1000 === 0) console.log(`${calls} calls`);
  // A key that is added during its call is reconciled again at once.
  if (calls < CALLS) workqueue.add(key);
  if (calls % 2 === 1) throw new Error(`call ${calls}`);
}
