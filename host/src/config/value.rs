//! The types of values in the file: how each is read, shown and described.

mod address;
mod changed;
mod duration;
mod endpoint;
mod field;
mod index;
mod json;
mod number;
mod reads;
mod resource;
mod scalar;
mod size;
mod text;
mod url;

pub use address::{NotLoopback, local, loopback};
pub(super) use changed::ChangedPart;
pub(super) use duration::Share;
pub(super) use endpoint::Endpoint;
pub(super) use field::Holds;
pub(super) use json::text as json_text;
pub(super) use number::{Count, Number};
pub(super) use reads::ReadPart;
pub(crate) use resource::names_resource;
pub(super) use resource::{built_in, resource};
pub(super) use scalar::{Choice, Scalar, inside, mismatch, outside};
pub(super) use size::Size;
pub(super) use text::{LogFilter, Name};
