//! Shared parts of the tests: [`host`] is the whole host in this process, [`binary`] the built program, [`daemon`] that
//! program as a process of its own, [`dev`] its command `informer dev`, [`metrics`] values of `/metrics`, [`cluster`] a real
//! kube-apiserver and etcd, [`node`] a node for it, [`registry`] a real registry, [`collector`] a real collector of OpenTelemetry,
//! [`command_line`] kubectl, helm and promtool, [`proxy`] a connection that a test can cut, [`gateway`] an HTTP hop that fails
//! requests, [`ready_made`] the plugins of `plugins` in one configuration, [`deployments`] the deployments of a cluster, [`orders`]
//! a custom resource that is created and deleted, [`toml`] parts of a configuration, and [`writer`] a plugin that writes.

pub mod binary;
pub mod cluster;
pub mod collector;
pub mod command_line;
pub mod daemon;
pub mod deployments;
pub mod dev;
pub mod gateway;
pub mod host;
pub mod metrics;
pub mod node;
pub mod orders;
pub mod proxy;
pub mod ready_made;
pub mod registry;
pub mod toml;
pub mod writer;
