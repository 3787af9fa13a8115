//! From the component's exports to a [`Handler`].

use std::cell::RefCell;
use std::marker::PhantomData;
use std::thread::LocalKey;

use crate::bindings::exports::informer::plugin::{handler, plugin};
use crate::{Config, Failure, Handler, Update};

/// A handler with the place where its state lives between calls; implemented by [`export!`](crate::export).
#[doc(hidden)]
pub trait Exported: Handler {
    const NAME: &'static str;
    const VERSION: &'static str;

    fn slot() -> &'static LocalKey<RefCell<Option<Self>>>;
}

/// The component around a handler.
#[doc(hidden)]
#[derive(Debug)]
pub struct Component<H>(PhantomData<H>);

/// Exports a [`Handler`] as the plugin of this crate: `informer_sdk::export!(MyHandler);`, once, in a library
/// with `crate-type = ["cdylib", "rlib"]`.
///
/// The exports exist in WebAssembly builds only, so the crate also builds, lints and tests natively. The name and
/// the version the host shows are those of the crate's `Cargo.toml`.
#[macro_export]
macro_rules! export {
    ($handler:ty) => {
        impl $crate::__private::Exported for $handler {
            const NAME: &'static str = ::core::env!("CARGO_PKG_NAME");
            const VERSION: &'static str = ::core::env!("CARGO_PKG_VERSION");

            fn slot() -> &'static ::std::thread::LocalKey<::core::cell::RefCell<::core::option::Option<Self>>>
            {
                ::std::thread_local! {
                    static SLOT: ::core::cell::RefCell<::core::option::Option<$handler>> =
                        const { ::core::cell::RefCell::new(::core::option::Option::None) };
                }
                &SLOT
            }
        }

        // Uses the handler where nothing is exported: no warnings about dead code.
        #[cfg(not(target_family = "wasm"))]
        const _: fn($crate::Config) -> ::core::result::Result<$handler, ::std::string::String> =
            <$handler as $crate::Handler>::start;

        #[cfg(target_family = "wasm")]
        type __InformerComponent = $crate::__private::Component<$handler>;
        #[cfg(target_family = "wasm")]
        $crate::bindings::export_component!(__InformerComponent with_types_in $crate::bindings);
    };
}

// === impl Component ===

impl<H: Exported> plugin::Guest for Component<H> {
    fn describe() -> plugin::Info {
        plugin::Info {
            name: H::NAME.to_owned(),
            version: H::VERSION.to_owned(),
            sdk: concat!("informer-sdk-rust ", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }

    fn start(config: String) -> Result<(), String> {
        let started = H::start(Config::from_json(config))?;
        H::slot().set(Some(started));
        Ok(())
    }

    fn stop() {
        if let Some(mut handler) = H::slot().take() {
            handler.stop();
        }
    }
}

impl<H: Exported> handler::Guest for Component<H> {
    fn on_add(object: handler::EventObject, cause: handler::Cause) -> Result<(), handler::Failure> {
        deliver::<H>(|handler| handler.on_add(object.into(), cause.into()))
    }

    fn on_update(
        old: handler::ObjectId,
        new: handler::EventObject,
        cause: handler::Cause,
    ) -> Result<(), handler::Failure> {
        deliver::<H>(|handler| handler.on_update(Update::new(old, new.into()), cause.into()))
    }

    fn on_delete(object: handler::EventObject, final_state_known: bool) -> Result<(), handler::Failure> {
        deliver::<H>(|handler| handler.on_delete(object.into(), final_state_known))
    }
}

/// One call into the started handler. The component model admits no call into an instance that is in a call, so
/// the slot is never borrowed twice.
fn deliver<H: Exported>(call: impl FnOnce(&mut H) -> crate::Result) -> Result<(), handler::Failure> {
    let answer = H::slot().with_borrow_mut(|slot| match slot {
        Some(handler) => call(handler),
        None => Err(Failure::retry("the host sent a notification to a plugin that was not started")),
    });
    answer.map_err(Into::into)
}

#[cfg(test)]
mod tests;
