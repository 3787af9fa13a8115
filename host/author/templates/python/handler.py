"""A plugin: the host calls the functions when a Deployment is added, updated or deleted."""

import logging

from informer_sdk import App, keyvalue, lister

app = App("__NAME__", "0.1.0")


@app.on_add
def added(obj, cause):
    report("added", obj)


@app.on_update
def updated(old, obj, cause):
    report("updated", obj)


@app.on_delete
def deleted(obj, final_state_known):
    with keyvalue.open("changes") as bucket:
        changes = bucket.get(obj.key, 0)
        bucket.delete(obj.key)
    logging.info(f"deleted {obj.key} after {changes} changes")


def report(what, obj):
    """Logs two fields of the object, the number of objects in its namespace, and how often it has changed.

    What is raised here is a failure: the host logs it and calls the function again.
    """
    replicas, image = obj.get_many("/spec/replicas", "/spec/template/spec/containers/0/image")
    neighbours = sum(1 for _ in lister.list_meta("apps/v1/deployments", namespace=obj.namespace))
    # Values in a bucket are on the disk of the host: they survive restarts.
    with keyvalue.open("changes") as bucket:
        change = bucket.increment(obj.key)
    line = f"{what} {obj.key}: {1 if replicas is None else replicas} x {image}, {neighbours} in {obj.namespace}, change {change}"
    logging.info(line, extra={"rv": obj.resource_version})


Plugin, Handler = app.Plugin, app.Handler
