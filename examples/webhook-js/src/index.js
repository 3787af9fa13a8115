// Sends a message to a webhook for each Deployment that gets another image.

import { definePlugin, http } from "informer-sdk";

const CONTAINERS = "/spec/template/spec/containers";

let url;

export const { plugin, handler } = definePlugin({
  name: "webhook",
  version: "0.1.0",
  start: (config) => (url = config.url),
  onUpdate(old, object) {
    const [before, after] = [images(old), images(object)];
    if (before === after) return;
    const text = `${object.key}: ${before} -> ${after}`;
    const answer = http.fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ text }),
    });
    // The host calls the handler again later, with a growing delay.
    if (!answer.ok) throw new Error(`the webhook answered ${answer.status}`);
    console.log(text, { status: answer.status });
  },
});

function images(object) {
  return (object.get(CONTAINERS) ?? []).map(({ image }) => image).join(", ");
}
