//! What a kind of objects looks like on the wire.

use kube_devserver::corpus::{Checksum, Pods, Widgets};
use kube_informer_bench_client::{
    options::Kind,
    subject::{WIDGET_DEEP, WIDGETS},
};
use kube_informer_wire::Schema;
use serde_json::Value;

/// A kind of objects: their names, their place, and where they come from.
#[derive(Clone, Debug)]
pub(super) struct Form {
    pub(super) api_version: String,
    pub(super) kind: &'static str,
    /// Where they are listed and watched.
    pub(super) path: String,
    /// The field that stands deep in one.
    pub(super) deep: &'static str,
    /// The way to write them in protobuf, if there is one.
    pub(super) schema: Option<Schema>,
    corpus: Corpus,
}

#[derive(Clone, Debug)]
enum Corpus {
    Pods(Pods),
    Widgets(Widgets),
}

impl Form {
    /// A kind, with the objects of a seed.
    pub(super) fn new(kind: Kind, seed: u64) -> Self {
        match kind {
            Kind::Pods => Self {
                api_version: "v1".to_owned(),
                kind: "Pod",
                path: "/api/v1/pods".to_owned(),
                deep: "/status/podIP",
                schema: Schema::of("v1", "Pod"),
                corpus: Corpus::Pods(Pods::new(seed)),
            },
            Kind::Widgets => {
                let [group, version, kind, plural] = WIDGETS;
                Self {
                    api_version: format!("{group}/{version}"),
                    kind,
                    path: format!("/apis/{group}/{version}/{plural}"),
                    deep: WIDGET_DEEP,
                    schema: None,
                    corpus: Corpus::Widgets(Widgets::new(seed)),
                }
            }
        }
    }

    /// One of the objects.
    pub(super) fn object(&self, index: u64) -> Value {
        match &self.corpus {
            Corpus::Pods(pods) => pods.pod(index),
            Corpus::Widgets(widgets) => widgets.widget(index),
        }
    }

    /// The checksum of so many of them.
    pub(super) fn checksum(&self, count: u64) -> Checksum {
        match &self.corpus {
            Corpus::Pods(pods) => pods.checksum(count),
            Corpus::Widgets(widgets) => {
                let mut sum = Checksum::new();
                (0..count).for_each(|index| sum.add(widgets.json(index).as_bytes()));
                sum
            }
        }
    }

    /// What the JSON of an object begins with, which items of a list do not have.
    pub(super) fn types(&self) -> String {
        format!(r#"{{"apiVersion":"{}","kind":"{}","#, self.api_version, self.kind)
    }
}
