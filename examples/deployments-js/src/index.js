// Prints each change of a deployment. Once, after the first sync, it lists the deployments of one namespace.
// ../README.md describes the lines. The examples in the other languages print the same lines.

import { definePlugin, lister } from "informer-sdk";

const DEPLOYMENTS = "apps/v1/deployments";
const NAMESPACE = "default";

let listed = false;

export const { plugin, handler } = definePlugin({
  name: "deployments-js",
  version: "0.1.0",
  onAdd(object, cause) {
    console.log(`added ${object.key} (rv ${object.resourceVersion}, ${cause})`);
    listOnce();
  },
  onUpdate(old, object, cause) {
    console.log(`updated ${object.key} (rv ${old.resourceVersion} -> ${object.resourceVersion}, ${cause})`);
    listOnce();
  },
  onDelete(object, finalStateKnown) {
    const doubt = finalStateKnown ? "" : ", final state unknown";
    console.log(`deleted ${object.key} (rv ${object.resourceVersion}${doubt})`);
    listOnce();
  },
});

// Prints the deployments of the namespace once, as soon as the cache holds all of them.
function listOnce() {
  if (listed || !lister.hasSynced(DEPLOYMENTS)) return;
  const found = [...lister.listMeta(DEPLOYMENTS, { namespace: NAMESPACE })];
  console.log(`deployments in ${NAMESPACE}: ${found.length}`);
  found.forEach(({ name }, index) => console.log(`${index + 1} -> ${name}`));
  listed = true;
}
