"""Logs a report about all Deployments each hour: replicas by namespace, and the images without a version.

The plugin makes no request: it reads the cache that the host keeps. It also warns about a new Deployment at once.
"""

import logging
from collections import Counter, defaultdict

from informer_sdk import App, lister

DEPLOYMENTS = "apps/v1/deployments"
CONTAINERS = "/spec/template/spec/containers"

app = App("report", "0.1.0")


@app.on_add
def added(obj, cause):
    if cause == "live":
        for image in unversioned(obj.get(CONTAINERS)):
            logging.warning("%s has no version", image, extra={"object": str(obj.key)})


@app.on_timer
def report(_name):
    wanted, users = Counter(), defaultdict(list)
    for found in lister.list_fields(DEPLOYMENTS, ["/spec/replicas", CONTAINERS]):
        replicas, containers = found.values
        wanted[found.key.namespace] += 1 if replicas is None else replicas
        for image in unversioned(containers):
            users[image].append(str(found.key))
    print(f"{wanted.total()} replicas in {len(wanted)} namespaces")
    most = sorted(wanted.items(), key=lambda item: item[1], reverse=True)
    for namespace, replicas in most[:3]:
        print(f"  {namespace}: {replicas}")
    for image, keys in sorted(users.items()):
        print(f"{image} has no version, and is used by {', '.join(keys)}")


def unversioned(containers):
    """The images without a digest, and without a tag or with the tag `latest`."""
    for container in containers or []:
        image = container["image"]
        _, _, tag = image.rpartition("/")[2].partition(":")
        if "@" not in image and tag in ("", "latest"):
            yield image


Plugin, Handler, TimerHandler = app.Plugin, app.Handler, app.TimerHandler
