//! `[cluster]`

use crate::config::{
    cluster::{Access, Cluster},
    context::Context,
    keys::ClusterKeys,
    problem::Fault,
};

pub(super) fn cluster(keys: &ClusterKeys, context: &mut Context<'_, '_>) -> Cluster {
    Cluster { access: access(keys, context), ..keys.cluster.clone() }
}

fn access(keys: &ClusterKeys, context: &mut Context<'_, '_>) -> Access {
    let path = keys.kubeconfig.as_ref().map(|text| context.path(text));
    if let Some(server) = &keys.server {
        let others = [
            keys.kubeconfig.as_ref().map(|path| path.with(())),
            keys.context.as_ref().map(|name| name.with(())),
        ];
        for other in others.iter().flatten() {
            let message = "`server` says already where the API server is";
            context.refuse(other, Fault::new(message, "remove one of the two"));
        }
        return Access::Server(server.value.0.clone());
    }
    match (path, &keys.context) {
        (None, None) => Access::Inferred,
        (path, name) => Access::Kubeconfig {
            path: path.flatten(),
            context: name.as_ref().map(|name| name.value.0.clone()),
        },
    }
}
