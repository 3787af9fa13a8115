//! The bindings that `wit-bindgen` generates for the export `handler`.

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
