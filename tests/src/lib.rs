//! What the tests share: [`host`] is the whole host in this process, [`binary`] the built program, [`cluster`] a real
//! kube-apiserver and etcd, [`proxy`] a connection that can be cut, [`orders`] a custom resource that comes and
//! goes, [`writer`] a plugin that writes.

pub mod binary;
pub mod cluster;
pub mod host;
pub mod orders;
pub mod proxy;
pub mod writer;
