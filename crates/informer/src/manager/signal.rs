//! The signals that end a process.

/// Waits until the process receives SIGTERM, which Kubernetes sends before it ends a pod, or SIGINT (Ctrl-C). On other systems than
/// Unix, waits for Ctrl-C.
///
/// If the handler of a signal cannot be installed, this is logged, and the future never completes: the signal then ends the
/// process as it does by default.
#[doc(alias = "SetupSignalHandler")]
pub async fn shutdown_signal() {
    if let Err(error) = wait().await {
        tracing::error!(%error, "cannot handle signals");
        std::future::pending::<()>().await;
    }
}

#[cfg(unix)]
async fn wait() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => tracing::info!("received SIGTERM"),
        _ = interrupt.recv() => tracing::info!("received SIGINT"),
    }
    Ok(())
}

#[cfg(not(unix))]
async fn wait() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}
