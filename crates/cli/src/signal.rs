//! How a person or the system ends the command.

use tokio::sync::watch;

/// Waits for Ctrl-C, or for being asked to terminate. A second Ctrl-C ends the process at once, whatever it is at.
pub(crate) fn interruption() -> impl Future<Output = ()> {
    let (tell, mut told) = watch::channel(false);
    tokio::spawn(async move {
        one().await;
        tell.send_replace(true);
        one().await;
        std::process::exit(130);
    });
    async move {
        // The task outlives the process's work, so the channel closes only with a runtime that ends.
        if told.wait_for(|is_told| *is_told).await.is_err() {
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
