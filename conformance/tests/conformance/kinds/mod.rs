//! One object of every built-in kind in a cache: typed, dynamic, and metadata only.

mod as_json;
mod typed;

use kube::{
    Client, Resource,
    api::{ApiResource, DynamicObject, PartialObjectMeta},
    discovery::{Discovery, Scope},
};
use kube_conformance::{Server, eventually, on_both};
use kube_informer::{
    cache::Store,
    reflector::Reflector,
    source::{ListWatch, ListerWatcher},
};
use serde::Serialize;
use serde_json::Value;
use std::{collections::BTreeMap, fmt::Debug};
use tokio_util::sync::CancellationToken;
use typed::Fields;

on_both! {
    shared: [every_kind_is_cached_as_the_server_has_it],
    alone: [],
}

/// The objects, with as many fields as the API server accepts. Objects of rare kinds are from the tests of Kubernetes. A pod template is
/// `like` the pod in the file.
const OBJECTS: &str = include_str!("objects.json");

/// Kinds in older versions, which k8s-openapi does not have.
const UNTYPED: [(&str, &str); 4] = [
    ("networking.k8s.io/v1beta1", "IPAddress"),
    ("networking.k8s.io/v1beta1", "ServiceCIDR"),
    ("storage.k8s.io/v1beta1", "VolumeAttributesClass"),
    ("storagemigration.k8s.io/v1alpha1", "StorageVersionMigration"),
];

/// The kind without a sample object: a valid one needs a signature with a private key and a running pod.
const NOT_CREATED: &str = "PodCertificateRequest";

/// The part of the object that the cache must contain.
#[derive(Clone, Copy)]
enum View {
    /// The entire object.
    Whole,
    /// What this function returns of it.
    Decoded(fn(Value) -> Value),
    /// The metadata as a `PartialObjectMetadata`, which may differ from the complete object: daemon sets have an additional annotation there.
    Metadata,
}

/// `apps/v1` and `Deployment`.
type Kind = (String, String);

/// A created object with its path.
struct Made {
    client: Client,
    resource: ApiResource,
    namespace: Option<String>,
    name: String,
}

async fn every_kind_is_cached_as_the_server_has_it(server: &Server) {
    let (client, namespace) = (server.client(), server.namespace().await);
    let served = served(&client).await;
    let mut made = BTreeMap::new();
    for object in objects_of(&served, objects(&namespace)) {
        let kind = kind(&object);
        let (resource, scope) = &served[&kind];
        let namespace = (*scope == Scope::Namespaced).then(|| namespace.clone());
        made.insert(kind, Made::new(client.clone(), (resource.clone(), namespace), &object).await);
    }
    let is_missing = |kind: &&Kind| !made.contains_key(*kind) && kind.1 != NOT_CREATED;
    let left_out: Vec<_> = served.keys().filter(is_missing).collect();
    assert!(left_out.is_empty(), "there is no object of {left_out:?}");
    for made in made.values() {
        let (client, namespace) = (&made.client, made.namespace.as_deref());
        let untyped = ListWatch::<DynamicObject>::dynamic(client.clone(), namespace, &made.resource);
        made.check(untyped, View::Whole).await;
        let metadata = ListWatch::<PartialObjectMeta<DynamicObject>>::for_kind(
            client.clone(),
            namespace,
            &made.resource,
        );
        made.check(metadata, View::Metadata).await;
    }
    let fields = if server.is_real() { Fields::All } else { Fields::OfType };
    let typed = typed::check_each(&made, fields).await;
    let untyped: Vec<_> = made.keys().filter(|kind| !typed.contains(kind)).collect();
    let expected = UNTYPED.map(|(version, kind)| (version.to_owned(), kind.to_owned()));
    // Older servers serve beta versions for which the Rust types have been removed.
    let is_expected = |kind: &&Kind| {
        expected.contains(kind)
            || (server.is_older_than(36) && kind.0.contains("alpha") | kind.0.contains("beta"))
    };
    assert!(untyped.iter().all(is_expected), "{untyped:?}");
}

/// Returns the objects of the served kinds in the order of the file, in which limit ranges and quotas follow the objects that they would
/// refuse. They are followed by objects of kinds that the file has in other versions of the API only.
fn objects_of(served: &BTreeMap<Kind, (ApiResource, Scope)>, objects: Vec<Value>) -> Vec<Value> {
    let similar: Vec<_> = served.keys().filter_map(|kind| object_of_other_version(kind, &objects)).collect();
    // Not every server has all kinds.
    objects.into_iter().filter(|object| served.contains_key(&kind(object))).chain(similar).collect()
}

fn kind(object: &Value) -> Kind {
    let text = |name: &str| object[name].as_str().unwrap().to_owned();
    (text("apiVersion"), text("kind"))
}

/// Returns an object of another version of the API with another name, if there is none of this version.
fn object_of_other_version(kind: &Kind, objects: &[Value]) -> Option<Value> {
    let of_version = |api_version: &str| {
        objects.iter().find(|object| object["apiVersion"] == api_version && object["kind"] == *kind.1)
    };
    if of_version(&kind.0).is_some() {
        return None;
    }
    let (group, version) = kind.0.split_once('/')?;
    // Alpha versions are like the first beta version.
    let similar =
        ["v1beta1", "v1beta2", "v1"].iter().find_map(|other| of_version(&format!("{group}/{other}")));
    let mut object = similar?.clone();
    object["apiVersion"] = kind.0.as_str().into();
    let name = object["metadata"]["name"].as_str().unwrap().to_owned();
    object["metadata"]["name"] = format!("{name}-{version}").into();
    Some(object)
}

/// Returns the kinds that can be created, listed and watched.
async fn served(client: &Client) -> BTreeMap<Kind, (ApiResource, Scope)> {
    let discovery = Discovery::new(client.clone()).run().await.unwrap();
    let mut served = BTreeMap::new();
    for group in discovery.groups() {
        for version in group.versions() {
            for (resource, capabilities) in group.versioned_resources(version) {
                if ["create", "list", "watch"].iter().all(|verb| capabilities.supports_operation(verb)) {
                    let kind = (resource.api_version.clone(), resource.kind.clone());
                    served.insert(kind, (resource, capabilities.scope));
                }
            }
        }
    }
    // Custom resources of other tests are skipped.
    served.retain(|(version, _), _| !version.starts_with("example.com/"));
    served
}

fn objects(namespace: &str) -> Vec<Value> {
    let mut objects: Vec<Value> = serde_json::from_str(&OBJECTS.replace("NAMESPACE", namespace)).unwrap();
    let pod = objects.iter().find(|object| object["kind"] == "Pod").unwrap()["spec"].clone();
    objects.iter_mut().for_each(|object| fill(object, &pod));
    objects
}

/// Replaces `like` by the pod.
fn fill(value: &mut Value, pod: &Value) {
    if value.get("like").is_some() {
        let mut spec = pod.clone();
        spec["restartPolicy"] = value["restartPolicy"].take();
        *value = spec;
    } else if let Value::Object(fields) = value {
        fields.values_mut().for_each(|value| fill(value, pod));
    } else if let Value::Array(items) = value {
        items.iter_mut().for_each(|value| fill(value, pod));
    }
}

impl Made {
    async fn new(client: Client, place: (ApiResource, Option<String>), object: &Value) -> Self {
        let (resource, namespace) = place;
        let path = DynamicObject::url_path(&resource, namespace.as_deref());
        let body = serde_json::to_vec(object).unwrap();
        let request =
            http::Request::post(path).header("content-type", "application/json").body(body).unwrap();
        let answer: Value = client.request(request).await.unwrap_or_else(|error| {
            panic!("{} {}: {error:?}", object["apiVersion"], object["kind"]);
        });
        let name = answer["metadata"]["name"].as_str().unwrap().to_owned();
        Self { client, resource, namespace, name }
    }

    /// Returns the object from the server.
    async fn current(&self, view: View) -> Value {
        let path = DynamicObject::url_path(&self.resource, self.namespace.as_deref());
        let accept = match view {
            View::Whole | View::Decoded(_) => "application/json",
            View::Metadata => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        };
        let request = http::Request::get(format!("{path}/{}", self.name)).header("accept", accept);
        self.client.request(request.body(Vec::new()).unwrap()).await.unwrap()
    }

    /// Compares a cache of `K` with the server.
    async fn check<K>(&self, source: impl ListerWatcher<K> + 'static, view: View)
    where
        K: Resource + Clone + Debug + Serialize + Send + Sync + 'static,
    {
        let (store, writer) = Store::<K>::builder().build().unwrap();
        let cancel = CancellationToken::new();
        let task = tokio::spawn(Reflector::new(source, writer).run(cancel.clone()));
        let what = format!("{} {} in the cache", self.resource.api_version, self.resource.kind);
        eventually(&what, async || {
            let is_it = |object: &&std::sync::Arc<K>| object.meta().name.as_deref() == Some(&self.name);
            let list = store.list();
            let cached = list.iter().find(is_it).ok_or("it is not there")?;
            let cached = serde_json::to_value(&**cached).unwrap();
            let mut server = self.current(view).await;
            if let View::Decoded(decode) = view {
                server = decode(server);
            }
            let mut differences = Vec::new();
            compare("", &plain(server), &plain(cached), &mut differences);
            if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) }
        })
        .await;
        cancel.cancel();
        task.await.unwrap();
    }
}

/// Removes empty values, and the type, which items of a list do not have.
fn plain(mut value: Value) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.remove("kind");
        fields.remove("apiVersion");
    }
    pruned(value)
}

fn pruned(value: Value) -> Value {
    let says_nothing = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    match value {
        Value::Array(items) => items.into_iter().map(pruned).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| (name, pruned(value)));
            fields.filter(|(_, value)| !says_nothing(value)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

/// Returns the path of the first difference of two values.
fn compare(path: &str, server: &Value, cached: &Value, differences: &mut Vec<String>) {
    match (server, cached) {
        (Value::Object(one), Value::Object(other)) => {
            let names: std::collections::BTreeSet<_> = one.keys().chain(other.keys()).collect();
            for name in names {
                compare(&format!("{path}/{name}"), &server[name], &cached[name], differences);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (number, (one, other)) in one.iter().zip(other).enumerate() {
                compare(&format!("{path}/{number}"), one, other, differences);
            }
        }
        // 9 and 9.0 are equal.
        (Value::Number(one), Value::Number(other)) if one.as_f64() == other.as_f64() => {}
        _ if server == cached => {}
        _ => differences.push(format!("{path}: {server} on the server, {cached} in the cache")),
    }
}
