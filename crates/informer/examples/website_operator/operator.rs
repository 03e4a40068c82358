//! The operator: a config map, a deployment and a service for each website, a status, events, and cleanup.

use super::website::{Website, WebsiteStatus};
use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Service},
    },
    jiff::Timestamp,
};
use kube::{
    Client, Resource, ResourceExt,
    api::{Api, Patch, PatchParams, PostParams},
};
use kube_informer::{
    Informer, Key, StartError,
    controller::{
        Action, Controller, ErrorPolicy, FinalizerError, FinalizerEvent, NewCondition, OwnerError,
        controller_owner_ref,
        events::{EventNote, Recorder},
        finalizer, predicates, set_condition,
    },
    manager::Manager,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fmt::Debug,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

pub(crate) const FINALIZER: &str = "example.com/dns";
/// The interval of reconciles without an event, in case a system outside of the cluster has changed.
pub(crate) const INTERVAL: Duration = Duration::from_secs(600);

/// What all reconciles share.
pub(crate) struct Context {
    pub(crate) client: Client,
    pub(crate) recorder: Recorder,
    pub(crate) informers: WebsiteInformers,
    /// A system outside of the cluster, which needs cleanup.
    pub(crate) dns: Dns,
}

/// The informers of the operator.
pub(crate) struct WebsiteInformers {
    pub(crate) websites: Informer<Website>,
    pub(crate) deployments: Informer<Deployment>,
    pub(crate) services: Informer<Service>,
    pub(crate) maps: Informer<ConfigMap>,
}

impl WebsiteInformers {
    pub(crate) fn start(client: &Client) -> Result<Self, StartError> {
        Ok(Self {
            websites: Informer::builder(client.clone()).start()?,
            deployments: Informer::builder(client.clone()).start()?,
            services: Informer::builder(client.clone()).start()?,
            maps: Informer::builder(client.clone()).start()?,
        })
    }
}

/// The names of all websites.
#[derive(Default)]
pub(crate) struct Dns(Mutex<BTreeSet<String>>);

impl Dns {
    pub(crate) fn names(&self) -> BTreeSet<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    #[allow(dead_code, reason = "tests restart the operator")]
    pub(crate) fn with_names(names: BTreeSet<String>) -> Self {
        Self(Mutex::new(names))
    }

    fn add(&self, name: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
    }

    fn remove(&self, name: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum OperatorError {
    #[error("cannot write {kind} {name}")]
    Write {
        kind: &'static str,
        name: String,
        #[source]
        source: kube::Error,
    },
    #[error("cannot update the status")]
    Status(#[source] kube::Error),
    #[error(transparent)]
    Owner(#[from] OwnerError),
    #[error("cannot build the object")]
    Build(#[from] serde_json::Error),
}

/// Returns the manager of the operator, to which probes and a shutdown signal can be added.
pub(crate) fn manager(context: &Arc<Context>) -> Manager {
    let WebsiteInformers { websites, deployments, services, maps } = &context.informers;
    let controller = Controller::new(websites)
        .named("websites")
        .filter(predicates::generation)
        .owns(deployments)
        .owns(services)
        .owns(maps)
        .concurrency(4)
        .retry_initial_errors();
    Manager::new().informer(websites).informer(deployments).informer(services).informer(maps).controller(
        controller,
        reconcile,
        ErrorPolicy::default(),
        Arc::clone(context),
    )
}

async fn reconcile(
    site: Arc<Website>,
    context: Arc<Context>,
) -> Result<Action, FinalizerError<OperatorError>> {
    let api: Api<Website> = Api::namespaced(context.client.clone(), &site.namespace().unwrap_or_default());
    finalizer(&api, FINALIZER, site, |event| async {
        match event {
            FinalizerEvent::Apply(site) => apply(&site, &api, &context).await,
            FinalizerEvent::Cleanup(site) => {
                context.dns.remove(&site.name_any());
                Ok(Action::await_change())
            }
        }
    })
    .await
}

async fn apply(site: &Website, api: &Api<Website>, context: &Context) -> Result<Action, OperatorError> {
    let name = site.name_any();
    let owner = controller_owner_ref(site, &())?;
    let metadata = json!({ "name": name, "labels": { "website": name }, "ownerReferences": [owner] });
    let informers = &context.informers;
    let map = json!({ "metadata": metadata, "data": { "index.html": site.spec.page } });
    context.ensure(site, &informers.maps, map).await?;
    let container = json!({ "name": "web", "image": "nginx", "volumeMounts": [{ "name": "page", "mountPath": "/page" }] });
    let deployment = json!({
        "metadata": metadata,
        "spec": {
            "replicas": site.spec.replicas,
            "selector": { "matchLabels": { "website": name } },
            "template": {
                "metadata": { "labels": { "website": name } },
                "spec": { "containers": [container], "volumes": [{ "name": "page", "configMap": { "name": name } }] },
            },
        },
    });
    context.ensure(site, &informers.deployments, deployment).await?;
    let service = json!({ "metadata": metadata, "spec": { "selector": { "website": name }, "ports": [{ "port": 80 }] } });
    context.ensure(site, &informers.services, service).await?;
    context.dns.add(&name);
    context.update_status(site, api).await?;
    Ok(Action::requeue(INTERVAL))
}

impl Context {
    /// Creates an object, or patches it if it differs from `desired`.
    ///
    /// On a server with server-side apply, `kube_informer::controller::apply` does this in one request.
    async fn ensure<K>(
        &self,
        site: &Website,
        cache: &Informer<K>,
        desired: Value,
    ) -> Result<(), OperatorError>
    where
        K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
        K: Serialize + DeserializeOwned + Clone + Debug + Send + Sync + 'static,
    {
        let (namespace, name) = (site.namespace().unwrap_or_default(), site.name_any());
        let api: Api<K> = Api::namespaced(self.client.clone(), &namespace);
        let failed = |source| OperatorError::Write { kind: kind_of::<K>(), name: name.clone(), source };
        let stored = cache.get((&*namespace, &*name));
        let written = match stored {
            Some(stored) if contains(&serde_json::to_value(&*stored)?, &desired) => return Ok(()),
            Some(_) => {
                let patch = Patch::Merge(&desired);
                api.patch(&name, &PatchParams::default(), &patch).await.map_err(failed)?
            }
            None => {
                let object: K = serde_json::from_value(desired)?;
                let created = api.create(&PostParams::default(), &object).await.map_err(failed)?;
                let note = EventNote::normal("Created", format!("created {} {name}", kind_of::<K>()));
                self.record(site, note).await;
                created
            }
        };
        // The next reconcile must see this write, or it would create the object again.
        if let Err(error) = cache.written(&written).await {
            tracing::warn!(%error, "the cache was stopped");
        }
        Ok(())
    }

    async fn update_status(&self, site: &Website, api: &Api<Website>) -> Result<(), OperatorError> {
        let key = Key::of(site).ok();
        let deployment = key.and_then(|key| self.informers.deployments.get(&key));
        let ready =
            deployment.and_then(|deployment| deployment.status.as_ref()?.ready_replicas).unwrap_or_default();
        let mut status = site.status.clone().unwrap_or_default();
        let is_ready = ready >= site.spec.replicas;
        let reason = if is_ready { "AllReplicasReady" } else { "ReplicasMissing" };
        let condition = NewCondition::new("Ready", is_ready, reason)
            .message(format!("{ready} of {} replicas are ready", site.spec.replicas))
            .observed(site);
        let has_changed = set_condition(&mut status.conditions, condition, Timestamp::now());
        if !has_changed && status.ready_replicas == ready {
            return Ok(()); // a status update without a change would cost a request, and cause an event
        }
        status = WebsiteStatus { ready_replicas: ready, ..status };
        let patch = Patch::Merge(json!({ "status": status }));
        api.patch_status(&site.name_any(), &PatchParams::default(), &patch)
            .await
            .map_err(OperatorError::Status)?;
        Ok(())
    }

    /// Records an event. A failure is logged only: events are information.
    async fn record(&self, site: &Website, note: EventNote) {
        if let Err(error) = self.recorder.record(&site.object_ref(&()), note).await {
            tracing::warn!(%error, "cannot record an event");
        }
    }
}

fn kind_of<K>() -> &'static str {
    std::any::type_name::<K>().rsplit("::").next().unwrap_or_default()
}

/// Returns true if `stored` has all fields of `desired` with the same values. The server adds defaults to stored objects.
fn contains(stored: &Value, desired: &Value) -> bool {
    match (stored, desired) {
        (Value::Object(stored), Value::Object(desired)) => {
            desired.iter().all(|(name, value)| stored.get(name).is_some_and(|known| contains(known, value)))
        }
        (Value::Array(stored), Value::Array(desired)) => {
            stored.len() == desired.len()
                && stored.iter().zip(desired).all(|(stored, desired)| contains(stored, desired))
        }
        (stored, desired) => stored == desired,
    }
}
