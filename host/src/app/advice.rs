//! Advice for the author of a component that is refused, with the resources and the language of the plugin.

use std::path::Path;

use informer_author::Inspection;
use informer_runtime::LoadError;
use informer_system::read_file;
use informer_types::Gvr;

use super::blocking::on_a_thread;
use crate::config::Plugin;

/// The most bytes of a file that is looked at.
const BYTES: u64 = 64 << 20;

/// A resource that the plugin subscribes to. The advice names it in the lines that the author has to add.
pub(super) fn resource(plugin: &Plugin) -> Option<Gvr> {
    plugin.subscriptions.first().map(|subscription| subscription.watch.clone())
}

/// The error with advice for this plugin. `file` is the component.
pub(super) async fn advised(error: LoadError, file: Option<&Path>, resource: Option<&Gvr>) -> LoadError {
    match (error, file) {
        (LoadError::CoreModule { advice }, Some(file)) => {
            let file = file.to_owned();
            let inspected = on_a_thread(move || {
                let bytes = read_file(&file, BYTES).ok()?;
                Inspection::of(&bytes).ok()?.advice()
            });
            LoadError::CoreModule { advice: inspected.await.unwrap_or(advice) }
        }
        (error, _) => match resource {
            Some(resource) => error.naming(resource),
            None => error,
        },
    }
}
