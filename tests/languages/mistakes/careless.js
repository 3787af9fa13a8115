// Mistakes at run time.
import { definePlugin, lister } from "informer-sdk";

export const { plugin, handler } = definePlugin({
  name: "careless",
  onAdd(object) {
    if (object.name === "boom") boom(object);
    else if (object.name === "spin") spin();
    else if (object.name === "eat") eat();
    else [...lister.listMeta(object.gvr)];
  },
});

function boom(object) {
  console.log(object.get("/data/colour").length);
}

function spin() {
  for (;;);
}

function eat() {
  const eaten = [];
  for (;;) eaten.push(new Uint8Array(1 << 20));
}
