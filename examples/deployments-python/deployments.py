"""Prints each change of a deployment. Once, after the first sync, it lists the deployments of one namespace.

../README.md describes the lines. The examples in the other languages print the same lines.
"""

from functools import wraps

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.handler import Failure_Retry
from wit_world.exports.plugin import Info
from wit_world.imports import lister, objects
from wit_world.imports.lister import Page, Selector

DEPLOYMENTS = "apps/v1/deployments"
NAMESPACE = "default"


class Plugin(exports.Plugin):
    def describe(self):
        return Info(name="deployments-python", version="0.1.0", sdk="componentize-py 0.25.1")

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
            code = refused.value.code.name.lower().replace("_", "-")
            raise Err(Failure_Retry(f"{code}: {refused.value.message}")) from refused
        except Exception as error:
            raise Err(Failure_Retry(repr(error))) from error

    return call


class Handler(exports.Handler):
    @retrying
    def on_add(self, object, cause):
        meta = object.meta
        print(f"added {key(meta)} (rv {meta.resource_version}, {cause.name.lower()})")
        list_once()

    @retrying
    def on_update(self, old, new, cause):
        before, after = objects.meta(old).resource_version, new.meta.resource_version
        print(f"updated {key(new.meta)} (rv {before} -> {after}, {cause.name.lower()})")
        list_once()

    @retrying
    def on_delete(self, object, final_state_known):
        doubt = "" if final_state_known else ", final state unknown"
        print(f"deleted {key(object.meta)} (rv {object.meta.resource_version}{doubt})")
        list_once()


listed = False


def list_once():
    """Prints the deployments of the namespace once, as soon as the cache holds all of them."""
    global listed
    if listed or not lister.has_synced(DEPLOYMENTS):
        return
    found = list(list_all(Selector(namespace=NAMESPACE, labels="", index=None)))
    print(f"deployments in {NAMESPACE}: {len(found)}")
    for number, meta in enumerate(found, start=1):
        print(f"{number} -> {meta.name}")
    listed = True


def list_all(selector):
    token = None
    while True:
        page = lister.list_meta(DEPLOYMENTS, selector, Page(limit=0, token=token))
        yield from page.items
        token = page.next
        if token is None:
            return


def key(meta):
    return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
