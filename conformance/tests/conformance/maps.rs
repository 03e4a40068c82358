//! The config maps or secrets of one test, in its namespace.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Client, Resource,
    api::{Api, DeleteParams, Patch, PatchParams, PostParams},
};
use kube_conformance::Server;
use kube_informer::{
    source::{Error, ListWatch, ListerWatcher, RawObject},
    wire::{ListMeta, ListOptions, ResourceVersion},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::fmt::Debug;

/// Returns the response of the server, successful or not; the body is JSON by default.
pub(crate) async fn ask(client: &Client, request: http::request::Builder, body: Value) -> Value {
    let body = if body.is_null() { Vec::new() } else { serde_json::to_vec(&body).unwrap() };
    let mut request = request.body(body).unwrap();
    let json = http::HeaderValue::from_static("application/json");
    request.headers_mut().entry("content-type").or_insert(json);
    match client.request(request).await {
        Ok(answer) => answer,
        Err(kube::Error::Api(status)) => serde_json::to_value(status).unwrap(),
        Err(error) => panic!("{error:?}"),
    }
}

/// Objects that can be created from a name.
pub(crate) trait Plain:
    Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
    + Clone
    + Debug
    + DeserializeOwned
    + Serialize
    + Send
    + Sync
    + 'static
{
}

impl Plain for ConfigMap {}

/// A real server has no watch cache for secrets, so that a compaction affects them immediately.
impl Plain for Secret {}

/// The objects of a kind in a namespace, with operations on them.
pub(crate) struct Maps<K> {
    pub(crate) namespace: String,
    pub(crate) api: Api<K>,
    pub(crate) client: Client,
}

impl<K: Plain> Maps<K> {
    pub(crate) async fn new(server: &Server) -> Self {
        let (namespace, client) = (server.namespace().await, server.client());
        Self { api: Api::namespaced(client.clone(), &namespace), client, namespace }
    }

    pub(crate) fn source(&self) -> ListWatch<K> {
        self.source_through(self.client.clone())
    }

    pub(crate) fn source_through(&self, client: Client) -> ListWatch<K> {
        ListWatch::namespaced(client, &self.namespace)
    }

    /// Creates an object and returns its version.
    pub(crate) async fn create(&self, name: &str) -> ResourceVersion {
        self.create_with(name, json!({})).await
    }

    pub(crate) async fn create_with(&self, name: &str, mut metadata: Value) -> ResourceVersion {
        metadata["name"] = name.into();
        let object = serde_json::from_value(json!({ "metadata": metadata })).unwrap();
        version(&self.api.create(&PostParams::default(), &object).await.unwrap())
    }

    pub(crate) async fn label(&self, name: &str, key: &str, value: Option<&str>) -> ResourceVersion {
        self.patch(name, json!({ "metadata": { "labels": { key: value } } })).await
    }

    pub(crate) async fn change(&self, name: &str, value: &str) -> ResourceVersion {
        self.patch(name, json!({ "metadata": { "annotations": { "value": value } } })).await
    }

    pub(crate) async fn patch(&self, name: &str, patch: Value) -> ResourceVersion {
        version(&self.api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap())
    }

    pub(crate) async fn delete(&self, name: &str) {
        self.api.delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// Returns the current version of the list.
    pub(crate) async fn version(&self) -> ResourceVersion {
        page(&self.source(), &ListOptions::default()).await.unwrap().1.version.unwrap()
    }
}

pub(crate) fn version(object: &impl Resource) -> ResourceVersion {
    object.meta().resource_version.as_deref().unwrap().parse().unwrap()
}

/// Returns the names on one page, and its metadata.
pub(crate) async fn page<K: Plain>(
    source: &ListWatch<K>,
    options: &ListOptions,
) -> Result<(Vec<String>, ListMeta), Error> {
    let mut names = Vec::new();
    let mut take = |item: Result<RawObject<K>, _>| {
        names.push(item.unwrap().into_object().unwrap().meta().name.clone().unwrap());
    };
    let meta = source.list(options, &mut take).await?;
    Ok((names, meta))
}
