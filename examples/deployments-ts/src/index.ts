// Prints each change of a deployment. Once, after the first sync, it lists the deployments of one namespace.
// ../README.md describes the lines. The examples in the other languages print the same lines.

import { type KubeObject, definePlugin, lister } from "informer-sdk";

const DEPLOYMENTS = "apps/v1/deployments";
const NAMESPACE = "default";

let listed = false;

export const { plugin, handler } = definePlugin({
  name: "deployments-ts",
  version: "0.1.0",
  onAdd: (object, cause) => print(`added ${named(object)}, ${cause})`),
  onUpdate: (old, object, cause) => print(`updated ${named(old)} -> ${object.resourceVersion}, ${cause})`),
  onDelete: (object, finalStateKnown) =>
    print(`deleted ${named(object)}${finalStateKnown ? "" : ", final state unknown"})`),
});

// The key and the resource version; the parenthesis stays open.
function named({ key, resourceVersion }: KubeObject): string {
  return `${key} (rv ${resourceVersion}`;
}

function print(line: string): void {
  console.log(line);
  listOnce();
}

// Prints the deployments of the namespace once, as soon as the cache holds all of them.
function listOnce(): void {
  if (listed || !lister.hasSynced(DEPLOYMENTS)) return;
  const found = [...lister.listMeta(DEPLOYMENTS, { namespace: NAMESPACE })];
  console.log(`deployments in ${NAMESPACE}: ${found.length}`);
  found.forEach(({ name }, index) => console.log(`${index + 1} -> ${name}`));
  listed = true;
}
