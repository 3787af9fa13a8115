//! The types of values in the file: how each is read, shown and described.

mod address;
mod duration;
mod grant;
mod http;
mod json;
mod name;
mod number;
mod scalar;
mod share;
mod size;
mod text;
mod word;

pub(super) use address::{Admin, ServerUrl};
pub(super) use json::text as json_text;
pub(super) use name::Name;
pub(super) use number::{Count, Number};
pub(super) use scalar::{FromText, Scalar, inside, mismatch, outside, read};
pub(super) use share::Share;
pub(super) use size::Size;
pub(super) use text::{LogFilter, PathText, Text};
pub(super) use word::{DeliveryKind, EventKind, InstanceKind};
