//! What can be said of how a cache is saved.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// Where and how a cache is saved: `Save::in_folder("/var/lib/mine").transform("v1")`, or just the folder.
///
/// The folder is made if it is missing, belongs to one informer at a time, and is closed to other users. An informer of several
/// namespaces has a folder below it for each.
///
/// What is saved is the bytes that the server sent, compressed. Transforms run on them again when they are read: so what a transform
/// takes away is in the file all the same, though nobody but the owner may read that.
#[derive(Clone, Debug)]
#[must_use]
pub struct Save {
    pub(super) folder: PathBuf,
    pub(super) secrets: bool,
    pub(super) transform: Option<String>,
    pub(super) cluster: Option<String>,
    pub(super) starts_over: bool,
    pub(super) interval: Option<Duration>,
}

impl Save {
    /// Saves to this folder.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self { folder, secrets: false, transform: None, cluster: None, starts_over: false, interval: None }
    }

    /// Saves `Secret`s too, which is refused otherwise: the file holds what is in them.
    pub fn secrets(mut self) -> Self {
        self.secrets = true;
        self
    }

    /// Names the [transform](super::super::Builder::transform): a function cannot be told from another, and objects that another one
    /// made are not those that followers knew. Give it another name when it does something else.
    pub fn transform(mut self, name: impl Into<String>) -> Self {
        self.transform = Some(name.into());
        self
    }

    /// Names the cluster, by the uid of its namespace `kube-system` ([`cluster_uid`](super::cluster_uid)) or anything else that
    /// tells it from others. What is saved of another is then refused when the informer is built.
    ///
    /// Otherwise the informer asks for that uid when it starts. What was saved can be read by then; if it turns out to be of another
    /// cluster, the informer stops, and [`synced`](super::super::Informer::synced) says why. Where the uid may not be read, one
    /// cluster is not told from another.
    pub fn cluster(mut self, name: impl Into<String>) -> Self {
        self.cluster = Some(name.into());
        self
    }

    /// Gives up what is saved if it is of something else, rather than to refuse it.
    pub fn start_over(mut self) -> Self {
        self.starts_over = true;
        self
    }

    /// How long a change may wait to be written; one second unless told.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = Some(interval);
        self
    }
}

impl From<PathBuf> for Save {
    fn from(folder: PathBuf) -> Self {
        Self::in_folder(folder)
    }
}

impl From<&Path> for Save {
    fn from(folder: &Path) -> Self {
        Self::in_folder(folder)
    }
}

impl From<&PathBuf> for Save {
    fn from(folder: &PathBuf) -> Self {
        Self::in_folder(folder)
    }
}

impl From<&str> for Save {
    fn from(folder: &str) -> Self {
        Self::in_folder(folder)
    }
}

impl From<String> for Save {
    fn from(folder: String) -> Self {
        Self::in_folder(folder)
    }
}
