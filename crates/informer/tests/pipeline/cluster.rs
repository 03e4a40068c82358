//! A server to write to, and a follower that checks every event against what it knew.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube_devserver::DevServer;
use kube_informer::{Event, Object, event::Deletion, source::BoxError, wire::Key};
use serde_json::json;
use std::collections::BTreeMap;

/// Key to version.
pub(crate) type Versions = BTreeMap<String, String>;

/// A server, and its config maps.
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

    /// The same server, in another namespace, which is made if it is not there.
    pub(crate) async fn namespace(&self, namespace: &str) -> Api<ConfigMap> {
        let mut new = Namespace::default();
        new.metadata.name = Some(namespace.into());
        // It may be there.
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

    /// What the server has.
    pub(crate) async fn versions(&self) -> Versions {
        versions(self.maps.list(&ListParams::default()).await.unwrap().items.iter())
    }
}

pub(crate) fn named(name: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.into());
    map
}

/// A transform that cannot do with the map `bad`.
pub(crate) fn all_but_bad(map: ConfigMap) -> Result<ConfigMap, BoxError> {
    if map.metadata.name.as_deref() == Some("bad") { Err("no".into()) } else { Ok(map) }
}

pub(crate) fn versions<'a>(maps: impl Iterator<Item = &'a ConfigMap>) -> Versions {
    maps.map(|map| (Key::of(map).unwrap().to_string(), map.metadata.resource_version.clone().unwrap()))
        .collect()
}

/// What a follower was told, added up.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) known: Versions,
    pub(crate) unseen_deletions: Vec<String>,
}

impl Told {
    /// Folds an event into what is known, which it has to fit.
    pub(crate) fn hear(&mut self, event: &Event<ConfigMap>) {
        let key = event.key().to_string();
        let version = |map: &Object<ConfigMap>| map.get().metadata.resource_version.clone().unwrap();
        match event {
            Event::Added { object, .. } => {
                assert_eq!(self.known.insert(key, version(object)), None, "added what was there");
            }
            Event::Updated { old, new, .. } => {
                let (old, new) = (version(old), version(new));
                assert!(old.parse::<u64>().unwrap() <= new.parse().unwrap(), "{key} went back in time");
                assert_eq!(self.known.insert(key, new), Some(old), "changed from something else");
            }
            Event::Deleted { old, deletion, .. } => {
                assert_eq!(self.known.remove(&key), Some(version(old)), "deleted something else");
                if *deletion == Deletion::Inferred {
                    self.unseen_deletions.push(key);
                }
            }
            other => panic!("{other:?}"),
        }
    }
}
