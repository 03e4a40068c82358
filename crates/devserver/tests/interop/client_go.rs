//! Runs an informer of client-go, and reads its events.

use std::{collections::BTreeMap, process::Command};

use serde::Deserialize;

use crate::{
    child::Running,
    churn::Change,
    cluster::{Cluster, Contents},
    folder::Folder,
};

/// The requests of an informer: its `Accept` header, and whether it uses streaming lists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InformerOptions {
    pub(crate) accept: &'static str,
    pub(crate) watch_list: bool,
}

/// An event of the informer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Event {
    pub(crate) event: String,
    #[serde(default)]
    pub(crate) initial: bool,
    #[serde(default)]
    pub(crate) key: String,
    #[serde(default)]
    pub(crate) uid: String,
    #[serde(default)]
    pub(crate) version: String,
}

/// An object in the store of the informer at the end.
#[derive(Debug, Deserialize)]
struct Held {
    key: String,
    uid: String,
    version: String,
}

/// A running informer.
pub(crate) struct ClientGoInformer {
    running: Running,
    pub(crate) events: Vec<Event>,
    /// The store contents that result from the events.
    pub(crate) contents: Contents,
    _folder: Folder,
}

impl ClientGoInformer {
    /// Starts an informer.
    pub(crate) fn start(cluster: &Cluster, resource: &str, options: InformerOptions) -> Self {
        let folder = Folder::new();
        let kubeconfig = folder.write("kubeconfig", &cluster.kubeconfig());
        let program = std::env::var_os("INTEROP_FOLLOW").expect("`cargo xtask test interop` sets it");
        let mut command = Command::new(program);
        command.arg("-kubeconfig").arg(kubeconfig).args(["-resource", resource, "-accept", options.accept]);
        command.arg(format!("-watch-list={}", options.watch_list));
        let running = Running::start(&mut command, folder.path().join("errors"));
        Self { running, events: Vec::new(), contents: Contents::new(), _folder: folder }
    }

    /// Reads events until the informer has synced.
    pub(crate) fn wait_for_sync(&mut self) {
        while self.next().event != "synced" {}
    }

    /// Reads events until this change.
    pub(crate) fn wait_for_change(&mut self, (what, key, version): &Change) {
        loop {
            let event = self.next();
            if event.event == *what && event.key == *key && Some(event.version) == *version {
                return;
            }
        }
    }

    /// Reads events until these contents result from them.
    pub(crate) fn wait_for_contents(&mut self, contents: &Contents) {
        while self.contents != *contents {
            self.next();
        }
    }

    /// Stops the informer, and returns the contents of its store.
    pub(crate) fn end(mut self) -> Contents {
        self.running.end_input();
        let store = self.running.line_with(|line| line.starts_with(r#"{"store":"#));
        let mut store: BTreeMap<String, Vec<Held>> = serde_json::from_str(&store).unwrap();
        let held = store.remove("store").unwrap_or_default();
        held.into_iter().map(|one| (one.key, (one.uid, one.version))).collect()
    }

    /// Returns the changes after the initial list.
    pub(crate) fn changes(&self) -> Vec<Change> {
        let change = |event: &Event| match event.event.as_str() {
            _ if event.initial => None,
            "add" => Some(("add", event.key.clone(), Some(event.version.clone()))),
            "update" => Some(("update", event.key.clone(), Some(event.version.clone()))),
            "delete" => Some(("delete", event.key.clone(), None)),
            _ => None,
        };
        self.events.iter().filter_map(change).collect()
    }

    fn next(&mut self) -> Event {
        let line = self.running.line();
        let line = line.unwrap_or_else(|| panic!("the informer exited early; {}", self.running.errors()));
        let event: Event = serde_json::from_str(&line).unwrap();
        self.fold(&event);
        self.events.push(event.clone());
        event
    }

    fn fold(&mut self, Event { event, key, uid, version, .. }: &Event) {
        match event.as_str() {
            "add" | "update" => _ = self.contents.insert(key.clone(), (uid.clone(), version.clone())),
            "delete" => _ = self.contents.remove(key).expect("a deleted object was added before"),
            other => assert_eq!(other, "synced"),
        }
    }
}
