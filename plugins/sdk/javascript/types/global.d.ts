/** What the engine has of `console` comes from the SDK: lines go to the log of the host, and an object at the end gives the fields. */
declare const console: typeof import("./log.js").console;
