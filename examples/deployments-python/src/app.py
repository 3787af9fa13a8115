"""Prints each change of a deployment. Once, after the first sync, it lists the deployments of one namespace.

../README.md describes the lines. The examples in the other languages print the same lines.
"""

from informer_sdk import App, lister

DEPLOYMENTS = "apps/v1/deployments"
NAMESPACE = "default"

app = App("deployments-python", "0.1.0")
listed = False


@app.on_add
def added(obj, cause):
    print(f"added {obj.key} (rv {obj.resource_version}, {cause})")
    list_once()


@app.on_update
def updated(old, obj, cause):
    print(f"updated {obj.key} (rv {old.resource_version} -> {obj.resource_version}, {cause})")
    list_once()


@app.on_delete
def deleted(obj, final_state_known):
    doubt = "" if final_state_known else ", final state unknown"
    print(f"deleted {obj.key} (rv {obj.resource_version}{doubt})")
    list_once()


def list_once():
    """Prints the deployments of the namespace once, as soon as the cache holds all of them."""
    global listed
    if listed or not lister.has_synced(DEPLOYMENTS):
        return
    found = list(lister.list_meta(DEPLOYMENTS, namespace=NAMESPACE))
    print(f"deployments in {NAMESPACE}: {len(found)}")
    for number, meta in enumerate(found, start=1):
        print(f"{number} -> {meta.name}")
    listed = True


Plugin, Handler = app.Plugin, app.Handler
