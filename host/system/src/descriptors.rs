//! The number of files and connections that this process may open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The number that this process may have open at once. Without a limit, the greatest number.
pub fn limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Raises the limit to the most that the system allows this process. The default of most systems, 1024, is made for
/// programs that call `select`. If the system refuses, the limit stays as it is.
pub fn raise() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::debug!(%error, "the limit of open files stays as it is");
    }
}
