"""What a plugin in Python does with the SDK. story.js does the same."""

import logging

from informer_sdk import (
    ApiError,
    App,
    HostError,
    PermanentError,
    RetryAfter,
    client,
    delivery,
    http,
    is_own_write,
    keyvalue,
    lister,
    timer,
)

DEPLOYMENTS = "apps/v1/deployments"
WEB = "default/web"
APPLIED = "example.com/applied"

app = App("story")
logging.info("this line is written when the component is built")


url = ""


@app.start
def start(config):
    global url
    url = config["url"]
    logging.info("started", extra={"greeting": config["greeting"]})


@app.on_add
def added(obj, cause):
    if obj.name == "go":
        tell(obj)
    if obj.name == "later":
        attempt = delivery.current().attempt
        if attempt == 1:
            raise RetryAfter("soon", 0.005)
        print(f"later: attempt {attempt}")
    if obj.name == "bad":
        explode()
    if obj.name == "uncaught":
        lister.get("v1/secrets", "default/x")
    if obj.name == "again":
        delivery.call_again(0.005)


@app.on_update
def updated(old, obj, cause):
    if obj.name == "again":
        print(f"again: {cause}")
    pointer = "/metadata/annotations/" + APPLIED.replace("/", "~1")
    if obj.get(pointer) == "yes":
        own, differs = is_own_write(obj), obj.differs(old, "/metadata/annotations")
        print(f"own write: {word(own)}, differs: {word(differs)}")


@app.on_synced
def synced(synced):
    # The plugin with the signals has one object.
    if synced.count != 1:
        return
    cache = lister.state(synced.gvr)
    fresh = cache.resource_version != "" and cache.age < 60
    version = synced.resource_version != ""
    print(f"synced: {synced.gvr}, version: {word(version)}, cache: {word(cache.synced)} {word(fresh)}")
    values = lister.index_values(synced.gvr, "app", page_size=2)
    print("values: " + ", ".join(f"{found.value} {found.objects}" for found in values))
    timer.after("never", 0.05)
    timer.cancel("never")
    timer.after("soon", 0.005)
    timer.after("bad", 0.005)
    print(f"taken: {refused(timer.after, 'tick', 0.005)}")


@app.on_timer
def fired(name):
    if name == "bad":
        explode()
    if name == "soon" and delivery.current().attempt == 1:
        raise ValueError("not yet")
    print(f"timer: {name}, again: {refused(delivery.call_again, 0.005)}")


@app.on_config
def changed(config):
    print(f"config: {config['greeting']} {config['mood']}")


def word(truth):
    return str(truth).lower()


def refused(function, *args):
    try:
        function(*args)
    except HostError as error:
        return error.code
    return "no"


def tell(obj):
    names = [meta.name for meta in lister.list_meta(DEPLOYMENTS, namespace="default", page_size=2)]
    print(f"pages: {','.join(names)}")
    print(f"refused: {refused(lister.get, 'v1/secrets', 'default/x')}")
    try:
        client.get(DEPLOYMENTS, "default/none")
    except ApiError as error:
        print(f"missing: {error.code} {error.status}")
    call()
    attempts = []

    def change(web):
        if not attempts:
            client.merge_patch(DEPLOYMENTS, WEB, {"metadata": {"labels": {"tier": "meanwhile"}}})
        attempts.append(web["metadata"]["resourceVersion"])
        web["metadata"]["labels"]["tier"] = "changed"

    changed = client.modify(DEPLOYMENTS, WEB, change)
    print(f"changed at attempt {len(attempts)}: {changed['metadata']['labels']['tier']}")
    with keyvalue.open("story") as bucket:
        bucket.set("ключ", {"text": "späti 🦀"})
        text, number, keys = bucket.get("ключ")["text"], bucket.increment("n", 2), len(list(bucket.keys()))
    print(f"kept: {text}, {number}, {keys} keys")
    client.record_event(DEPLOYMENTS, obj, "Told", "Telling", "the story")
    metadata = {"namespace": "default", "name": "web", "annotations": {APPLIED: "yes"}}
    kind = {"apiVersion": obj.body["apiVersion"], "kind": obj.body["kind"]}
    applied = client.apply(DEPLOYMENTS, {**kind, "metadata": metadata})
    print(f"applied: {applied['metadata']['annotations'][APPLIED]}")


def call():
    answer = http.request("POST", f"{url}/hook", headers={"X-Mood": "calm", "Content-Length": "1"}, body="späti")
    print(f"http: {answer.status} {answer.headers['x-heard']}, {answer.text}")
    large = http.request("POST", f"{url}/hook", body=b"x" * 10_000)
    print(f"http: {len(large.body) - len('POST ')} bytes")
    print(f"denied: {refused(http.get, f'{url}/other')}")


def explode():
    try:
        [][1]
    except IndexError as error:
        raise PermanentError("boom") from error


Plugin, Handler = app.Plugin, app.Handler
SyncHandler, TimerHandler, ConfigHandler = app.SyncHandler, app.TimerHandler, app.ConfigHandler
