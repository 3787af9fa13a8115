// `node --import informer-sdk/testing/register --test`: the interfaces of the host come from `host.js`.

import { register } from "node:module";

register("./hooks.js", import.meta.url);
