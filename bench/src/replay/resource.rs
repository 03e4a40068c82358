//! The resource that is served.

use kube_devserver::corpus::{Checksum, Pods, Widgets};
use kube_informer_bench_client::{
    object::{WIDGET_NESTED_FIELD, WIDGETS},
    options::Kind,
};
use kube_informer_wire::Schema;
use serde_json::Value;

/// The names, path and objects of a resource.
#[derive(Clone, Debug)]
pub(super) struct Resource {
    pub(super) api_version: String,
    pub(super) kind: &'static str,
    /// The URL path of LIST and WATCH.
    pub(super) path: String,
    /// The JSON pointer of the nested field in the fingerprint.
    pub(super) nested_field: &'static str,
    /// The protobuf schema, if there is one.
    pub(super) schema: Option<Schema>,
    corpus: Corpus,
}

#[derive(Clone, Debug)]
enum Corpus {
    Pods(Pods),
    Widgets(Widgets),
}

impl Resource {
    /// Creates a resource with the objects of a seed.
    pub(super) fn new(kind: Kind, seed: u64) -> Self {
        match kind {
            Kind::Pods => Self {
                api_version: "v1".to_owned(),
                kind: "Pod",
                path: "/api/v1/pods".to_owned(),
                nested_field: "/status/podIP",
                schema: Schema::of("v1", "Pod"),
                corpus: Corpus::Pods(Pods::new(seed)),
            },
            Kind::Widgets => {
                let [group, version, kind, plural] = WIDGETS;
                Self {
                    api_version: format!("{group}/{version}"),
                    kind,
                    path: format!("/apis/{group}/{version}/{plural}"),
                    nested_field: WIDGET_NESTED_FIELD,
                    schema: None,
                    corpus: Corpus::Widgets(Widgets::new(seed)),
                }
            }
        }
    }

    pub(super) fn object(&self, index: u64) -> Value {
        match &self.corpus {
            Corpus::Pods(pods) => pods.pod(index),
            Corpus::Widgets(widgets) => widgets.widget(index),
        }
    }

    /// Returns the checksum of the first `count` objects.
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

    /// Returns the start of the JSON of an object, which items of a list do not have.
    pub(super) fn type_prefix(&self) -> String {
        format!(r#"{{"apiVersion":"{}","kind":"{}","#, self.api_version, self.kind)
    }
}
