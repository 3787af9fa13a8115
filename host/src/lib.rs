//! The host: what `informer` is put together from.
//!
//! [`config`] says what is wanted, [`app`] puts it together and runs it, [`connect`] finds the API server,
//! [`admin`] shows how it goes; [`status`], [`queues`] and [`dead_letters`] ask it. [`dev`] and [`demo`] bring an API
//! server of their own.

pub mod admin;
mod answer;
mod api_client;
pub mod app;
pub mod check;
pub mod cli;
pub mod config;
mod config_files;
pub mod connect;
pub mod dead_letters;
pub mod demo;
pub mod dev;
mod egress;
pub mod explain;
pub mod log_level;
pub mod logging;
pub mod metrics;
pub mod plugin_log;
pub mod queues;
pub mod rbac;
pub mod reload;
pub mod shutdown;
pub mod state;
pub mod status;
mod trace;
mod wiring;
