//! A write that a plugin wants to make.

use informer_types::WriteVerb;

pub(super) struct Write<'a> {
    pub(super) verb: WriteVerb,
    pub(super) dry_run: bool,
    /// The name of the object; empty if the server chooses it.
    pub(super) name: &'a str,
    /// True if the write may create a missing object although its verb is not `create`.
    pub(super) may_create: bool,
}
