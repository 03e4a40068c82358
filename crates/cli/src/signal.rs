//! Signals that end the command.

use tokio::sync::watch;

/// Waits for Ctrl-C or SIGTERM. A second Ctrl-C exits at once.
pub(crate) fn interruption() -> impl Future<Output = ()> {
    let (sender, mut received) = watch::channel(false);
    tokio::spawn(async move {
        one().await;
        sender.send_replace(true);
        one().await;
        std::process::exit(130);
    });
    async move {
        // The channel closes only when the runtime ends.
        if received.wait_for(|is_received| *is_received).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(unix)]
async fn one() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

#[cfg(not(unix))]
async fn one() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
