//! The commands: one module for each, with what the command requests and what it prints.

pub mod check;
pub mod config;
pub mod dead_letters;
pub mod demo;
pub mod dev;
pub mod explain;
pub mod log_level;
mod output;
pub mod queues;
pub mod rbac;
pub mod reload;
pub mod status;
