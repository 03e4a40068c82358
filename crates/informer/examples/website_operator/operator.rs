//! The operator: a config map, a deployment and a service for each website, a status, events, and cleanup.

use super::website::{Website, WebsiteStatus};
use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Service},
    },
    jiff::Timestamp,
};
use kube::{Client, Resource, ResourceExt, api::Api};
use kube_informer::{
    Informer, Key, StartError,
    controller::{
        Action, Controller, ErrorPolicy, FinalizerError, FinalizerEvent, NewCondition, OwnerError, apply,
        apply_status, controller_owner_ref,
        events::{EventNote, Recorder},
        finalizer, predicates, set_condition,
    },
    manager::{Manager, rule},
};
use kube_leases::{Leases, LeasesBuilder};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fmt::Debug,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

pub(crate) const FINALIZER: &str = "example.com/dns";
/// The field manager of server-side apply.
pub(crate) const MANAGER: &str = "website-operator";
/// The interval of reconciles without an event, in case a system outside of the cluster has changed.
pub(crate) const INTERVAL: Duration = Duration::from_secs(600);

/// The maximum time that a reconcile waits for its own write in the cache.
const CACHE_TIMEOUT: Duration = Duration::from_secs(5);

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
        kind: String,
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

/// Returns the leader election of the operator: one replica works, and the others have complete caches and wait.
pub(crate) fn leader_election() -> LeasesBuilder {
    Leases::leader(MANAGER)
}

/// Returns the controller of the operator.
pub(crate) fn controller(informers: &WebsiteInformers, leases: &Leases) -> Controller<Website> {
    Controller::new(&informers.websites)
        .named("websites")
        .filter(predicates::generation)
        .owns(&informers.deployments)
        .owns(&informers.services)
        .owns(&informers.maps)
        .leases(leases)
        .concurrency(4)
        .retry_initial_errors()
}

/// Returns the manager of the operator, to which probes and a shutdown signal can be added.
pub(crate) fn manager(context: &Arc<Context>, leases: &Leases) -> Manager {
    let informers = &context.informers;
    Manager::new()
        .informer(&informers.websites)
        .informer(&informers.deployments)
        .informer(&informers.services)
        .informer(&informers.maps)
        .leases(leases)
        .rule(rule("", ["configmaps", "services"], ["create", "patch"]))
        .rule(rule("apps", ["deployments"], ["create", "patch"]))
        // The finalizer: read again after a conflict.
        .rule(rule("example.com", ["websites"], ["get", "patch"]))
        .rule(rule("example.com", ["websites/status"], ["patch"]))
        .rule(rule("", ["events"], ["create", "patch"]))
        .controller(controller(informers, leases), reconcile, ErrorPolicy::default(), Arc::clone(context))
}

pub(crate) async fn reconcile(
    site: Arc<Website>,
    context: Arc<Context>,
) -> Result<Action, FinalizerError<OperatorError>> {
    let api: Api<Website> = Api::namespaced(context.client.clone(), &site.namespace().unwrap_or_default());
    finalizer(&api, FINALIZER, site, |event| async {
        match event {
            FinalizerEvent::Apply(site) => apply_website(&site, &api, &context).await,
            FinalizerEvent::Cleanup(site) => {
                context.dns.remove(&site.name_any());
                Ok(Action::await_change())
            }
        }
    })
    .await
}

async fn apply_website(
    site: &Website,
    api: &Api<Website>,
    context: &Context,
) -> Result<Action, OperatorError> {
    let name = site.name_any();
    let owner = controller_owner_ref(site, &())?;
    let metadata = json!({ "name": name, "labels": { "website": name }, "ownerReferences": [owner] });
    let informers = &context.informers;
    let map = json!({ "metadata": metadata, "data": { "index.html": site.spec.page } });
    context.apply_owned(site, &informers.maps, map).await?;
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
    context.apply_owned(site, &informers.deployments, deployment).await?;
    let service = json!({ "metadata": metadata, "spec": { "selector": { "website": name }, "ports": [{ "port": 80 }] } });
    context.apply_owned(site, &informers.services, service).await?;
    context.dns.add(&name);
    context.update_status(site, api).await?;
    Ok(Action::requeue(INTERVAL))
}

impl Context {
    /// Applies an object that the website owns. An apply without a change writes nothing and causes no event.
    async fn apply_owned<K>(
        &self,
        site: &Website,
        cache: &Informer<K>,
        desired: Value,
    ) -> Result<(), OperatorError>
    where
        K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
        K: Serialize + DeserializeOwned + Clone + Debug + Send + Sync + 'static,
    {
        let namespace = site.namespace().unwrap_or_default();
        let name = site.name_any();
        let kind = K::kind(&());
        let api: Api<K> = Api::namespaced(self.client.clone(), &namespace);
        let is_new = cache.get((&*namespace, &*name)).is_none();
        let applied = apply(&api, MANAGER, &serde_json::from_value(desired)?).await;
        let applied = applied.map_err(|source| OperatorError::Write {
            kind: kind.to_string(),
            name: name.clone(),
            source,
        })?;
        if is_new {
            self.record(site, EventNote::normal("Created", format!("created {kind} {name}"))).await;
            // The next reconcile should see this object, or it records the event again.
            let seen = tokio::time::timeout(CACHE_TIMEOUT, cache.written(&applied)).await;
            if !matches!(seen, Ok(Ok(()))) {
                tracing::warn!(%kind, %name, "the cache does not have the created object yet");
            }
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
        let mut applied = Website::new(&site.name_any(), site.spec.clone());
        applied.status = Some(WebsiteStatus { ready_replicas: ready, ..status });
        apply_status(api, MANAGER, &applied).await.map_err(OperatorError::Status)?;
        Ok(())
    }

    /// Records an event. A failure is logged only: events are information.
    async fn record(&self, site: &Website, note: EventNote) {
        if let Err(error) = self.recorder.record(&site.object_ref(&()), note).await {
            tracing::warn!(%error, "cannot record an event");
        }
    }
}
