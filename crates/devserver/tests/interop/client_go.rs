//! Runs a client-go informer and reads what it sees.

use std::{collections::BTreeMap, process::Command};

use serde::Deserialize;

use crate::{
    child::Running,
    churn::Change,
    cluster::{Cluster, Contents},
    folder::Folder,
};

/// How an informer talks to the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    pub(crate) accept: &'static str,
    pub(crate) watch_list: bool,
}

/// A change as the informer told it.
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

/// An object that the informer holds at the end.
#[derive(Debug, Deserialize)]
struct Held {
    key: String,
    uid: String,
    version: String,
}

/// An informer at work.
pub(crate) struct Follower {
    running: Running,
    pub(crate) events: Vec<Event>,
    /// What the events amount to.
    pub(crate) folded: Contents,
    _folder: Folder,
}

impl Follower {
    /// Starts an informer.
    pub(crate) fn start(cluster: &Cluster, resource: &str, manner: Manner) -> Self {
        let folder = Folder::new();
        let kubeconfig = folder.write("kubeconfig", &cluster.kubeconfig());
        let program =
            std::env::var_os("INTEROP_FOLLOW").expect("`cargo xtask test interop` says where it is");
        let mut command = Command::new(program);
        command.arg("-kubeconfig").arg(kubeconfig).args(["-resource", resource, "-accept", manner.accept]);
        command.arg(format!("-watch-list={}", manner.watch_list));
        let running = Running::start(&mut command, folder.path().join("errors"));
        Self { running, events: Vec::new(), folded: Contents::new(), _folder: folder }
    }

    /// Reads on until the informer says that it has seen all there was at first.
    pub(crate) fn synced(&mut self) {
        while self.next().event != "synced" {}
    }

    /// Reads on until it has told this change.
    pub(crate) fn told(&mut self, (what, key, version): &Change) {
        loop {
            let event = self.next();
            if event.event == *what && event.key == *key && Some(event.version) == *version {
                return;
            }
        }
    }

    /// Reads on until what it told amounts to this.
    pub(crate) fn reached(&mut self, contents: &Contents) {
        while self.folded != *contents {
            self.next();
        }
    }

    /// Ends the informer and returns what it holds.
    pub(crate) fn end(mut self) -> Contents {
        self.running.end_input();
        let store = self.running.line_with(|line| line.starts_with(r#"{"store":"#));
        let mut store: BTreeMap<String, Vec<Held>> = serde_json::from_str(&store).unwrap();
        let held = store.remove("store").unwrap_or_default();
        held.into_iter().map(|one| (one.key, (one.uid, one.version))).collect()
    }

    /// The changes that it told, without what was there at first.
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
        let line = line.unwrap_or_else(|| panic!("it ended early; {}", self.running.errors()));
        let event: Event = serde_json::from_str(&line).unwrap();
        self.fold(&event);
        self.events.push(event.clone());
        event
    }

    fn fold(&mut self, Event { event, key, uid, version, .. }: &Event) {
        match event.as_str() {
            "add" | "update" => _ = self.folded.insert(key.clone(), (uid.clone(), version.clone())),
            "delete" => _ = self.folded.remove(key).expect("what is deleted was there"),
            other => assert_eq!(other, "synced"),
        }
    }
}
