//! Retries of updates that conflict with another writer.

use kube_client::Error;
use kube_informer_wire::{StatusExt, rng};
use std::time::Duration;

/// The number of attempts, and the delay between them, as in client-go's `retry.DefaultRetry`.
const MAX_ATTEMPTS: u32 = 5;
const DELAY: Duration = Duration::from_millis(10);

/// Calls `update` again if it fails with a conflict (409), at most five times in total.
///
/// Read the object within `update`, from the server and not from a cache: otherwise each attempt has the same old version.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::api::{Api, PostParams};
/// use kube_informer::controller::retry_on_conflict;
///
/// async fn increment(api: &Api<ConfigMap>, name: &str) -> Result<ConfigMap, kube::Error> {
///     retry_on_conflict(|| async {
///         let mut map = api.get(name).await?;
///         let data = map.data.get_or_insert_default();
///         let count: u32 = data.get("count").and_then(|count| count.parse().ok()).unwrap_or(0);
///         data.insert("count".into(), (count + 1).to_string());
///         api.replace(name, &PostParams::default(), &map).await
///     })
///     .await
/// }
/// ```
///
/// # Errors
/// The last error of `update`.
#[doc(alias = "RetryOnConflict")]
pub async fn retry_on_conflict<R, F>(mut update: impl FnMut() -> F) -> Result<R, Error>
where
    F: Future<Output = Result<R, Error>>,
{
    for _ in 1..MAX_ATTEMPTS {
        match update().await {
            Err(error) if is_conflict(&error) => {
                // Up to 10% longer, so that two writers do not stay in step.
                let jitter = DELAY.mul_f64((rng::next_u64() >> 11) as f64 / (1u64 << 53) as f64 / 10.0);
                tokio::time::sleep(DELAY + jitter).await;
            }
            result => return result,
        }
    }
    update().await
}

/// Returns true if an update conflicts with another writer: 409 with any reason except `AlreadyExists`. An object that exists already
/// is not a conflict.
#[must_use]
pub fn is_conflict(error: &Error) -> bool {
    matches!(error, Error::Api(status) if status.code == 409 && status.reason != "AlreadyExists")
}

/// Returns true if the object does not exist: 404.
pub(super) fn is_not_found(error: &Error) -> bool {
    matches!(error, Error::Api(status) if status.is_not_found_status())
}
