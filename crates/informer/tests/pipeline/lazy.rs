//! Lazy objects equal decoded ones.

use crate::{
    compressed::{label, relist},
    restart::Folder,
};
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use kube::{Resource, core::PartialObjectMeta};
use kube_devserver::{Churn, DevServer};
use kube_informer::{
    Event, Informer, Lazy, Storage,
    informer::InformerBuilder,
    reflector::Strategy,
    source::Encoding,
    wire::{Key, ManagedFields},
};
use std::collections::BTreeMap;

fn node(pod: &Lazy<Pod>) -> Option<String> {
    pod.read("/spec/nodeName").unwrap()
}

fn lazy(server: &DevServer) -> InformerBuilder<Lazy<Pod>> {
    Informer::<Pod>::builder(server.client()).lazy().index("node", node)
}

async fn started(builder: InformerBuilder<Lazy<Pod>>) -> Informer<Lazy<Pod>> {
    let pods = builder.start().unwrap();
    pods.synced().await.unwrap();
    pods
}

/// Returns the decoded objects.
fn decoded(pods: &Informer<Lazy<Pod>>) -> BTreeMap<Key, Pod> {
    pods.list().iter().map(|pod| (Key::of(&**pod).unwrap(), pod.decode().unwrap())).collect()
}

fn check_equal(lazy: &Informer<Lazy<Pod>>, decoded_pods: &Informer<Pod>) {
    let expected: BTreeMap<_, _> =
        decoded_pods.list().iter().map(|pod| (Key::of(&**pod).unwrap(), (**pod).clone())).collect();
    assert_eq!(expected.len(), 60);
    assert_eq!(decoded(lazy), expected);
    for (key, pod) in &expected {
        let lazy = lazy.get(key).unwrap();
        assert_eq!(lazy.read::<PodStatus>("/status").unwrap(), pod.status);
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
        assert_eq!(lazy.read::<&str>("/spec/nodeName").unwrap(), node);
    }
    let mut found = 0;
    for node in lazy.store().index_values("node").unwrap() {
        for pod in lazy.by_index("node", &node).unwrap() {
            let spec = expected[&Key::of(&*pod).unwrap()].spec.as_ref().unwrap();
            assert_eq!(spec.node_name.as_deref(), Some(&*node));
            found += 1;
        }
    }
    assert_eq!(found, 60);
}

#[tokio::test(start_paused = true)]
async fn lazy_objects_equal_decoded_ones_with_every_encoding_and_storage() {
    let server = DevServer::start();
    server.churn(Churn::pods(60));
    let configurations = [Encoding::Protobuf, Encoding::Json].map(|encoding| {
        [Storage::Decoded, Storage::Compressed].map(|storage| {
            [Strategy::Stream, Strategy::List].map(|strategy| {
                [ManagedFields::Keep, ManagedFields::Drop].map(|fields| (encoding, storage, strategy, fields))
            })
        })
    });
    for (encoding, storage, strategy, fields) in configurations.into_iter().flatten().flatten().flatten() {
        let builder = lazy(&server).encoding(encoding).storage(storage).strategy(strategy);
        let pods = started(builder.managed_fields(fields)).await;
        let builder = Informer::<Pod>::builder(server.client()).encoding(encoding);
        let decoded_pods = builder.managed_fields(fields).start().unwrap();
        decoded_pods.synced().await.unwrap();
        check_equal(&pods, &decoded_pods);
        let (keys, mark) = (pods.store().keys(), format!("{encoding:?}-{storage:?}-{strategy:?}-{fields:?}"));
        let version = label(&server, &keys[..5], &mark).await;
        pods.wait_for(&version).await.unwrap();
        decoded_pods.wait_for(&version).await.unwrap();
        check_equal(&pods, &decoded_pods);
        decoded_pods.stop();
        decoded_pods.stopped().await;
        relist(&server, &pods).await;
        check_equal(&pods, &decoded_pods);
        pods.stop();
        pods.stopped().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_relist_keeps_unchanged_objects() {
    let server = DevServer::start();
    server.churn(Churn::pods(60));
    let pods = started(lazy(&server)).await;
    let before = pods.list();
    relist(&server, &pods).await;
    let same =
        |pod: &std::sync::Arc<Lazy<Pod>>| before.iter().any(|other| std::sync::Arc::ptr_eq(pod, other));
    assert!(pods.list().iter().all(same));
    pods.stop();
    pods.stopped().await;
}

#[tokio::test(start_paused = true)]
async fn an_update_has_the_old_and_the_new_state() {
    let server = DevServer::start();
    server.churn(Churn::pods(60));
    for storage in [Storage::Decoded, Storage::Compressed] {
        let pods = started(lazy(&server).storage(storage)).await;
        let mut changes = pods.subscribe();
        let key = pods.store().keys()[0].clone();
        label(&server, std::slice::from_ref(&key), &format!("one-{storage:?}")).await;
        label(&server, std::slice::from_ref(&key), &format!("two-{storage:?}")).await;
        let value = |pod: &Lazy<Pod>| pod.read::<String>("/metadata/labels/round").unwrap();
        let seen = loop {
            match changes.next().await.unwrap() {
                Event::Updated { old, new, .. } if value(new.get()) == Some(format!("two-{storage:?}")) => {
                    break (value(old.get()), new.get().raw().bytes().len());
                }
                _ => {}
            }
        };
        assert_eq!(seen.0, Some(format!("one-{storage:?}")));
        assert!(seen.1 > 1000);
        pods.stop();
        pods.stopped().await;
    }
}

#[tokio::test(start_paused = true)]
async fn lazy_objects_can_be_saved_and_restored() {
    let server = DevServer::start();
    server.churn(Churn::pods(60));
    for storage in [Storage::Decoded, Storage::Compressed] {
        let folder = Folder::new();
        let pods = started(lazy(&server).storage(storage).save_to(&folder)).await;
        let before = decoded(&pods);
        pods.stop();
        pods.stopped().await;
        drop(pods);
        let restored = lazy(&server).storage(storage).save_to(&folder).build().unwrap();
        assert_eq!(restored.status().restored.map(|restored| restored.objects), Some(60));
        assert_eq!(decoded(&restored), before);
        restored.stop();
        restored.stopped().await;
    }
}

#[tokio::test(start_paused = true)]
async fn metadata_only_objects_can_be_lazy() {
    let server = DevServer::start();
    server.churn(Churn::pods(60));
    let pods = Informer::<PartialObjectMeta<Pod>>::builder(server.client()).lazy().start().unwrap();
    pods.synced().await.unwrap();
    assert_eq!(pods.len(), 60);
    for pod in pods.list() {
        assert_eq!(pod.read::<serde_json::Value>("/spec").unwrap(), None);
        assert_eq!(pod.read::<&str>("/metadata/name").unwrap(), pod.meta().name.as_deref());
    }
    pods.stop();
    pods.stopped().await;
}
