//! Controllers of kube-rs's examples and client-go's sample controller, written for this crate from their behavior.

use crate::cluster::Cluster;
use k8s_openapi::{
    ByteString,
    api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Secret},
    },
};
use kube::{
    Client, Resource, ResourceExt,
    api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams},
};
use kube_informer::{
    Informer,
    controller::{
        Action, Controller, ErrorPolicy, FinalizerError, FinalizerEvent, Outcome,
        events::{EventNote, Recorder},
        finalizer, set_controller_owner,
    },
};
use serde_json::json;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::time::sleep;

fn widgets() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Widget"))
}

fn widget(name: &str, content: &str) -> DynamicObject {
    DynamicObject::new(name, &widgets()).data(json!({ "spec": { "content": content, "replicas": 1 } }))
}

/// Creates an object, or replaces its fields.
async fn create_or_patch<K>(api: &Api<K>, object: &K) -> Result<K, kube::Error>
where
    K: Resource + Clone + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned,
{
    match api.create(&PostParams::default(), object).await {
        Err(kube::Error::Api(status)) if status.code == 409 => {
            api.patch(&object.name_any(), &PatchParams::default(), &Patch::Merge(object)).await
        }
        result => result,
    }
}

/// `configmapgen_controller`: a config map for each object of a custom resource.
mod config_map_generator {
    use super::*;

    pub(super) struct Data {
        pub(super) client: Client,
    }

    pub(super) async fn reconcile(
        generator: Arc<DynamicObject>,
        data: Arc<Data>,
    ) -> Result<Action, kube::Error> {
        let mut map = ConfigMap::default();
        map.metadata.name = generator.metadata.name.clone();
        map.metadata.namespace = generator.metadata.namespace.clone();
        let content = generator.data["spec"]["content"].as_str().unwrap_or_default();
        map.data = Some([("content".to_owned(), content.to_owned())].into());
        set_controller_owner(&mut map, &*generator, &widgets())
            .map_err(|error| kube::Error::Service(error.into()))?;
        let namespace = generator.namespace().unwrap_or_default();
        create_or_patch(&Api::namespaced(data.client.clone(), &namespace), &map).await?;
        Ok(Action::requeue(Duration::from_secs(300)))
    }

    pub(super) fn error_policy(_: Arc<DynamicObject>, _: &kube::Error, _: Arc<Data>) -> Action {
        Action::requeue(Duration::from_secs(1))
    }
}

#[tokio::test(start_paused = true)]
async fn config_map_generator_restores_its_config_maps() {
    let cluster = Cluster::new();
    cluster.define_widgets().await;
    let client = cluster.server.client();
    let generators = Informer::<DynamicObject>::dynamic(client.clone(), widgets()).start().unwrap();
    let maps = Informer::<ConfigMap>::builder(client.clone()).start().unwrap();
    let controller = Controller::new(&generators).owns(&maps);
    let handle = controller.handle();
    let data = Arc::new(config_map_generator::Data { client: client.clone() });
    let running = tokio::spawn(controller.run(
        config_map_generator::reconcile,
        config_map_generator::error_policy,
        data,
    ));
    let api: Api<DynamicObject> = Api::default_namespaced_with(client, &widgets());
    api.create(&PostParams::default(), &widget("a", "one")).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    let content = || async { cluster.maps.get("a").await.unwrap().data.unwrap()["content"].clone() };
    assert_eq!(content().await, "one");
    // A change of the owned object is undone, and a deleted one is created again.
    let patch = Patch::Merge(json!({ "data": { "content": "changed" } }));
    cluster.maps.patch("a", &PatchParams::default(), &patch).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    assert_eq!(content().await, "one");
    cluster.delete("a").await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!(content().await, "one");
    handle.stop();
    running.await.unwrap().unwrap();
}

/// `secret_syncer`: a secret for each config map, with cleanup instead of an owner reference.
mod secret_syncer {
    use super::*;

    pub(super) struct Data {
        pub(super) maps: Api<ConfigMap>,
        pub(super) secrets: Api<Secret>,
    }

    pub(super) async fn reconcile(
        map: Arc<ConfigMap>,
        data: Arc<Data>,
    ) -> Result<Action, FinalizerError<kube::Error>> {
        let secrets = &data.secrets;
        finalizer(&data.maps, "configmap-secret-syncer.example.com/cleanup", map, |event| async move {
            match event {
                FinalizerEvent::Apply(map) => apply(&map, secrets).await,
                FinalizerEvent::Cleanup(map) => cleanup(&map, secrets).await,
            }
        })
        .await
    }

    async fn apply(map: &ConfigMap, secrets: &Api<Secret>) -> Result<Action, kube::Error> {
        let mut secret = Secret::default();
        secret.metadata.name = Some(format!("{}-secret", map.name_any()));
        let encode =
            |(name, value): (&String, &String)| (name.clone(), ByteString(value.clone().into_bytes()));
        secret.data = Some(map.data.iter().flatten().map(encode).collect());
        create_or_patch(secrets, &secret).await?;
        Ok(Action::await_change())
    }

    async fn cleanup(map: &ConfigMap, secrets: &Api<Secret>) -> Result<Action, kube::Error> {
        match secrets.delete(&format!("{}-secret", map.name_any()), &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            result => drop(result?),
        }
        Ok(Action::await_change())
    }
}

#[tokio::test(start_paused = true)]
async fn secret_syncer_copies_and_cleans_up() {
    let cluster = Cluster::new();
    let client = cluster.server.client();
    let maps = Informer::<ConfigMap>::builder(client.clone()).start().unwrap();
    let secrets: Api<Secret> = Api::default_namespaced(client);
    let data = secret_syncer::Data { maps: cluster.maps.clone(), secrets: secrets.clone() };
    let controller = Controller::new(&maps);
    let handle = controller.handle();
    let running =
        tokio::spawn(controller.run(secret_syncer::reconcile, ErrorPolicy::default(), Arc::new(data)));
    cluster.create("a").await;
    cluster.change("a", "v").await;
    sleep(Duration::from_secs(5)).await;
    let secret = secrets.get("a-secret").await.unwrap();
    assert_eq!(secret.data.unwrap()["value"].0, b"v");
    cluster.delete("a").await;
    sleep(Duration::from_secs(5)).await;
    assert!(secrets.get_opt("a-secret").await.unwrap().is_none());
    assert!(cluster.maps.get_opt("a").await.unwrap().is_none());
    handle.stop();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn two_controllers_share_one_informer() {
    let cluster = Cluster::new();
    for name in ["a", "b"] {
        cluster.create(name).await;
    }
    let maps = Informer::<ConfigMap>::builder(cluster.server.client()).start().unwrap();
    let count = |_: Arc<ConfigMap>, count: Arc<AtomicUsize>| async move {
        count.fetch_add(1, Ordering::Relaxed);
        Ok::<_, kube::Error>(Action::await_change())
    };
    let counts = [Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0))];
    let mut running = Vec::new();
    for (number, counter) in counts.iter().enumerate() {
        let controller = Controller::new(&maps).named(format!("controller-{number}"));
        let handle = controller.handle();
        let task = tokio::spawn(controller.run(count, ErrorPolicy::default(), Arc::clone(counter)));
        handle.idle().await;
        running.push((handle, task));
    }
    assert_eq!(counts.each_ref().map(|count| count.load(Ordering::Relaxed)), [2, 2]);
    assert_eq!(maps.status().counts.watches + maps.status().counts.streams, 1, "one watch for both");
    for (handle, task) in running {
        handle.stop();
        task.await.unwrap().unwrap();
    }
}

/// client-go's sample controller: a deployment for each object, its status, and an event for each sync.
mod sample_controller {
    use super::*;

    pub(super) struct Data {
        pub(super) client: Client,
        pub(super) deployments: Informer<Deployment>,
        pub(super) recorder: Recorder,
    }

    #[derive(Debug, thiserror::Error)]
    pub(super) enum SyncHandlerError {
        #[error("resource {0:?} already exists and is not managed by Foo")]
        NotControlled(String),
        #[error(transparent)]
        Owner(#[from] kube_informer::controller::OwnerError),
        #[error(transparent)]
        Kube(#[from] kube::Error),
    }

    pub(super) async fn sync(
        sample: Arc<DynamicObject>,
        data: Arc<Data>,
    ) -> Result<Action, SyncHandlerError> {
        let (namespace, name) = (sample.namespace().unwrap_or_default(), sample.name_any());
        let api: Api<Deployment> = Api::namespaced(data.client.clone(), &namespace);
        let replicas = sample.data["spec"]["replicas"].as_i64().unwrap_or(1) as i32;
        let deployment = match data.deployments.get((&*namespace, &*name)) {
            None => api.create(&PostParams::default(), &deployment(&sample, replicas)?).await?,
            Some(known) if !kube_informer::controller::is_controlled_by(&*known, &*sample) => {
                let note = EventNote::warning("ErrResourceExists", format!("{name} exists"));
                data.recorder.record(&sample.object_ref(&widgets()), note).await?;
                return Err(SyncHandlerError::NotControlled(name));
            }
            Some(known) if known.spec.replicas != Some(replicas) => {
                let patch = Patch::Merge(json!({ "spec": { "replicas": replicas } }));
                api.patch(&name, &PatchParams::default(), &patch).await?
            }
            Some(known) => Arc::unwrap_or_clone(known),
        };
        let available = deployment.status.and_then(|status| status.available_replicas).unwrap_or_default();
        let samples: Api<DynamicObject> = Api::namespaced_with(data.client.clone(), &namespace, &widgets());
        if sample.data["status"]["availableReplicas"].as_i64() != Some(available.into()) {
            let patch = Patch::Merge(json!({ "status": { "availableReplicas": available } }));
            samples.patch(&name, &PatchParams::default(), &patch).await?;
        }
        let note = EventNote::normal("Synced", "Foo synced successfully");
        data.recorder.record(&sample.object_ref(&widgets()), note).await?;
        Ok(Action::await_change())
    }

    fn deployment(sample: &DynamicObject, replicas: i32) -> Result<Deployment, SyncHandlerError> {
        let labels = json!({ "controller": sample.name_any() });
        let deployment = json!({
            "metadata": { "name": sample.name_any(), "namespace": sample.namespace() },
            "spec": {
                "replicas": replicas,
                "selector": { "matchLabels": labels },
                "template": {
                    "metadata": { "labels": labels },
                    "spec": { "containers": [{ "name": "nginx", "image": "nginx:latest" }] },
                },
            },
        });
        let mut deployment: Deployment =
            serde_json::from_value(deployment).map_err(kube::Error::SerdeError)?;
        set_controller_owner(&mut deployment, sample, &widgets())?;
        Ok(deployment)
    }
}

#[tokio::test(start_paused = true)]
async fn the_sample_controller_scales_its_deployment_and_refuses_others() {
    let cluster = Cluster::new();
    cluster.define_widgets().await;
    let client = cluster.server.client();
    let samples = Informer::<DynamicObject>::dynamic(client.clone(), widgets()).start().unwrap();
    let deployments = Informer::<Deployment>::builder(client.clone()).start().unwrap();
    let data = sample_controller::Data {
        client: client.clone(),
        deployments: deployments.clone(),
        recorder: Recorder::new(client.clone(), "sample-controller"),
    };
    let controller = Controller::new(&samples).owns(&deployments);
    let (handle, mut outcomes) = (controller.handle(), controller.handle().outcomes());
    let running =
        tokio::spawn(controller.run(sample_controller::sync, ErrorPolicy::default(), Arc::new(data)));
    let api: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &widgets());
    let stored: Api<Deployment> = Api::default_namespaced(client);
    api.create(&PostParams::default(), &widget("foo", "")).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    let patch = Patch::Merge(json!({ "spec": { "replicas": 3 } }));
    api.patch("foo", &PatchParams::default(), &patch).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    assert_eq!(stored.get("foo").await.unwrap().spec.replicas, Some(3));

    // The deployment of someone else is not changed.
    let other = json!({
        "metadata": { "name": "other" },
        "spec": {
            "selector": { "matchLabels": { "app": "other" } },
            "template": {
                "metadata": { "labels": { "app": "other" } },
                "spec": { "containers": [{ "name": "nginx", "image": "nginx:latest" }] },
            },
        },
    });
    stored.create(&PostParams::default(), &serde_json::from_value(other).unwrap()).await.unwrap();
    sleep(Duration::from_secs(5)).await;
    api.create(&PostParams::default(), &widget("other", "")).await.unwrap();
    let is_refused =
        |outcome: &Outcome| outcome.error().is_some_and(|error| error.contains("not managed by Foo"));
    while !is_refused(&outcomes.next().await.unwrap()) {}
    handle.stop();
    running.await.unwrap().unwrap();
}
