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
    is_own_write,
    keyvalue,
    lister,
)

DEPLOYMENTS = "apps/v1/deployments"
WEB = "default/web"
APPLIED = "example.com/applied"

app = App("story")
logging.info("this line is written when the component is built")


@app.start
def start(config):
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


@app.on_update
def updated(old, obj, cause):
    pointer = "/metadata/annotations/" + APPLIED.replace("/", "~1")
    if obj.get(pointer) == "yes":
        own, differs = is_own_write(obj), obj.differs(old, "/metadata/annotations")
        print(f"own write: {str(own).lower()}, differs: {str(differs).lower()}")


def tell(obj):
    names = [meta.name for meta in lister.list_meta(DEPLOYMENTS, namespace="default", page_size=2)]
    print(f"pages: {','.join(names)}")
    try:
        lister.get("v1/secrets", "default/x")
    except HostError as error:
        print(f"refused: {error.code}")
    try:
        client.get(DEPLOYMENTS, "default/none")
    except ApiError as error:
        print(f"missing: {error.code} {error.status}")
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


def explode():
    try:
        [][1]
    except IndexError as error:
        raise PermanentError("boom") from error


Plugin, Handler = app.Plugin, app.Handler
