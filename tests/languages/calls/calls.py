"""A reconciler that is called 10,000 times. calls.c does the same."""

from informer_sdk import App, HostError, keyvalue, lister, workqueue

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
        return
    with keyvalue.open("calls") as bucket:
        obj = lister.get(DEPLOYMENTS, key)
        if calls % 10 == 0:
            bucket.set(key, obj)
        if bucket.get(key)["metadata"]["name"] != obj["metadata"]["name"]:
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
    if calls < CALLS:
        workqueue.add(key)
    if calls % 2 == 1:
        raise ValueError(f"call {calls}")


Plugin, Reconciler = app.Plugin, app.Reconciler
