//! The whole host in one process, with real components and real HTTP. All modules are one test binary.
//!
//! | module | what it shows |
//! |---|---|
//! | `a_storm_of_reloads` | ten thousand reloads; the longest test, whose name comes first because tests start in the order of their names |
//! | `bad_input` | bad input gets a clear message, and the rest keeps working |
//! | `claims` | informers run only for the plugins that use them |
//! | `changed` | after a restart a plugin receives what changed meanwhile |
//! | `cli` | the built binary: its output and its exit status |
//! | `connections` | the requests of the host on the wire: agents, proxies, credentials |
//! | `contract` | the ten points of the contract with a handler, shown by real components |
//! | `controllers` | reconcilers and their workqueue |
//! | `custom_resources` | a watch follows its CRD |
//! | `election` | several hosts with one lease: one calls its plugins, and the others stand by |
//! | `examples` | the host accepts the `informer.toml` of each example |
//! | `filters` | the filter of a subscription |
//! | `isolation` | bad plugins affect neither a good plugin nor the informers |
//! | `event_exporter` | the ready-made plugin: each occurrence of an Event arrives once, across restarts and failures of its receiver |
//! | `janitor` | the ready-made plugin: what expired is deleted at its time |
//! | `client` | the requests of a component to the API server, and their refusals |
//! | `log_levels` | the log level of each plugin |
//! | `metrics` | the metrics at `/metrics`, family by family |
//! | `namespaces` | objects come and go with the labels of their namespace |
//! | `parts` | the kept parts of objects, and the indexes of the configuration |
//! | `quarantine` | a failing plugin is quarantined, and later receives what changed |
//! | `ready_made` | the ready-made plugins together: no roll is lost or doubled and no copy is wrong, whatever fails |
//! | `recordings` | recorded answers of a real API server reach a component |
//! | `registries` | plugins from a registry: pulled, reloaded, pinned, and served without the registry |
//! | `reload` | a changed component is promoted under load, a bad component never |
//! | `reloader` | the ready-made plugin: what changed rolls its workloads once, also while the host was down |
//! | `replicator` | the ready-made plugin: copies follow their source, and nothing else is written |
//! | `restarts` | an informer that a bug of the host ended starts again |
//! | `served_kinds` | watches of all kinds follow the CRDs of the cluster |
//! | `signals` | calls when a cache is complete, and timers |
//! | `state` | the state of plugins across reloads and restarts, and a broken state |
//! | `tenancy` | Plugin objects: what a tenant may do, and what hostile ones are told |
//! | `traces` | the traces of events, as a collector receives them |
//! | `versions` | components of both versions of the interface, side by side |
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test ends by panicking")]

mod a_storm_of_reloads;
mod answers;
mod bad_input;
mod batches;
mod changed;
mod claims;
mod cli;
mod client;
mod configmaps;
mod connections;
mod contract;
mod controllers;
mod custom_resources;
mod echo;
mod election;
mod event_exporter;
mod examples;
mod filters;
mod isolation;
mod janitor;
mod log_levels;
mod metrics;
mod namespaces;
mod parts;
mod player;
mod quarantine;
mod ready_made;
mod recordings;
mod registries;
mod reload;
mod reloader;
mod replicator;
mod restarts;
mod served_kinds;
mod signals;
mod state;
mod tenancy;
mod traces;
mod versions;
