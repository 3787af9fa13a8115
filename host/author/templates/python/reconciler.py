"""A controller: the host calls `reconcile` with the key of each Deployment that changed."""

import json

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.plugin import Info
from wit_world.exports.reconciler import Outcome_Done, ReconcileError_Retry, ReconcileError_Terminal
from wit_world.imports import lister, log
from wit_world.imports.types import ObjectKey

DEPLOYMENTS = "apps/v1/deployments"
FAILURES = (ReconcileError_Retry, ReconcileError_Terminal)


class Plugin(exports.Plugin):
    def describe(self):
        return Info(name="__NAME__", version="0.1.0", sdk="informer build")

    def start(self, config):
        pass

    def stop(self):
        pass


class Reconciler(exports.Reconciler):
    def reconcile(self, key):
        """Any exception but a failure of the interface would be a trap, and the host would drop the instance."""
        try:
            return reconcile(key)
        except Err as refused:
            if isinstance(refused.value, FAILURES):
                raise
            raise Err(ReconcileError_Retry(f"the host refused the call: {refused.value}")) from refused
        except Exception as error:
            raise Err(ReconcileError_Retry(repr(error))) from error


def reconcile(key):
    """Makes the world match the object. An error is retried with a growing delay."""
    namespace, _, name = key.rpartition("/")
    pointers = ["/spec/replicas", "/spec/template/spec/containers/0/image"]
    fields = lister.get_fields(DEPLOYMENTS, ObjectKey(namespace, name), pointers)
    if fields is None:
        log.write(log.Level.INFO, f"{key} is gone", [])
        return Outcome_Done()
    replicas, image = (None if text is None else json.loads(text) for text in fields)
    log.write(log.Level.INFO, f"reconciled {key}: {replicas or 1} x {image}", [])
    return Outcome_Done()
