"""A plugin: the host calls the handlers when a Deployment is added, updated or deleted."""

import json
from functools import wraps

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.handler import Failure_Permanent, Failure_Retry, Failure_RetryAfter
from wit_world.exports.plugin import Info
from wit_world.imports import lister, log, objects, wasi_keyvalue_store as store
from wit_world.imports.lister import Page, Selector

DEPLOYMENTS = "apps/v1/deployments"
FAILURES = (Failure_Retry, Failure_RetryAfter, Failure_Permanent)


class Plugin(exports.Plugin):
    def describe(self):
        return Info(name="__NAME__", version="0.1.0", sdk="informer build")

    def start(self, config):
        pass

    def stop(self):
        pass


def retrying(handle):
    """Turns every exception into a `Failure`. Any other exception is a trap, and the host drops the instance."""

    @wraps(handle)
    def call(*args):
        try:
            handle(*args)
        except Err as refused:
            if isinstance(refused.value, FAILURES):
                raise
            raise Err(Failure_Retry(f"the host refused the call: {refused.value}")) from refused
        except Exception as error:
            raise Err(Failure_Retry(repr(error))) from error

    return call


class Handler(exports.Handler):
    @retrying
    def on_add(self, object, cause):
        report("added", object)

    @retrying
    def on_update(self, old, new, cause):
        report("updated", new)

    @retrying
    def on_delete(self, object, final_state_known):
        with store.open("changes") as bucket:
            changes = count(bucket, key(object))
            bucket.delete(key(object))
        write(f"deleted {key(object)} after {changes} changes", object)


def report(what, object):
    """Logs two fields of the object, the number of objects in its namespace, and how often it has changed."""
    fields = objects.get_many(object.id, ["/spec/replicas", "/spec/template/spec/containers/0/image"])
    replicas, image = (None if text is None else json.loads(text) for text in fields)
    namespace = object.meta.namespace
    neighbours = sum(1 for _ in list_all(namespace))
    # Values in a bucket are on the disk of the host: they survive restarts.
    with store.open("changes") as bucket:
        changes = count(bucket, key(object)) + 1
        bucket.set(key(object), str(changes).encode())
    write(f"{what} {key(object)}: {replicas or 1} x {image}, {neighbours} in {namespace}, change {changes}", object)


def list_all(namespace):
    """The metadata of all objects of a namespace, page by page from the cache of the host."""
    token = None
    while True:
        page = lister.list_meta(DEPLOYMENTS, Selector(namespace, "", None), Page(0, token))
        yield from page.items
        token = page.next
        if token is None:
            return


def count(bucket, name):
    kept = bucket.get(name)
    return 0 if kept is None else int(kept)


def key(object):
    return f"{object.meta.namespace}/{object.meta.name}"


def write(line, object):
    log.write(log.Level.INFO, line, [("rv", object.meta.resource_version)])
