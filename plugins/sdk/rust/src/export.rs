//! Calls from the component's exports to the plugin: a [`Handler`] or a [`BatchHandler`], a [`Reconciler`](crate::Reconciler), or
//! a handler and a reconciler.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::thread::LocalKey;

use crate::bindings::batch_handler::exports::informer::plugin::batch_handler;
use crate::bindings::exports::informer::plugin::plugin;
use crate::bindings::handler::exports::informer::plugin::handler;
use crate::bindings::informer::plugin::types;
use crate::bindings::reconciler::exports::informer::plugin::reconciler;
use crate::bindings::signals::{
    config_handler::exports::informer::plugin::config_handler,
    sync_handler::exports::informer::plugin::sync_handler,
    timer_handler::exports::informer::plugin::timer_handler,
};
use crate::{
    BatchHandler, Config, ConfigHandler, Failure, Handler, Notification, ReconcileError, ReconcileResult,
    SyncHandler, Synced, TimerHandler, Update, batch,
};

const NOT_STARTED: &str = "the host called a plugin that was not started";

/// A plugin and the slot that keeps its state between calls. [`export!`](crate::export) and the other export macros
/// implement it.
#[doc(hidden)]
pub trait Exported: Sized + 'static {
    const NAME: &'static str;
    const VERSION: &'static str;

    fn slot() -> &'static LocalKey<RefCell<Option<Self>>>;
    fn begin(config: Config) -> Result<Self, String>;
    fn end(&mut self);
}

/// The `reconcile` function of a [`Reconciler`](crate::Reconciler) or a [`Controller`](crate::Controller).
#[doc(hidden)]
pub trait Reconciles {
    fn reconciles(&mut self, key: &str) -> ReconcileResult;
}

/// The component around a plugin.
#[doc(hidden)]
#[derive(Debug)]
pub struct Component<P>(PhantomData<P>);

/// Exports a [`Handler`] as the plugin of this crate: `informer_sdk::export!(MyHandler);`.
///
/// Use it once, in a library with `crate-type = ["cdylib", "rlib"]`. The exports exist in WebAssembly builds only, so the
/// crate also builds, lints and tests natively. The host shows the name and the version of the crate's `Cargo.toml`.
#[macro_export]
macro_rules! export {
    ($handler:ty) => {
        $crate::__exported!($handler, $crate::Handler);

        #[cfg(target_family = "wasm")]
        $crate::bindings::handler::export_handler!(
            __InformerComponent with_types_in $crate::bindings::handler
        );
    };
}

/// Exports a [`BatchHandler`] as the plugin of this crate. It is used like [`export!`](macro@crate::export).
#[macro_export]
macro_rules! export_batch {
    ($handler:ty) => {
        $crate::__exported!($handler, $crate::BatchHandler);

        #[cfg(target_family = "wasm")]
        $crate::bindings::batch_handler::export_batch_handler!(
            __InformerComponent with_types_in $crate::bindings::batch_handler
        );

        // Uses the handler in native builds too.
        #[cfg(not(target_family = "wasm"))]
        const _: fn(
            &mut $handler,
            ::std::vec::Vec<$crate::Notification>,
        ) -> ::std::vec::Vec<$crate::BatchResult> = <$handler as $crate::BatchHandler>::on_batch;
    };
}

/// Exports a [`Reconciler`](crate::Reconciler) as the plugin of this crate. It is used like [`export!`](macro@crate::export).
#[macro_export]
macro_rules! export_reconciler {
    ($reconciler:ty) => {
        $crate::__exported!($reconciler, $crate::Reconciler);

        #[cfg(target_family = "wasm")]
        $crate::bindings::reconciler::export_reconciler!(
            __InformerComponent with_types_in $crate::bindings::reconciler
        );

        impl $crate::__private::Reconciles for $reconciler {
            fn reconciles(&mut self, key: &str) -> $crate::ReconcileResult {
                <Self as $crate::Reconciler>::reconcile(self, key)
            }
        }
    };
}

/// Exports a [`Controller`](crate::Controller) as the plugin of this crate. It is used like [`export!`](macro@crate::export).
#[macro_export]
macro_rules! export_controller {
    ($controller:ty) => {
        $crate::export!($controller);

        #[cfg(target_family = "wasm")]
        $crate::bindings::reconciler::export_reconciler!(
            __InformerComponent with_types_in $crate::bindings::reconciler
        );

        impl $crate::__private::Reconciles for $controller {
            fn reconciles(&mut self, key: &str) -> $crate::ReconcileResult {
                <Self as $crate::Controller>::reconcile(self, key)
            }
        }
    };
}

/// Exports a [`SyncHandler`] besides a handler or a reconciler: write it after the macro that exports the plugin.
#[macro_export]
macro_rules! export_synced {
    ($plugin:ty) => {
        #[cfg(target_family = "wasm")]
        $crate::bindings::signals::sync_handler::export_sync_handler!(
            __InformerComponent with_types_in $crate::bindings::signals::sync_handler
        );

        // The trait is implemented in native builds too.
        const _: fn(&mut $plugin, $crate::Synced) -> $crate::Result =
            <$plugin as $crate::SyncHandler>::on_synced;
    };
}

/// Exports a [`TimerHandler`] besides a handler or a reconciler: write it after the macro that exports the plugin.
#[macro_export]
macro_rules! export_timers {
    ($plugin:ty) => {
        #[cfg(target_family = "wasm")]
        $crate::bindings::signals::timer_handler::export_timer_handler!(
            __InformerComponent with_types_in $crate::bindings::signals::timer_handler
        );

        // The trait is implemented in native builds too.
        const _: fn(&mut $plugin, &str) -> $crate::Result = <$plugin as $crate::TimerHandler>::on_timer;
    };
}

/// Exports a [`ConfigHandler`] besides a handler or a reconciler: write it after the macro that exports the plugin.
#[macro_export]
macro_rules! export_config {
    ($plugin:ty) => {
        #[cfg(target_family = "wasm")]
        $crate::bindings::signals::config_handler::export_config_handler!(
            __InformerComponent with_types_in $crate::bindings::signals::config_handler
        );

        // The trait is implemented in native builds too.
        const _: fn(&mut $plugin, $crate::Config) -> $crate::Result =
            <$plugin as $crate::ConfigHandler>::on_config;
    };
}

/// The common part of the export macros: the state, and the export `plugin`.
#[doc(hidden)]
#[macro_export]
macro_rules! __exported {
    ($plugin:ty, $life_cycle:path) => {
        impl $crate::__private::Exported for $plugin {
            const NAME: &'static str = ::core::env!("CARGO_PKG_NAME");
            const VERSION: &'static str = ::core::env!("CARGO_PKG_VERSION");

            fn slot() -> &'static ::std::thread::LocalKey<::core::cell::RefCell<::core::option::Option<Self>>>
            {
                ::std::thread_local! {
                    static SLOT: ::core::cell::RefCell<::core::option::Option<$plugin>> =
                        const { ::core::cell::RefCell::new(::core::option::Option::None) };
                }
                &SLOT
            }

            fn begin(
                config: $crate::Config,
            ) -> ::core::result::Result<Self, ::std::string::String> {
                <Self as $life_cycle>::start(config)
            }

            fn end(&mut self) {
                <Self as $life_cycle>::stop(self);
            }
        }

        // Uses the plugin in native builds, which export nothing. This avoids warnings about dead code.
        #[cfg(not(target_family = "wasm"))]
        const _: fn($crate::Config) -> ::core::result::Result<$plugin, ::std::string::String> =
            <$plugin as $life_cycle>::start;

        #[cfg(target_family = "wasm")]
        type __InformerComponent = $crate::__private::Component<$plugin>;
        #[cfg(target_family = "wasm")]
        $crate::bindings::export_plugin!(__InformerComponent with_types_in $crate::bindings);
    };
}

// === impl Component ===

impl<P: Exported> plugin::Guest for Component<P> {
    fn describe() -> plugin::Info {
        plugin::Info {
            name: P::NAME.to_owned(),
            version: P::VERSION.to_owned(),
            sdk: concat!("informer-sdk-rust ", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }

    fn start(config: String) -> Result<(), String> {
        let started = P::begin(Config::from_json(config))?;
        P::slot().set(Some(started));
        Ok(())
    }

    fn stop() {
        if let Some(mut plugin) = P::slot().take() {
            plugin.end();
        }
    }
}

impl<H: Exported + Handler> handler::Guest for Component<H> {
    fn on_add(object: handler::EventObject, cause: handler::Cause) -> Result<(), handler::Failure> {
        call::<H>(|handler| handler.on_add(object.into(), cause))
    }

    fn on_update(
        old: handler::ObjectId,
        new: handler::EventObject,
        cause: handler::Cause,
    ) -> Result<(), handler::Failure> {
        call::<H>(|handler| handler.on_update(Update::new(old, new.into()), cause))
    }

    fn on_delete(object: handler::EventObject, final_state_known: bool) -> Result<(), handler::Failure> {
        call::<H>(|handler| handler.on_delete(object.into(), final_state_known))
    }
}

impl<H: Exported + BatchHandler> batch_handler::Guest for Component<H> {
    fn on_batch(notifications: Vec<batch_handler::Notification>) -> Vec<batch_handler::Outcome> {
        let notifications: Vec<Notification> = notifications.into_iter().map(Into::into).collect();
        let count = notifications.len();
        let results = H::slot().with_borrow_mut(|slot| match slot {
            Some(handler) => handler.on_batch(notifications),
            None => vec![Err(Failure::retry(NOT_STARTED)); count],
        });
        results.into_iter().map(batch::outcome).collect()
    }
}

impl<P: Exported + Reconciles> reconciler::Guest for Component<P> {
    fn reconcile(key: String) -> Result<reconciler::Outcome, reconciler::ReconcileError> {
        let reconciled = P::slot().with_borrow_mut(|slot| match slot {
            Some(plugin) => plugin.reconciles(&key),
            None => Err(ReconcileError::retry("the host sent a key to a plugin that was not started")),
        });
        reconciled.map(Into::into).map_err(Into::into)
    }
}

impl<P: Exported + SyncHandler> sync_handler::Guest for Component<P> {
    fn on_synced(gvr: String, count: u32, resource_version: String) -> Result<(), sync_handler::Failure> {
        call::<P>(|plugin| plugin.on_synced(Synced { gvr, count, resource_version }))
    }
}

impl<P: Exported + TimerHandler> timer_handler::Guest for Component<P> {
    fn on_timer(name: String) -> Result<(), timer_handler::Failure> {
        call::<P>(|plugin| plugin.on_timer(&name))
    }
}

impl<P: Exported + ConfigHandler> config_handler::Guest for Component<P> {
    fn on_config(config: String) -> Result<(), config_handler::Failure> {
        call::<P>(|plugin| plugin.on_config(Config::from_json(config)))
    }
}

/// Calls the started plugin. The component model allows one call at a time into an instance, so the slot is never borrowed
/// twice.
fn call<P: Exported>(call: impl FnOnce(&mut P) -> crate::Result) -> Result<(), types::Failure> {
    let answer = P::slot().with_borrow_mut(|slot| match slot {
        Some(plugin) => call(plugin),
        None => Err(Failure::retry(NOT_STARTED)),
    });
    answer.map_err(Into::into)
}

#[cfg(test)]
mod tests;
