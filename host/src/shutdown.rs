//! Signals become one cancellation.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The exit status that a shell reports for a process that a signal ended.
const EXIT_INTERRUPTED: i32 = 130;

/// `SIGXFSZ` of Linux and macOS.
const FILE_SIZE: i32 = 25;

/// Returns a token that the first SIGINT or SIGTERM cancels. A second signal ends the process at once, with status 130, without
/// waiting for the drain. If the system refuses the handlers, signals end the process at once, as by default.
pub fn on_signals() -> CancellationToken {
    let token = CancellationToken::new();
    let cancel = token.clone();
    // This task ends with the process.
    tokio::spawn(async move {
        if let Err(error) = cancel_on_signals(cancel).await {
            tracing::warn!(%error, "cannot listen for signals: stopping will not be graceful");
        }
    });
    token
}

/// Runs until the process ends.
async fn cancel_on_signals(token: CancellationToken) -> std::io::Result<()> {
    // With a handler, a write beyond the size limit of files (`RLIMIT_FSIZE`) fails like a write to a full disk; without one,
    // it ends the process.
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
    tracing::info!("stopping: the calls in flight finish; a second signal ends the process at once");
    token.cancel();
    next().await;
    tracing::warn!("second signal: the process ends at once");
    std::process::exit(EXIT_INTERRUPTED);
}
