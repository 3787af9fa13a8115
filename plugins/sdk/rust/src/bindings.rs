//! The bindings that `wit-bindgen` generates from `wit/`: every interface that a plugin may import, and the export `plugin`.
//!
//! The linker drops the interfaces that a guest never calls, so a guest needs grants only for the interfaces that it calls. The
//! modules [`handler`], [`reconciler`] and [`signals`] hold the other exports, each with its own export macro. The linker joins
//! the worlds of the macros that a plugin uses.
#![allow(missing_docs, reason = "generated; the WIT comments become the documentation where there are any")]
#![allow(unsafe_code, reason = "generated; the canonical ABI is pointers and lengths")]
#![allow(clippy::all, unused_qualifications, unreachable_pub, reason = "generated")]
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, reason = "generated")]

wit_bindgen::generate!({
    path: "wit",
    inline: "
        package informer:sdk;
        world plugin {
            include informer:plugin/base@0.2.0;
            import informer:plugin/lister@0.2.0;
            import informer:plugin/client@0.2.0;
            import informer:plugin/workqueue@0.2.0;
            import informer:plugin/timer@0.2.0;
            export informer:plugin/plugin@0.2.0;
        }
    ",
    ownership: Borrowing { duplicate_if_necessary: false },
    pub_export_macro: true,
    export_macro_name: "export_plugin",
    additional_derives: [PartialEq, Eq, Hash],
    generate_all,
});

pub mod handler {
    wit_bindgen::generate!({
        path: "wit",
        inline: "
            package informer:sdk;
            world handler {
                export informer:plugin/handler@0.2.0;
            }
        ",
        ownership: Borrowing { duplicate_if_necessary: false },
        pub_export_macro: true,
        export_macro_name: "export_handler",
        additional_derives: [PartialEq, Eq, Hash],
        with: {
            "informer:plugin/types@0.2.0": crate::bindings::informer::plugin::types,
        },
        generate_all,
    });
}

pub mod batch_handler {
    wit_bindgen::generate!({
        path: "wit",
        inline: "
            package informer:sdk;
            world batch-handler {
                export informer:plugin/batch-handler@0.2.0;
            }
        ",
        ownership: Borrowing { duplicate_if_necessary: false },
        pub_export_macro: true,
        export_macro_name: "export_batch_handler",
        with: {
            "informer:plugin/types@0.2.0": crate::bindings::informer::plugin::types,
        },
        generate_all,
    });
}

pub mod reconciler {
    wit_bindgen::generate!({
        path: "wit",
        inline: "
            package informer:sdk;
            world reconciler {
                export informer:plugin/reconciler@0.2.0;
            }
        ",
        ownership: Borrowing { duplicate_if_necessary: false },
        pub_export_macro: true,
        export_macro_name: "export_reconciler",
        additional_derives: [PartialEq, Eq],
        generate_all,
    });
}

pub mod signals {
    pub mod sync_handler {
        wit_bindgen::generate!({
            path: "wit",
            inline: "
                package informer:sdk;
                world sync-handler {
                    export informer:plugin/sync-handler@0.2.0;
                }
            ",
            ownership: Borrowing { duplicate_if_necessary: false },
            pub_export_macro: true,
            export_macro_name: "export_sync_handler",
            with: {
                "informer:plugin/types@0.2.0": crate::bindings::informer::plugin::types,
            },
            generate_all,
        });
    }

    pub mod timer_handler {
        wit_bindgen::generate!({
            path: "wit",
            inline: "
                package informer:sdk;
                world timer-handler {
                    export informer:plugin/timer-handler@0.2.0;
                }
            ",
            ownership: Borrowing { duplicate_if_necessary: false },
            pub_export_macro: true,
            export_macro_name: "export_timer_handler",
            with: {
                "informer:plugin/types@0.2.0": crate::bindings::informer::plugin::types,
            },
            generate_all,
        });
    }

    pub mod config_handler {
        wit_bindgen::generate!({
            path: "wit",
            inline: "
                package informer:sdk;
                world config-handler {
                    export informer:plugin/config-handler@0.2.0;
                }
            ",
            ownership: Borrowing { duplicate_if_necessary: false },
            pub_export_macro: true,
            export_macro_name: "export_config_handler",
            with: {
                "informer:plugin/types@0.2.0": crate::bindings::informer::plugin::types,
            },
            generate_all,
        });
    }
}
