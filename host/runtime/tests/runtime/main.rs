//! Real components in the sandbox: what a plugin may rely on, and what it cannot do to anybody.

mod compile_cache;
mod host;
mod instances;
mod isolation;
mod lister;
mod load;
mod log_lines;
mod objects;
mod reload;
