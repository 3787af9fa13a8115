// Hooks of Node.js: an interface of the host is a module, and `informer-sdk` is this SDK.

import { interfaces } from "./host.js";

const HOST = new URL("./host.js", import.meta.url).href;
const NAMES = { "informer-sdk": "../src/index.js", "informer-sdk/testing": "./host.js" };

export async function resolve(specifier, context, next) {
  if (specifier in interfaces) return { url: specifier, format: "module", shortCircuit: true };
  if (specifier in NAMES) return { url: new URL(NAMES[specifier], import.meta.url).href, format: "module", shortCircuit: true };
  return next(specifier, context);
}

export async function load(url, context, next) {
  if (!(url in interfaces)) return next(url, context);
  const names = Object.keys(interfaces[url]).join(", ");
  const source = `import { interfaces } from "${HOST}";\nexport const { ${names} } = interfaces["${url}"];\n`;
  return { format: "module", shortCircuit: true, source };
}
