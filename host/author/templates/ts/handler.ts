// A plugin: the host calls the handlers when a Deployment is added, updated or deleted.

import type { Cause, EventObject, Exports as Handler, Failure } from "informer:plugin/handler@0.1.0";
import { listMeta } from "informer:plugin/lister@0.1.0";
import { write } from "informer:plugin/log@0.1.0";
import { getMany } from "informer:plugin/objects@0.1.0";
import type { Exports as Plugin } from "informer:plugin/plugin@0.1.0";
import type { ObjectMeta } from "informer:plugin/types@0.1.0";
import { type Bucket, open } from "wasi:keyvalue/store@0.2.0-draft";

const DEPLOYMENTS = "apps/v1/deployments";

export const plugin: Plugin = {
  describe: () => ({ name: "__NAME__", version: "0.1.0", sdk: "informer build" }),
  start() {},
  stop() {},
};

export const handler: Handler = {
  onAdd: retrying((object: EventObject, _cause: Cause) => report("added", object)),
  onUpdate: retrying((_old: number, object: EventObject, _cause: Cause) => report("updated", object)),
  onDelete: retrying((object: EventObject, _finalStateKnown: boolean) => {
    const bucket = open("changes");
    const changes = count(bucket, key(object));
    bucket.delete(key(object));
    print(`deleted ${key(object)} after ${changes} changes`, object);
  }),
};

// Logs two fields of the object, the number of objects in its namespace, and how often it has changed.
function report(what: string, object: EventObject): void {
  const fields = getMany(object.id, ["/spec/replicas", "/spec/template/spec/containers/0/image"]);
  const [replicas, image] = fields.map((text) => (text === null ? null : JSON.parse(text)));
  const { namespace } = object.meta;
  const neighbours = list(namespace).length;
  // Values in a bucket are on the disk of the host: they survive restarts.
  const bucket = open("changes");
  const changes = count(bucket, key(object)) + 1;
  bucket.set(key(object), bytes(String(changes)));
  print(`${what} ${key(object)}: ${replicas ?? 1} x ${image}, ${neighbours} in ${namespace}, change ${changes}`, object);
}

// The metadata of all objects of a namespace, page by page from the cache of the host.
function list(namespace: string): ObjectMeta[] {
  const found: ObjectMeta[] = [];
  let token: string | null = null;
  do {
    const page = listMeta(DEPLOYMENTS, { namespace, labels: "", index: null }, { limit: 0, token });
    found.push(...page.items);
    token = page.next;
  } while (token !== null);
  return found;
}

function count(bucket: Bucket, name: string): number {
  const kept = bucket.get(name);
  return kept === null ? 0 : Number(String.fromCharCode(...kept));
}

function bytes(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

function key({ meta }: EventObject): string {
  return `${meta.namespace}/${meta.name}`;
}

// The engine has no `console`: lines go to the log of the host, with fields.
function print(line: string, object: EventObject): void {
  write("info", line, [["rv", object.meta.resourceVersion]]);
}

// A handler must throw a `Failure`. Any other exception is a trap, and the host drops the instance.
function retrying<A extends unknown[]>(handle: (...args: A) => void): (...args: A) => void {
  return (...args) => {
    try {
      handle(...args);
    } catch (error) {
      const failure: Failure = { tag: "retry", val: explain(error) };
      throw isFailure(error) ? error : failure;
    }
  };
}

function isFailure(error: unknown): error is Failure {
  return typeof error === "object" && error !== null && "tag" in error;
}

// A refused call to the host throws an exception with the error of the host in `payload`.
function explain(error: unknown): string {
  const refusal = (error as { payload?: { code?: string; tag?: string; message?: string; val?: string } }).payload;
  return refusal ? `${refusal.code ?? refusal.tag}: ${refusal.message ?? refusal.val}` : String(error);
}
