//! Changes objects at random, and records the changes.

use kube::{
    Api,
    api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use testkit::Random;

use crate::cluster::Cluster;

/// A change as an informer must report it: its type, the key, and the new version.
///
/// The version of a deletion is `None`, because only the watch knows it.
pub(crate) type Change = (&'static str, String, Option<String>);

/// Creates, changes and deletes objects of one resource in two namespaces.
pub(crate) struct Churn<'a> {
    cluster: &'a Cluster,
    resource: &'static str,
    live: Vec<(&'static str, String)>,
    made: usize,
    random: Random,
    pub(crate) changes: Vec<Change>,
}

impl<'a> Churn<'a> {
    pub(crate) fn new(cluster: &'a Cluster, resource: &'static str, seed: u64) -> Self {
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "shop" } });
        cluster.put("namespaces", &namespace.to_string());
        Self { cluster, resource, live: Vec::new(), made: 0, random: Random::new(seed), changes: Vec::new() }
    }

    /// Creates this number of objects.
    pub(crate) fn make(&mut self, count: usize) {
        for _ in 0..count {
            self.create();
        }
    }

    /// Makes this number of changes. Two of five changes create an object, two update one, and one deletes
    /// one, on average.
    pub(crate) fn change(&mut self, count: usize) {
        for _ in 0..count {
            match self.random.index(5) {
                _ if self.live.is_empty() => self.create(),
                0 | 1 => self.create(),
                2 | 3 => self.update(),
                _ => self.delete(),
            }
        }
    }

    /// Creates the last object, so that the final state differs from all earlier states.
    pub(crate) fn end(&mut self) {
        self.create_named("default", "the-end");
    }

    fn create(&mut self) {
        let namespace = ["default", "shop"][self.random.index(2)];
        let name = format!("object-{}", self.made);
        self.made += 1;
        self.create_named(namespace, &name);
        self.live.push((namespace, name));
    }

    fn create_named(&mut self, namespace: &str, name: &str) {
        let object = serde_json::from_value(body(self.resource, namespace, name)).unwrap();
        let made = self.cluster.wait(self.api(namespace).create(&PostParams::default(), &object)).unwrap();
        self.changes.push(("add", key(namespace, name), made.metadata.resource_version));
    }

    fn update(&mut self) {
        let at = self.random.index(self.live.len());
        let (namespace, name) = self.live[at].clone();
        let step = self.changes.len().to_string();
        let patch = Patch::Merge(json!({ "metadata": { "annotations": { "step": step } } }));
        let api = self.api(namespace);
        let changed = self.cluster.wait(api.patch(&name, &PatchParams::default(), &patch)).unwrap();
        self.changes.push(("update", key(namespace, &name), changed.metadata.resource_version));
    }

    fn delete(&mut self) {
        let at = self.random.index(self.live.len());
        let (namespace, name) = self.live.swap_remove(at);
        self.cluster.wait(self.api(namespace).delete(&name, &DeleteParams::default())).unwrap();
        self.changes.push(("delete", key(namespace, &name), None));
    }

    fn api(&self, namespace: &str) -> Api<DynamicObject> {
        self.cluster.api(self.resource, Some(namespace))
    }
}

fn key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

fn body(resource: &str, namespace: &str, name: &str) -> Value {
    let metadata = json!({ "namespace": namespace, "name": name, "labels": { "app": "churn" } });
    let containers = json!([{ "name": "main", "image": "nginx" }]);
    match resource {
        "pods" => {
            json!({ "kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": { "containers": containers } })
        }
        _ => {
            json!({ "kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": { "name": name } })
        }
    }
}
