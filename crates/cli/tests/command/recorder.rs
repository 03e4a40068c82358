//! Runs `informer record`, and waits for recorded changes.

use crate::folder::folder;
use crate::program::{Ended, Running, run};
use crate::server::Cluster;
use kube_history::{Event, Filter, History};
use std::{path::PathBuf, time::Duration};
use tokio::time::{interval, timeout};

/// Longer than anything takes here.
const LIMIT: Duration = Duration::from_secs(60);

/// A recorder of a cluster.
pub(crate) struct Recorder {
    running: Running,
    pub(crate) dir: PathBuf,
}

impl Recorder {
    /// Starts to record these resources into a new folder, with more options.
    pub(crate) async fn start(cluster: &Cluster, resources: &str, more: &[&str]) -> Self {
        Self::start_in(cluster, folder().join("history"), &[&[resources][..], more].concat()).await
    }

    /// Starts to record into a folder.
    pub(crate) async fn start_in(cluster: &Cluster, dir: PathBuf, more: &[&str]) -> Self {
        let arguments = ["record", "--dir", dir.to_str().unwrap(), "--kubeconfig", cluster.config()];
        let mut running = Running::start(&[&arguments[..], more].concat());
        let mut line = running.line().await;
        while !line.starts_with("recording ") {
            line = running.line().await;
        }
        Self { running, dir }
    }

    /// The folder, as an argument.
    pub(crate) fn dir(&self) -> &str {
        self.dir.to_str().unwrap()
    }

    /// Waits until a condition on the recorded history is met.
    pub(crate) async fn until(&self, condition: impl Fn(&History) -> bool) {
        let mut ticks = interval(Duration::from_millis(20));
        let met = async {
            loop {
                ticks.tick().await;
                if History::open(&self.dir).is_ok_and(|history| condition(&history)) {
                    return;
                }
            }
        };
        timeout(LIMIT, met).await.expect("it is recorded in time");
    }

    /// Waits until an event of an object is recorded.
    pub(crate) async fn recorded(&self, resource: &str, key: &str, event: Event) {
        self.until(|history| count(history, resource, key, event) > 0).await;
    }

    /// Ends the recorder as Ctrl-C does.
    pub(crate) async fn stop(self) -> Ended {
        self.running.signal("INT").await;
        self.running.end().await
    }
}

/// The number of recorded events of an object.
pub(crate) fn count(history: &History, resource: &str, key: &str, event: Event) -> usize {
    let Ok(kind) = history.kind(resource) else { return 0 };
    let span = history.span().unwrap();
    let filter = Filter::new().kind(kind).key(key.parse().unwrap());
    let changes = history.changes(span.start..span.end, filter).unwrap();
    changes.filter(|change| change.as_ref().unwrap().event() == event).count()
}

/// Runs a command on a recording.
pub(crate) async fn read(dir: &str, arguments: &[&str]) -> Ended {
    run(&[arguments, &["--dir", dir]].concat()).await
}
