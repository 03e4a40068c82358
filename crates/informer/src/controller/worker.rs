//! The workers of a controller, which take keys from the queue and reconcile them.

use super::{
    error_policy::{Backoff, Retry},
    gate::Gate,
    outcome::{Outcome, ReconcileResult},
    permit::{Permission, Permit},
    reconciler::{Attempt, Reconciler},
    work::{Next, Started, Work},
};
use kube_informer_wire::Key;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

/// The state that all workers of a controller share.
pub(super) struct Workers<R> {
    /// The name of the controller.
    pub(super) name: Arc<str>,
    pub(super) work: Arc<Work>,
    pub(super) reconciler: R,
    pub(super) backoff: Backoff,
    pub(super) gate: Option<Gate>,
    pub(super) stop: CancellationToken,
}

impl<R: Reconciler> Workers<R> {
    /// Reconciles one key after the other until the controller is stopped.
    pub(super) async fn run(self: Arc<Self>) {
        while let Some(Some(key)) = self.stop.run_until_cancelled(self.next()).await {
            if self.gate.as_ref().is_some_and(|gate| !gate.is_open()) {
                // It was closed while this worker waited for a key.
                self.work.requeue(&key);
                continue;
            }
            let permit = match self.work.permit(&key) {
                None => None,
                Some(Permission::Granted(permit)) => Some(permit),
                Some(Permission::Deferred) => continue,
                Some(Permission::Delayed(at)) => {
                    self.work.requeue_at(&key, at);
                    continue;
                }
                Some(Permission::Denied) => {
                    tracing::debug!(controller = &*self.name, key = %*key, "another process reconciles the key");
                    self.work.forget(&key);
                    continue;
                }
            };
            if let Some(started) = self.work.start(&key) {
                self.reconcile(&key, started, permit).await;
            }
        }
    }

    async fn next(&self) -> Option<kube_workqueue::Processing<Key, kube_workqueue::Priority>> {
        // Reconciles that do not wait would otherwise keep other tasks from this thread as long as keys are queued.
        tokio::task::coop::consume_budget().await;
        if let Some(gate) = &self.gate {
            gate.wait_until_open().await;
        }
        self.work.next().await
    }

    async fn reconcile(&self, key: &Key, started: Started, permit: Option<Box<dyn Permit>>) {
        let span = tracing::info_span!(
            "reconcile",
            controller = &*self.name,
            %key,
            attempt = started.attempt,
            reason = %started.reason,
        );
        let begin = Instant::now();
        let attempt = {
            let reconcile = self.reconciler.reconcile(key.clone()).instrument(span.clone());
            let permitted = async {
                match &permit {
                    None => Some(reconcile.await),
                    Some(permit) => permit.run(Box::pin(reconcile)).await,
                }
            };
            match &self.gate {
                None => Ok(permitted.await),
                Some(gate) => tokio::select! {
                    biased;
                    () = gate.wait_until_closed() => Err(GateClosed),
                    attempt = permitted => Ok(attempt),
                },
            }
        };
        let attempt = match attempt {
            Ok(Some(attempt)) => attempt,
            Ok(None) => {
                span.in_scope(|| {
                    tracing::warn!("reconcile was dropped because another process may reconcile the key")
                });
                return self.work.abandon(key);
            }
            Err(GateClosed) => {
                span.in_scope(|| tracing::info!("reconcile was dropped because the gate was closed"));
                return self.work.interrupt(key, started);
            }
        };
        let (result, next) = judge(attempt);
        let outcome = Outcome {
            key: key.clone(),
            reason: started.reason,
            attempt: started.attempt,
            started: begin,
            duration: begin.elapsed(),
            result: result.clone(),
            next: None,
        };
        let delay = self.work.finish(outcome, next, &self.backoff);
        span.in_scope(|| log(key, &result, started.attempt, delay));
    }
}

/// The gate was closed during a reconcile.
struct GateClosed;

/// Decides on the next reconcile.
fn judge(attempt: Attempt) -> (ReconcileResult, Next) {
    match attempt {
        Attempt::Succeeded(action) => {
            let next = action.requeue_after().map_or(Next::OnChange, Next::Requeue);
            (ReconcileResult::Succeeded(action), next)
        }
        Attempt::Gone => (ReconcileResult::Gone, Next::OnChange),
        Attempt::Failed { error, retry } => {
            let next = match retry {
                Retry::Backoff => Next::Backoff,
                Retry::Action(action) => action.requeue_after().map_or(Next::Abandon, Next::RetryAfter),
            };
            (ReconcileResult::Failed(error), next)
        }
        Attempt::Panicked { message } => (ReconcileResult::Panicked(message), Next::Backoff),
    }
}

/// Logs the result. The key is a field of the span as well, which may be disabled.
fn log(key: &Key, result: &ReconcileResult, attempt: u32, delay: Option<Duration>) {
    match result {
        ReconcileResult::Failed(error) => match delay {
            Some(retry_in) => tracing::warn!(%key, %error, attempt, ?retry_in, "reconcile failed; retrying"),
            None => tracing::warn!(%key, %error, attempt, "reconcile failed; waiting for a change"),
        },
        ReconcileResult::Panicked(message) => {
            tracing::error!(%key, %message, attempt, retry_in = ?delay, "reconcile panicked; retrying");
        }
        ReconcileResult::Succeeded(_) => tracing::debug!(%key, attempt, "reconciled"),
        ReconcileResult::Gone => tracing::debug!(%key, "object was deleted"),
    }
}
