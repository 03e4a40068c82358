//! Waiting for many caches at once.

use super::sync_error::SyncError;
use crate::source::BoxFuture;
use futures_util::{StreamExt, stream::FuturesUnordered};
use std::{fmt, time::Duration};

/// Something that can be waited for until it has synced: an [`Informer`](super::Informer), or a
/// [follower](crate::subscription::Registration) of one.
pub trait Synced: Send + Sync {
    /// What it is, for the report.
    fn name(&self) -> String;

    /// Waits until it has synced, or cannot for now.
    fn synced(&self) -> BoxFuture<'static, Result<(), SyncError>>;

    /// What keeps it from having synced, in words; nothing where all goes well and it is just not done.
    fn trouble(&self) -> Option<String>;
}

/// Waits until all have synced, for so long at most. An empty list has synced.
///
/// One that cannot sync for now, say for lack of a right, is not waited for any longer.
///
/// # Errors
/// [`NotSynced`] names each that has not synced, and why.
pub async fn synced_all<'a>(
    those: impl IntoIterator<Item = &'a dyn Synced>,
    within: Duration,
) -> Result<(), NotSynced> {
    let those: Vec<_> = those.into_iter().collect();
    let numbered = those.iter().enumerate().map(|(number, one)| {
        let synced = one.synced();
        async move { (number, synced.await) }
    });
    let (mut all, mut outcomes) = (numbered.collect::<FuturesUnordered<_>>(), vec![None; those.len()]);
    let collect = async {
        while let Some((number, outcome)) = all.next().await {
            outcomes[number] = Some(outcome);
        }
    };
    // What has not come by then has no outcome.
    let _ = tokio::time::timeout(within, collect).await;
    let mut waiting = Vec::new();
    for (one, outcome) in those.into_iter().zip(outcomes) {
        let why = match outcome {
            Some(Ok(())) => continue,
            Some(Err(error)) => Why::Failed(error),
            None => Why::Late { within, trouble: one.trouble() },
        };
        waiting.push((one.name(), why));
    }
    waiting.sort_by(|(one, _), (other, _)| one.cmp(other));
    if waiting.is_empty() { Ok(()) } else { Err(NotSynced { waiting }) }
}

/// Which have not synced, and why.
#[derive(Clone, Debug)]
pub struct NotSynced {
    /// The name of each, in order, and why it has not synced.
    pub waiting: Vec<(String, Why)>,
}

/// Why one has not synced.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Why {
    /// It said so itself.
    Failed(SyncError),
    /// It was not done in time.
    #[non_exhaustive]
    Late {
        /// How long it was waited for.
        within: Duration,
        /// Its last failure, if there was one.
        trouble: Option<String>,
    },
}

impl fmt::Display for NotSynced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failed to sync all caches")?;
        for (number, (name, why)) in self.waiting.iter().enumerate() {
            write!(f, "{} {name}: {why}", if number == 0 { ":" } else { ";" })?;
        }
        Ok(())
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => error.fmt(f),
            Self::Late { within, trouble: None } => write!(f, "not done within {within:?}"),
            Self::Late { within, trouble: Some(trouble) } => {
                write!(f, "not done within {within:?}, last error: {trouble}")
            }
        }
    }
}

impl std::error::Error for NotSynced {
    /// What the first of them said.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.waiting.iter().find_map(|(_, why)| match why {
            Why::Failed(error) => Some(error as _),
            Why::Late { .. } => None,
        })
    }
}
