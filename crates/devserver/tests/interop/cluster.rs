//! A server with a socket, and a client of it that needs none.

use std::{collections::BTreeMap, future::Future};

use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams},
};
use kube_devserver::{Builder, DevServer};
use serde_json::{Value, json};
use tokio::runtime::{self, Runtime};

/// Objects by key, each with its uid and version.
pub(crate) type Contents = BTreeMap<String, (String, String)>;

/// A running server, with the runtime that it runs on.
pub(crate) struct Cluster {
    pub(crate) server: DevServer,
    pub(crate) client: Client,
    runtime: Runtime,
}

impl Cluster {
    /// Speaks plain HTTP.
    pub(crate) fn start() -> Self {
        Self::start_as(DevServer::builder())
    }

    /// Speaks TLS and demands a token.
    pub(crate) fn start_secure() -> Self {
        Self::start_as(DevServer::builder().tls([""; 0]).token("open-sesame"))
    }

    /// Starts a server with a socket.
    pub(crate) fn start_as(builder: Builder) -> Self {
        let runtime = runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let server = runtime.block_on(builder.listen("127.0.0.1:0").start()).unwrap();
        let client = runtime.block_on(async { server.client() });
        Self { server, client, runtime }
    }

    pub(crate) fn kubeconfig(&self) -> String {
        self.server.kubeconfig().expect("the server has a socket")
    }

    /// Waits for something that the server or its client does.
    pub(crate) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Returns the client for a resource of the core group, in one namespace or in all.
    pub(crate) fn api(&self, resource: &str, namespace: Option<&str>) -> Api<DynamicObject> {
        let kind = match resource {
            "pods" => "Pod",
            "configmaps" => "ConfigMap",
            "namespaces" => "Namespace",
            "services" => "Service",
            other => panic!("no test has a use for {other}"),
        };
        let known = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("", "v1", kind), resource);
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &known),
            None => Api::all_with(self.client.clone(), &known),
        }
    }

    /// Makes an object, with its status if it has one.
    pub(crate) fn put(&self, resource: &str, json: &str) {
        let object: DynamicObject = serde_json::from_str(json).unwrap();
        let api = self.api(resource, object.metadata.namespace.as_deref());
        let name = object.metadata.name.clone().unwrap();
        let status = object.data.get("status").cloned().unwrap_or(Value::Null);
        self.wait(api.create(&PostParams::default(), &object)).unwrap();
        if !status.is_null() {
            let patch = Patch::Merge(json!({ "status": status }));
            self.wait(api.patch_status(&name, &PatchParams::default(), &patch)).unwrap();
        }
    }

    /// Returns all objects of a resource.
    pub(crate) fn contents(&self, resource: &str) -> Contents {
        let list = self.wait(self.api(resource, None).list(&ListParams::default())).unwrap();
        let metadata = list.items.into_iter().map(|object| object.metadata);
        metadata
            .map(|one| {
                let key = format!("{}/{}", one.namespace.unwrap(), one.name.unwrap());
                (key, (one.uid.unwrap(), one.resource_version.unwrap()))
            })
            .collect()
    }
}
