// A controller without handlers: the host calls `reconcile` with the key of each pod that changed.
// ../pods-workqueue is the same controller in Rust, with handlers. It prints the same lines.

import { definePlugin, lister, workqueue } from "informer-sdk";

const PODS = "v1/pods";

// A pod with this annotation cannot be synced. The annotation simulates a downstream system that fails.
const BROKEN = "/metadata/annotations/example.com~1broken";

export const { plugin, reconciler } = definePlugin({
  name: "pods-controller-js",
  version: "0.1.0",
  reconcile(key) {
    const fields = lister.getFields(PODS, key, ["/status/phase", BROKEN]);
    if (fields === undefined) {
      console.log(`pod ${key} does not exist any more`);
      return;
    }
    const [phase = "no phase yet", broken] = fields;
    if (broken !== undefined) {
      console.warn(`error syncing pod ${key}, retried ${workqueue.numRequeues(key)} times: ${broken}`);
      throw new Error(broken);
    }
    console.log(`sync of pod ${key}: ${phase}`);
  },
});
