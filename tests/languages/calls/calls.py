"""A reconciler that is called 10,000 times. calls.c does the same."""

from informer_sdk import App, HostError, Requeue, keyvalue, lister

CALLS = 10_000
DEPLOYMENTS = "apps/v1/deployments"
BIG = "/spec/template/spec/containers/0/env/0/value"

app = App("calls")
calls = 0


@app.reconcile
def reconcile(key):
    global calls
    if key == "default/big":
        text = lister.get_fields(DEPLOYMENTS, key, [BIG])[0]
        print(f"big: {len(text)} characters, {text[-4:]}")
        return None
    with keyvalue.open("calls") as bucket:
        bucket.set(key, lister.get(DEPLOYMENTS, key))
        if bucket.get(key)["metadata"]["name"] != "web":
            raise ValueError("another value was kept")
    for _ in lister.list_meta(DEPLOYMENTS, labels="app=web"):
        pass
    try:
        lister.get("v1/secrets", key)
    except HostError:
        pass
    calls += 1
    if calls % 1000 == 0:
        print(f"{calls} calls")
    if calls % 2 == 1:
        raise ValueError(f"call {calls}")
    return Requeue(after=0) if calls < CALLS else None


Plugin, Reconciler = app.Plugin, app.Reconciler
