//! deployments-rust.
