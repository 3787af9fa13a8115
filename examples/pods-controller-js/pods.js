// A controller without handlers: the host calls `reconcile` with the key of each pod that changed.
// ../pods-workqueue is the same controller in Rust, with handlers. It prints the same lines.

import { getFields } from "informer:plugin/lister@0.1.0";
import { write } from "informer:plugin/log@0.1.0";
import { numRequeues } from "informer:plugin/workqueue@0.1.0";

const PODS = "v1/pods";

// A pod with this annotation cannot be synced. The annotation simulates a downstream system that fails.
const BROKEN = "/metadata/annotations/example.com~1broken";

export const plugin = {
  describe: () => ({ name: "pods-controller-js", version: "0.1.0", sdk: "componentize-qjs 0.4.3" }),
  start() {},
  stop() {},
};

export const reconciler = {
  reconcile: retrying((key) => {
    const fields = getFields(PODS, parse(key), ["/status/phase", BROKEN]);
    if (fields === null) {
      write("info", `pod ${key} does not exist any more`, []);
      return { tag: "done" };
    }
    const [phase, broken] = fields.map((text) => (text === null ? null : JSON.parse(text)));
    if (broken !== null) {
      write("warn", `error syncing pod ${key}, retried ${numRequeues(key)} times: ${broken}`, []);
      throw { tag: "retry", val: broken };
    }
    write("info", `sync of pod ${key}: ${phase ?? "no phase yet"}`, []);
    return { tag: "done" };
  }),
};

function parse(key) {
  const [namespace, name] = key.split("/");
  return { namespace, name };
}

// A reconciler must throw a `reconcile-error`. Any other exception is a trap, and the host drops the instance.
function retrying(reconcile) {
  return (key) => {
    try {
      return reconcile(key);
    } catch (error) {
      throw error?.tag ? error : { tag: "retry", val: explain(error) };
    }
  };
}

// A refused call to the host throws an exception with an `error` record in `payload`.
function explain(error) {
  const refusal = error?.payload;
  return refusal ? `${refusal.code}: ${refusal.message}` : String(error);
}
