//! A server to write to, and a subscriber that checks every event against the previous state.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube_devserver::DevServer;
use kube_informer::{Event, Object, event::Deletion, source::BoxError, wire::Key};
use serde_json::json;
use std::collections::BTreeMap;

/// Key to version.
pub(crate) type Versions = BTreeMap<String, String>;

/// A server with an API handle for config maps.
pub(crate) struct Cluster {
    pub(crate) server: DevServer,
    pub(crate) maps: Api<ConfigMap>,
}

impl Cluster {
    pub(crate) fn new() -> Self {
        let server = DevServer::start();
        let maps = Api::default_namespaced(server.client());
        Self { server, maps }
    }

    /// Returns the config maps of another namespace, which is created if it does not exist.
    pub(crate) async fn namespace(&self, namespace: &str) -> Api<ConfigMap> {
        let mut new = Namespace::default();
        new.metadata.name = Some(namespace.into());
        // It may exist already.
        let _ = Api::<Namespace>::all(self.server.client()).create(&PostParams::default(), &new).await;
        Api::namespaced(self.server.client(), namespace)
    }

    pub(crate) async fn create(&self, name: &str) -> ConfigMap {
        self.maps.create(&PostParams::default(), &named(name)).await.unwrap()
    }

    pub(crate) async fn change(&self, name: &str, value: &str) -> ConfigMap {
        let patch = Patch::Merge(json!({ "data": { "value": value } }));
        self.maps.patch(name, &PatchParams::default(), &patch).await.unwrap()
    }

    pub(crate) async fn delete(&self, name: &str) {
        self.maps.delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// Defines a custom resource.
    pub(crate) async fn define_widgets(&self) {
        let definition = json!({
            "metadata": { "name": "widgets.example.com" },
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": { "plural": "widgets", "kind": "Widget" },
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
                }],
            },
        });
        let definitions: Api<CustomResourceDefinition> = Api::all(self.server.client());
        let definition = serde_json::from_value(definition).unwrap();
        definitions.create(&PostParams::default(), &definition).await.unwrap();
    }

    /// Returns the versions of the config maps of the server.
    pub(crate) async fn versions(&self) -> Versions {
        versions(self.maps.list(&ListParams::default()).await.unwrap().items.iter())
    }
}

pub(crate) fn named(name: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.into());
    map
}

/// A transform that fails for the map `bad`.
pub(crate) fn fail_for_bad(map: ConfigMap) -> Result<ConfigMap, BoxError> {
    if map.metadata.name.as_deref() == Some("bad") { Err("no".into()) } else { Ok(map) }
}

pub(crate) fn versions<'a>(maps: impl Iterator<Item = &'a ConfigMap>) -> Versions {
    maps.map(|map| (Key::of(map).unwrap().to_string(), map.metadata.resource_version.clone().unwrap()))
        .collect()
}

/// The state that results from the received events.
#[derive(Default)]
pub(crate) struct ReceivedState {
    pub(crate) known: Versions,
    pub(crate) inferred_deletions: Vec<String>,
}

impl ReceivedState {
    /// Applies an event, and checks that it fits the previous state.
    pub(crate) fn apply(&mut self, event: &Event<ConfigMap>) {
        let key = event.key().to_string();
        let version = |map: &Object<ConfigMap>| map.get().metadata.resource_version.clone().unwrap();
        match event {
            Event::Added { object, .. } => {
                assert_eq!(self.known.insert(key, version(object)), None, "added twice");
            }
            Event::Updated { old, new, .. } => {
                let (old, new) = (version(old), version(new));
                assert!(old.parse::<u64>().unwrap() <= new.parse().unwrap(), "an older version of {key}");
                assert_eq!(self.known.insert(key, new), Some(old), "`old` is not the previous version");
            }
            Event::Deleted { old, deletion, .. } => {
                assert_eq!(self.known.remove(&key), Some(version(old)), "`old` is not the previous version");
                if *deletion == Deletion::Inferred {
                    self.inferred_deletions.push(key);
                }
            }
            other => panic!("{other:?}"),
        }
    }
}
