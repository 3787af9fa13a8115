"""A controller: the host calls `reconcile` with the key of each Deployment that changed."""

from informer_sdk import App, lister

DEPLOYMENTS = "apps/v1/deployments"

app = App("__NAME__", "0.1.0")


@app.reconcile
def reconcile(key):
    """Makes the world match the object. What is raised here is a failure: the key is retried with a growing delay."""
    fields = lister.get_fields(DEPLOYMENTS, key, ["/spec/replicas", "/spec/template/spec/containers/0/image"])
    if fields is None:
        print(f"{key} is gone")
        return
    replicas, image = fields
    print(f"reconciled {key}: {1 if replicas is None else replicas} x {image}")


Plugin, Reconciler = app.Plugin, app.Reconciler
