//! What `wit-bindgen` makes of `wit/`. The larger world is taken: the linker drops the interfaces a guest never
//! calls, so a guest needs no grant for what it does not call.
#![allow(missing_docs, reason = "generated; the WIT comments become the documentation where there are any")]
#![allow(unsafe_code, reason = "generated; the canonical ABI is pointers and lengths")]
#![allow(clippy::all, unused_qualifications, unreachable_pub, reason = "generated")]
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, reason = "generated")]

wit_bindgen::generate!({
    path: "../../../wit",
    world: "event-handler-with-client",
    ownership: Borrowing { duplicate_if_necessary: false },
    pub_export_macro: true,
    export_macro_name: "export_component",
    additional_derives: [PartialEq, Eq],
});
