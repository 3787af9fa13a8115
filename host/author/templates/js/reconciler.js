// A controller: the host calls `reconcile` with the key of each Deployment that changed.

import { definePlugin, lister } from "informer-sdk";

const DEPLOYMENTS = "apps/v1/deployments";

export const { plugin, reconciler } = definePlugin({
  name: "__NAME__",
  version: "0.1.0",
  // Makes the world match the object. What is thrown here is a failure: the key is retried with a growing delay.
  reconcile(key) {
    const fields = lister.getFields(DEPLOYMENTS, key, ["/spec/replicas", "/spec/template/spec/containers/0/image"]);
    if (fields === undefined) {
      console.log(`${key} is gone`);
      return;
    }
    const [replicas = 1, image] = fields;
    console.log(`reconciled ${key}: ${replicas} x ${image}`);
  },
});
