//! The bindings that `wit-bindgen` generates for the export `reconciler`.

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "
        package informer:sdk;
        world reconciler {
            export informer:plugin/reconciler@0.1.0;
        }
    ",
    ownership: Borrowing { duplicate_if_necessary: false },
    pub_export_macro: true,
    export_macro_name: "export_reconciler",
    additional_derives: [PartialEq, Eq],
    generate_all,
});
