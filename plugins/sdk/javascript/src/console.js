// Importing the SDK gives the engine a `console`, in place of one that knows no levels and fields. Node.js keeps its own.

import { console } from "./log.js";

const engine = /** @type {any} */ (globalThis);
if (engine.process === undefined) engine.console = console;
