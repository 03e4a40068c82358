//! The options of saving a cache.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// Configures saving; see [`InformerBuilder::save_to`](super::super::InformerBuilder::save_to), which also accepts a path.
///
/// The folder is created if it does not exist, readable by its owner only, and locked by one informer at a time. An informer of
/// several namespaces creates a subfolder for each.
///
/// The file contains the objects as they are stored, compressed: fields that a transform removes are not in the file.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_devserver::DevServer;
/// use kube_informer::{Informer, informer::Save};
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = DevServer::start();
/// # let folder = std::env::temp_dir().join(format!("save-example-{}", std::process::id()));
/// let save = Save::in_folder(&folder).transform("without-data").interval(Duration::from_secs(5));
/// let maps = Informer::<ConfigMap>::builder(server.client())
///     .transform(|map| Ok(ConfigMap { data: None, ..map }))
///     .save_to(save)
///     .build()?;
/// # drop(maps); std::fs::remove_dir_all(&folder)?;
/// # Ok(()) }
/// ```
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

    /// Saves to a subfolder of `root` that is named after `name`, such as the resource that a server's discovery returned. The
    /// [name of the folder](kube_informer_saved::file_name) never leads out of `root`.
    pub fn in_subfolder(root: impl AsRef<Path>, name: &str) -> Self {
        Self::in_folder(root.as_ref().join(kube_informer_saved::file_name(name)))
    }

    /// Permits saving `Secret`s, whose contents are then in the file. Without this, building the informer fails.
    pub fn secrets(mut self) -> Self {
        self.secrets = true;
        self
    }

    /// Names the [transform](super::super::InformerBuilder::transform). Change the name whenever the transform changes: a state
    /// that was saved with another name is not restored.
    pub fn transform(mut self, name: impl Into<String>) -> Self {
        self.transform = Some(name.into());
        self
    }

    /// Names the cluster, by its [uid](super::cluster_uid) or any other unique name. Building the informer then fails if the
    /// saved state is of another cluster.
    ///
    /// By default, the informer requests the uid when it starts. The saved state is readable before that. If the uid differs,
    /// the informer stops, and [`synced`](super::super::Informer::synced) returns an error. Without permission to read the
    /// uid, this is not checked.
    pub fn cluster(mut self, name: impl Into<String>) -> Self {
        self.cluster = Some(name.into());
        self
    }

    /// Discards the saved state of another resource or cluster. The default is an error.
    pub fn start_over(mut self) -> Self {
        self.starts_over = true;
        self
    }

    /// Sets the maximum delay before a change is written. The default is one second.
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
