// Importing the SDK gives the engine a `console`. Engines that have one keep it.

import { console } from "./log.js";

/** @type {any} */ (globalThis).console ??= console;
