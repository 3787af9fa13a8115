// A controller: the host calls `reconcile` with the key of each Deployment that changed.

import { getFields } from "informer:plugin/lister@0.1.0";
import { write } from "informer:plugin/log@0.1.0";

const DEPLOYMENTS = "apps/v1/deployments";

export const plugin = {
  describe: () => ({ name: "__NAME__", version: "0.1.0", sdk: "informer build" }),
  start() {},
  stop() {},
};

export const reconciler = {
  // Makes the world match the object. An error is retried with a growing delay.
  reconcile: retrying((key) => {
    const [namespace, name] = key.split("/");
    const pointers = ["/spec/replicas", "/spec/template/spec/containers/0/image"];
    const fields = getFields(DEPLOYMENTS, { namespace, name }, pointers);
    if (fields === null) {
      write("info", `${key} is gone`, []);
      return { tag: "done" };
    }
    const [replicas, image] = fields.map((text) => (text === null ? null : JSON.parse(text)));
    write("info", `reconciled ${key}: ${replicas ?? 1} x ${image}`, []);
    return { tag: "done" };
  }),
};

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

// A refused call to the host throws an exception with the error of the host in `payload`.
function explain(error) {
  const refusal = error?.payload;
  return refusal ? `${refusal.code}: ${refusal.message}` : `${error}\n${error?.stack ?? ""}`;
}
