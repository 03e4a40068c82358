//! Indexes by the path of a field, with every type, storage and encoding.

use crate::{
    compressed::{label, relist},
    restart::Folder,
};
use k8s_openapi::api::core::v1::Pod;
use kube::{Resource, core::DynamicObject};
use kube_devserver::{Churn, DevServer};
use kube_informer::{
    Informer, StartError, Storage,
    informer::InformerBuilder,
    source::Encoding,
    wire::{FieldValues, Key, ManagedFields},
};
use std::{collections::BTreeMap, error::Error};

/// The keys by value of an index.
type Index = BTreeMap<String, Vec<Key>>;

/// The paths that are indexed.
const PATHS: [&str; 4] = [
    "/spec/nodeName",
    "/metadata/labels/round",
    "/spec/containers/0/image",
    "/metadata/managedFields/0/manager",
];

async fn started<K>(builder: InformerBuilder<K>) -> Informer<K>
where
    K: Resource + FieldValues + Send + Sync + 'static,
{
    let builder = PATHS.iter().fold(builder, |builder, path| builder.index_path(path, path));
    let informer = builder.start().unwrap();
    informer.synced().await.unwrap();
    informer
}

fn index<K: Resource + Send + Sync + 'static>(informer: &Informer<K>, name: &str) -> Index {
    let snapshot = informer.store().snapshot();
    let keys = |value: &str| snapshot.index_keys(name, value).unwrap();
    snapshot.index_values(name).unwrap().iter().map(|value| (value.to_string(), keys(value))).collect()
}

/// Returns the indexes of the decoded pods.
async fn expected(server: &DevServer, managed_fields: ManagedFields) -> [Index; 4] {
    let pods = Informer::<Pod>::builder(server.client()).managed_fields(managed_fields).start().unwrap();
    pods.synced().await.unwrap();
    let mut expected = [const { Index::new() }; 4];
    for pod in pods.list() {
        let spec = pod.spec.as_ref().unwrap();
        let labels = pod.metadata.labels.as_ref();
        let managers = pod.metadata.managed_fields.as_ref();
        let values = [
            spec.node_name.clone(),
            labels.and_then(|labels| labels.get("round")).cloned(),
            spec.containers[0].image.clone(),
            managers.and_then(|fields| fields.first()?.manager.clone()),
        ];
        for (index, value) in expected.iter_mut().zip(values) {
            if let Some(value) = value {
                index.entry(value).or_default().push(Key::of(&*pod).unwrap());
            }
        }
    }
    expected.iter_mut().flat_map(Index::values_mut).for_each(|keys| keys.sort_unstable());
    expected
}

/// Compares the indexes with the expected ones.
async fn check<K>(server: &DevServer, informer: &Informer<K>, managed_fields: ManagedFields)
where
    K: Resource + Send + Sync + 'static,
{
    let expected = expected(server, managed_fields).await;
    assert!(expected[0].len() > 1);
    for (path, expected) in PATHS.iter().zip(expected) {
        assert_eq!(index(informer, path), expected, "{path}");
    }
}

/// Checks the indexes after a list, after events, after a relist, and after a restart.
async fn check_always<K>(builder: impl Fn(&DevServer) -> InformerBuilder<K>)
where
    K: Resource + FieldValues + Send + Sync + 'static,
{
    let server = DevServer::start();
    server.churn(Churn::pods(30));
    for managed_fields in [ManagedFields::Keep, ManagedFields::Drop] {
        let folder = Folder::new();
        let builder = || builder(&server).managed_fields(managed_fields);
        let informer = started(builder()).await;
        check(&server, &informer, managed_fields).await;
        let keys = informer.store().keys();
        let version = label(&server, &keys[..5], &format!("{managed_fields:?}")).await;
        informer.wait_for(&version).await.unwrap();
        check(&server, &informer, managed_fields).await;
        relist(&server, &informer).await;
        check(&server, &informer, managed_fields).await;
        informer.stop();
        informer.stopped().await;
        for _ in ["saved", "restored"] {
            let informer = started(builder().save_to(&folder)).await;
            check(&server, &informer, managed_fields).await;
            informer.stop();
            informer.stopped().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_index_path_has_the_values_of_a_function_with_every_type_storage_and_encoding() {
    for encoding in [Encoding::Protobuf, Encoding::Json] {
        for storage in [Storage::Decoded, Storage::Encoded, Storage::Compressed] {
            let typed = |server: &DevServer| Informer::<Pod>::builder(server.client());
            check_always(|server| typed(server).storage(storage).encoding(encoding)).await;
            check_always(|server| typed(server).lazy().storage(storage).encoding(encoding)).await;
            check_always(|server| {
                let kind = kube::core::ApiResource::erase::<Pod>(&());
                Informer::<DynamicObject>::dynamic(server.client(), kind).storage(storage).encoding(encoding)
            })
            .await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_index_path_has_the_values_of_transformed_objects() {
    let server = DevServer::start();
    server.churn(Churn::pods(5));
    for storage in [Storage::Decoded, Storage::Encoded, Storage::Compressed] {
        let builder = Informer::<Pod>::builder(server.client()).storage(storage).transform(|mut pod| {
            pod.spec.get_or_insert_default().node_name = Some("changed".to_owned());
            Ok(pod)
        });
        let pods = started(builder).await;
        assert_eq!(pods.by_index(PATHS[0], "changed").unwrap().len(), 5, "{storage:?}");
        assert_eq!(pods.store().index_values(PATHS[0]).unwrap().len(), 1, "{storage:?}");
    }
}

#[tokio::test]
async fn an_invalid_path_is_an_error_with_the_pointer_and_the_fix() {
    let server = DevServer::start();
    let error = Informer::<Pod>::builder(server.client())
        .index_path("node", "spec.nodeName")
        .index_path("other", "")
        .build()
        .unwrap_err();
    assert!(matches!(error, StartError::InvalidIndexPath { .. }));
    assert_eq!(error.to_string(), r#"invalid path of the index "node""#);
    let cause = error.source().unwrap().to_string();
    let expected =
        r#"invalid JSON pointer "spec.nodeName": it must start with a slash, such as "/spec/nodeName""#;
    assert_eq!(cause, expected);
}

#[tokio::test]
async fn an_index_path_before_lazy_is_an_error() {
    let server = DevServer::start();
    let builder = Informer::<Pod>::builder(server.client()).index_path("node", "/spec/nodeName").lazy();
    assert!(matches!(builder.build(), Err(StartError::BeforeLazy { .. })));
}
