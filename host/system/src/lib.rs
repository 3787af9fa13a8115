//! What the host takes from the operating system, each with a bound: files, HTTP connections, memory, descriptors, programs.
//!
//! - [`RegularFile`] and [`Directory`] open files that others may have put in place: regular files only, inside their
//!   directory, read up to a limit.
//! - [`PrivateDir`] is a directory whose files only this user writes.
//! - [`HttpListener`] serves HTTP with a limited number of connections. A client that never finishes its request does not
//!   keep others from being answered.
//! - [`memory`] is how much memory the process may use.
//! - [`run_program`] and [`run_program_with_input`] run a program that answers on its standard output, and [`end_of`] reads the last
//!   words of any process.
//! - [`LockHolder`] is the process that holds the lock of a file.
//! - [`Process`] is what this process uses of the machine.
//! - [`descriptors`] is the number of files and connections that the process may open.
#![forbid(unsafe_code)]

pub mod descriptors;
mod directory;
mod file;
mod http_listener;
mod lock_holder;
pub mod memory;
mod private_dir;
mod process;
mod program;

pub use directory::{Directory, Entry};
pub use file::{FileError, RegularFile, read_file};
pub use http_listener::{HttpAddress, HttpLimits, HttpListener};
pub use lock_holder::LockHolder;
pub use private_dir::{NotPrivate, PrivateDir};
pub use process::Process;
pub use program::{Ended, ProgramError, ProgramLimits, end_of, run_program, run_program_with_input};
