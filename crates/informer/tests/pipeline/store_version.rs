//! The version of a store whose source does not send versions of lists.

use futures_util::{FutureExt, StreamExt, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer::{
    Informer, ResourceVersion,
    source::{FromFns, Page, Watch},
    wire::WatchEvent,
};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;

fn map(name: &str, version: u64) -> ConfigMap {
    let mut map = crate::cluster::named(name);
    map.metadata.namespace = Some("default".to_owned());
    map.metadata.resource_version = Some(version.to_string());
    map
}

fn version(number: u64) -> ResourceVersion {
    ResourceVersion::number(number)
}

/// A watch without a version starts with the existing objects in any order. `wait_for` must not return before all of them are in
/// the store.
// R28
#[tokio::test(start_paused = true)]
async fn existing_objects_of_a_watch_without_a_version_do_not_move_the_version_of_the_store() {
    let (send, events) = mpsc::unbounded_channel();
    let events = Arc::new(Mutex::new(Some(events)));
    let source = FromFns::new(
        |_| async { Ok(Page { items: Vec::<ConfigMap>::new(), version: None, continue_token: None }) },
        move |_| {
            let events = events.lock().unwrap().take();
            async move {
                match events {
                    Some(events) => Ok(Watch::new(
                        stream::unfold(events, async |mut events| Some((events.recv().await?, events)))
                            .map(Ok),
                    )),
                    None => std::future::pending().await,
                }
            }
        },
    );
    let maps = Informer::from_source(source).start().unwrap();
    maps.synced().await.unwrap();
    let mut received = maps.subscribe();
    send.send(WatchEvent::Added(map("x", 100))).unwrap();
    assert_eq!(received.next().await.unwrap().key().name(), "x");
    assert_eq!(maps.version(), None, "y@50 has not arrived");
    assert!(maps.wait_for(&version(60)).now_or_never().is_none());
    send.send(WatchEvent::Added(map("y", 50))).unwrap();
    assert_eq!(received.next().await.unwrap().key().name(), "y");
    assert_eq!(maps.version(), None);

    // A bookmark or a change has a version that includes everything before it.
    send.send(WatchEvent::Bookmark { version: version(110), initial_events_end: false }).unwrap();
    maps.wait_for(&version(110)).await.unwrap();
    assert_eq!(maps.version(), Some(version(110)));
    send.send(WatchEvent::Modified(map("x", 120))).unwrap();
    maps.wait_for(&version(120)).await.unwrap();
    maps.stop();
    maps.stopped().await;
}

/// A relist without a version does not move the version of the store ahead, or back.
#[tokio::test(start_paused = true)]
async fn a_list_without_a_version_does_not_move_the_version_of_the_store() {
    let lists = Arc::new(Mutex::new(vec![(None, map("x", 200)), (Some(version(7)), map("x", 5))]));
    let watches = Arc::new(Mutex::new(0));
    let source = FromFns::new(
        move |_| {
            let list = lists.lock().unwrap().pop();
            async move {
                let Some((version, item)) = list else { return std::future::pending().await };
                Ok(Page { items: vec![item], version, continue_token: None })
            }
        },
        move |_| {
            *watches.lock().unwrap() += 1;
            let is_first = *watches.lock().unwrap() == 1;
            async move {
                let expired = kube::core::Status::failure("too old", "Expired").with_code(410);
                if is_first {
                    return Err(kube_informer::source::Error::status(expired));
                }
                Ok(Watch::new(stream::pending()))
            }
        },
    );
    let maps = Informer::from_source(source).on_error(|_| {}).start().unwrap();
    maps.synced().await.unwrap();
    assert_eq!(maps.version(), Some(version(7)));
    let mut status = maps.watch_status();
    status.wait_for(|status| status.counts.replaces == 2).await.unwrap();
    assert_eq!(maps.get("default/x").unwrap().metadata.resource_version.as_deref(), Some("200"));
    assert_eq!(maps.version(), Some(version(7)));
    assert!(maps.wait_for(&version(100)).now_or_never().is_none());
    maps.stop();
    maps.stopped().await;
}
