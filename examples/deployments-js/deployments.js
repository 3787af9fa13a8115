// Prints each change of a deployment. Once, after the first sync, it lists the deployments of one namespace.
// ../README.md describes the lines. The examples in the other languages print the same lines.

import { hasSynced, listMeta } from "informer:plugin/lister@0.1.0";
import { write } from "informer:plugin/log@0.1.0";
import { meta } from "informer:plugin/objects@0.1.0";

const DEPLOYMENTS = "apps/v1/deployments";
const NAMESPACE = "default";

let listed = false;

export const plugin = {
  describe: () => ({ name: "deployments-js", version: "0.1.0", sdk: "componentize-qjs 0.4.3" }),
  start() {},
  stop() {},
};

export const handler = {
  onAdd: retrying((object, cause) => {
    print(`added ${key(object.meta)} (rv ${object.meta.resourceVersion}, ${cause})`);
    listOnce();
  }),
  onUpdate: retrying((old, object, cause) => {
    const { resourceVersion } = object.meta;
    print(`updated ${key(object.meta)} (rv ${meta(old).resourceVersion} -> ${resourceVersion}, ${cause})`);
    listOnce();
  }),
  onDelete: retrying((object, finalStateKnown) => {
    const doubt = finalStateKnown ? "" : ", final state unknown";
    print(`deleted ${key(object.meta)} (rv ${object.meta.resourceVersion}${doubt})`);
    listOnce();
  }),
};

// Prints the deployments of the namespace once, as soon as the cache holds all of them.
function listOnce() {
  if (listed || !hasSynced(DEPLOYMENTS)) return;
  const found = listAll({ namespace: NAMESPACE, labels: "", index: null });
  print(`deployments in ${NAMESPACE}: ${found.length}`);
  found.forEach((object, index) => print(`${index + 1} -> ${object.name}`));
  listed = true;
}

function listAll(selector) {
  const found = [];
  let token = null;
  do {
    const page = listMeta(DEPLOYMENTS, selector, { limit: 0, token });
    found.push(...page.items);
    token = page.next;
  } while (token !== null);
  return found;
}

// The engine has no `console`, so the plugin writes to the log interface.
function print(line) {
  write("info", line, []);
}

function key({ namespace, name }) {
  return namespace === "" ? name : `${namespace}/${name}`;
}

// A handler must throw a `failure`. Any other exception is a trap, and the host drops the instance.
function retrying(handle) {
  return (...args) => {
    try {
      handle(...args);
    } catch (error) {
      throw { tag: "retry", val: explain(error) };
    }
  };
}

// A refused call to the host throws an exception with an `error` record in `payload`.
function explain(error) {
  const refusal = error?.payload;
  return refusal ? `${refusal.code}: ${refusal.message}` : String(error);
}
