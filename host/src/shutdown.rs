//! Signals become one cancellation.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// What a shell reports for a process that a signal ended.
const EXIT_INTERRUPTED: i32 = 130;

/// `SIGXFSZ` of Linux and macOS.
const FILE_SIZE: i32 = 25;

/// Cancels the token at the first SIGINT or SIGTERM; a second one ends the process at once, with status 130,
/// for whoever does not want to wait for the drain.
///
/// Runs until the process ends: spawn it.
///
/// # Errors
/// The system refuses to listen for signals; they then end the process at once, as by default.
pub async fn on_signals(token: CancellationToken) -> std::io::Result<()> {
    // A file that may not grow (`RLIMIT_FSIZE`) is a full disk for whoever writes to it, not the end of the process. That
    // somebody listens is enough.
    let _file_size = signal(SignalKind::from_raw(FILE_SIZE))?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut next = async || {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    next().await;
    tracing::info!("stopping: the calls in hand are finished; a second signal ends at once");
    token.cancel();
    next().await;
    tracing::warn!("second signal: ending at once");
    std::process::exit(EXIT_INTERRUPTED);
}
