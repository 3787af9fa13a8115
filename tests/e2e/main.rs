//! The whole host in one process, with real components and real HTTP: one test binary, many modules.
//!
//! | module | what it shows |
//! |---|---|
//! | `bad_input` | what is wrong is said in a sentence that helps, and the rest goes on |
//! | `claims` | informers run for the plugins that use them |
//! | `cli` | the built binary: what it prints, and how it exits |
//! | `contract` | the ten points of the contract with a handler, each by a real component |
//! | `controllers` | keys instead of notifications: the workqueue and who reconciles it |
//! | `custom_resources` | a watch follows its CRD as it comes and goes |
//! | `examples` | the host accepts the `informer.toml` of each example |
//! | `filters` | what a component hears through the filter of its subscription |
//! | `isolation` | bad plugins touch neither a good one nor the informers, and their failures are shown |
//! | `client` | what a component asks of the API server, and is refused |
//! | `log_levels` | what a plugin says is kept from its own level on, which is changed live |
//! | `metrics` | what `/metrics` serves, family by family |
//! | `parts` | what is kept of the objects, and the indexes of the configuration |
//! | `quarantine` | a plugin that does not work is left alone, and hears what changed since; each change, where asked for |
//! | `recordings` | what a real API server sent reaches a component, whatever it contains |
//! | `reload` | a changed component takes over under load; a bad one never does |
//! | `state` | what plugins keep over reloads and restarts, and a state that does not work |
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test ends by panicking")]

mod answers;
mod bad_input;
mod claims;
mod cli;
mod client;
mod configmaps;
mod contract;
mod controllers;
mod custom_resources;
mod echo;
mod examples;
mod filters;
mod isolation;
mod log_levels;
mod metrics;
mod parts;
mod player;
mod quarantine;
mod recordings;
mod reload;
mod state;
