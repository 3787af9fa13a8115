//! What `wit-bindgen` makes of the export `handler`; see `bindings`.
#![allow(missing_docs, reason = "generated; the WIT comments become the documentation where there are any")]
#![allow(unsafe_code, reason = "generated; the canonical ABI is pointers and lengths")]
#![allow(clippy::all, unused_qualifications, unreachable_pub, reason = "generated")]
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, reason = "generated")]

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "
        package informer:sdk;
        world handler {
            export informer:plugin/handler@0.1.0;
        }
    ",
    ownership: Borrowing { duplicate_if_necessary: false },
    pub_export_macro: true,
    export_macro_name: "export_handler",
    additional_derives: [PartialEq, Eq],
    with: {
        "informer:plugin/types@0.1.0": crate::bindings::informer::plugin::types,
    },
    generate_all,
});
