//! A recording of a server has every version that the server returned, and the state of every moment.

use crate::maps::Maps;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ApiResource, DeleteParams, Patch, PatchParams, PostParams};
use kube_conformance::{Server, claims};
use kube_history::{Event, History, Kind, RecorderOptions};
use kube_informer::{history::Recording, reflector::Reflector, source::ListWatch};
use serde_json::{Value, json};
use testkit::TempFolder;
use tokio_util::sync::CancellationToken;

claims! {
    shared: [every_version_is_recorded],
    alone: [],
}

fn version_of(map: &ConfigMap) -> String {
    map.metadata.resource_version.clone().unwrap()
}

async fn every_version_is_recorded(server: &Server) {
    let maps = Maps::<ConfigMap>::new(server).await;
    let folder = TempFolder::new("conformance");
    let recording = Recording::start(folder.path(), RecorderOptions::default()).unwrap();
    let kind = Kind::new("", "v1", "ConfigMap", "configmaps");
    let sink = recording.sink(kind, Some(maps.namespace.clone())).await.unwrap();
    let resource = ApiResource::erase::<ConfigMap>(&());
    let source = ListWatch::lazy_dynamic(server.client(), Some(&maps.namespace), &resource);
    let (reflector, cancel) = (Reflector::new(source, sink), CancellationToken::new());
    let mut status = reflector.status();
    let task = tokio::spawn(reflector.run(cancel.clone()));
    status.wait_for(|status| status.version.is_some()).await.unwrap();

    let mut map = ConfigMap::default();
    map.metadata.name = Some("recorded".into());
    // Servers do not track the managers of an object that was created without any field.
    map.data = Some([("creator".to_owned(), "test".to_owned())].into());
    let creation = PostParams { field_manager: Some("creator".into()), ..PostParams::default() };
    let mut expected = vec![version_of(&maps.api.create(&creation, &map).await.unwrap())];
    let params = PatchParams { field_manager: Some("recorder-test".into()), ..PatchParams::default() };
    for number in 0..20 {
        let patch = Patch::Merge(json!({"data": {"number": number.to_string()}}));
        expected.push(version_of(&maps.api.patch("recorded", &params, &patch).await.unwrap()));
    }
    maps.api.delete("recorded", &DeleteParams::default()).await.unwrap();
    // The version of the deletion is known only by the next write.
    map.metadata.name = Some("last".into());
    let last: u64 =
        version_of(&maps.api.create(&PostParams::default(), &map).await.unwrap()).parse().unwrap();
    let has_reached = |version: Option<u64>| version.is_some_and(|version| version >= last);
    status
        .wait_for(|status| has_reached(status.version.as_ref().and_then(|version| version.to_number())))
        .await
        .unwrap();
    cancel.cancel();
    task.await.unwrap();
    recording.stop().await.unwrap();

    let history = History::open(folder.path()).unwrap();
    let kind = history.kind("configmaps").unwrap();
    assert!(
        history.gaps().unwrap().iter().all(|gap| gap.to.is_some()),
        "all recorded namespaces were listed"
    );
    let key = format!("{}/recorded", maps.namespace).parse().unwrap();
    let versions = history.object(kind, key).versions().unwrap();
    let (deleted, living) = versions.split_last().unwrap();
    assert_eq!(deleted.event(), Event::Deleted);
    let found: Vec<String> = living.iter().map(|version| version.version().unwrap().to_string()).collect();
    assert_eq!(found, expected);
    let managers: Vec<_> = living[1..].iter().map(|version| version.manager()).collect();
    assert_eq!(managers, [Some("recorder-test"); 20]);
    for (number, version) in living[1..].iter().enumerate() {
        // Versions that were received together have the same time; the state is that of the last one, or of the deletion.
        match history.at(version.time()).unwrap().get(kind, version.key()).unwrap() {
            Some(object) => {
                let object: Value = object.decode().unwrap();
                let shown: usize = object["data"]["number"].as_str().unwrap().parse().unwrap();
                assert!(shown >= number, "{shown} after {number}");
            }
            None => assert_eq!(version.time(), deleted.time()),
        }
        let own: Value = version.decode().unwrap();
        assert_eq!(own["data"]["number"], number.to_string());
    }
}
