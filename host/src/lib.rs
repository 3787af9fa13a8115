//! The host: the parts that the `informer` binary is made of.
//!
//! [`config`] reads `informer.toml`, [`app`] runs what it describes, [`connect`] finds the API server, and [`admin`]
//! serves the state of the running host. [`commands`] has one module for each command.

pub mod admin;
pub mod app;
pub mod cli;
pub mod commands;
pub mod config;
mod config_files;
pub mod connect;
mod cron;
mod election;
pub mod lock;
pub mod logging;
pub mod metrics;
pub mod shutdown;
pub mod state;
pub mod story;
mod wiring;
