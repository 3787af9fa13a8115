"""Mistakes at run time."""

from informer_sdk import App, lister

app = App("careless")


@app.on_add
def added(obj, cause):
    if obj.name == "boom":
        boom(obj)
    elif obj.name == "spin":
        spin()
    elif obj.name == "eat":
        eat()
    else:
        list(lister.list_meta(obj.gvr))


def boom(obj):
    print(len(obj.get("/data/colour")))


def spin():
    while True:
        pass


def eat():
    eaten = []
    while True:
        eaten.append(b"1" * (1 << 20))


Plugin, Handler = app.Plugin, app.Handler
