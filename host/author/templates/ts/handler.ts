// A plugin: the host calls the handlers when a Deployment is added, updated or deleted.

import { type KubeObject, definePlugin, keyvalue, lister } from "informer-sdk";

export const { plugin, handler } = definePlugin({
  name: "__NAME__",
  version: "0.1.0",
  onAdd: (object) => report("added", object),
  onUpdate: (old, object) => report("updated", object),
  onDelete(object) {
    const changes = keyvalue.open("changes");
    console.log(`deleted ${object.key} after ${changes.get(object.key) ?? 0} changes`);
    changes.delete(object.key);
  },
});

// Logs two fields of the object, the number of objects in its namespace, and how often it has changed. What is thrown here is a
// failure: the host logs it and calls the handler again.
function report(what: string, object: KubeObject): void {
  const [replicas = 1, image] = object.getMany("/spec/replicas", "/spec/template/spec/containers/0/image");
  const { namespace } = object;
  const neighbours = [...lister.listMeta("apps/v1/deployments", { namespace })].length;
  // Values in a bucket are on the disk of the host: they survive restarts.
  const change = keyvalue.open("changes").increment(object.key);
  const line = `${what} ${object.key}: ${replicas} x ${image}, ${neighbours} in ${namespace}, change ${change}`;
  console.log(line, { rv: object.resourceVersion });
}
