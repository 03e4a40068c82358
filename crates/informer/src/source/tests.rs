//! Lists in pages, rule by rule.

use super::{Error, Listed, Page, Pager, Request, Script, Watch};
use crate::testing::{pod, rv};
use futures_util::stream;
use k8s_openapi::api::core::v1::Pod;
use kube_core::Status;
use kube_informer_wire::{ListOptions, VersionMatch, WatchEvent};
use std::{
    io,
    num::NonZeroU64,
    sync::atomic::{AtomicUsize, Ordering},
};

fn expired() -> Error {
    Error::status(Status::failure("too old", "Expired").with_code(410))
}

fn pods(count: usize) -> Vec<Pod> {
    (0..count).map(|number| pod(&format!("p{number}"))).collect()
}

/// A source with this many pods, in pages of ten, all at version 1.
fn source(count: usize) -> Script<Pod> {
    let pages = count.div_ceil(10).max(1);
    (0..pages).fold(Script::new(), |script, page| {
        let token = format!("C{}", page + 1);
        let token = (page + 1 < pages).then_some(token.as_str());
        script.page(pods((count - page * 10).min(10)), page as u64 + 1, token)
    })
}

fn ten(script: &Script<Pod>) -> Pager<'_, Script<Pod>> {
    Pager::new(script).page_size(NonZeroU64::new(10).unwrap())
}

fn asked(script: &Script<Pod>) -> Vec<String> {
    script.asked().iter().map(ToString::to_string).collect()
}

// R64
#[tokio::test]
async fn asks_for_five_hundred_unless_told_otherwise() {
    let script = Script::new().list(pods(1), 1).list(pods(1), 1).list(pods(1), 1);
    let limit = NonZeroU64::new(7);
    Pager::new(&script).list::<Pod>(&ListOptions::default()).await.unwrap();
    Pager::new(&script).list::<Pod>(&ListOptions { limit, ..ListOptions::default() }).await.unwrap();
    Pager::new(&script).unpaged().list::<Pod>(&ListOptions::default()).await.unwrap();
    assert_eq!(asked(&script), ["LIST(-, 500)", "LIST(-, 7)", "LIST(-, 0)"]);
}

// R65
#[tokio::test]
async fn tells_whether_it_took_several_pages_and_keeps_the_version_of_the_first() {
    for (count, paged) in [(0, false), (9, false), (10, false), (11, true), (21, true)] {
        let script = source(count);
        let Listed { items, version, is_paged, .. } =
            ten(&script).list(&ListOptions::default()).await.unwrap();
        assert_eq!((items.len(), is_paged, version), (count, paged, Some(rv(1))), "{count} items");
    }
}

// R66, R70
#[tokio::test]
async fn a_continuation_carries_no_version() {
    let options = ListOptions {
        resource_version: Some(rv(10)),
        resource_version_match: Some(VersionMatch::NotOlderThan),
        ..ListOptions::default()
    };
    let collected = source(21);
    ten(&collected).list::<Pod>(&options).await.unwrap();
    let visited = source(21);
    ten(&visited).each::<Pod>(&options, |_| {}).await.unwrap();
    for script in [collected, visited] {
        assert_eq!(asked(&script), ["LIST(10, 10)", "LIST(-, 10, C1)", "LIST(-, 10, C2)"]);
        let matches = |request: &Request| match request {
            Request::List(options) => options.resource_version_match,
            Request::Watch(_) => None,
        };
        let matches: Vec<_> = script.asked().iter().map(matches).collect();
        assert_eq!(matches, [Some(VersionMatch::NotOlderThan), None, None]);
    }
}

// R67
#[tokio::test]
async fn an_expired_continuation_lists_the_whole_at_the_version_asked_for() {
    let script = Script::new().page(pods(10), 10, Some("C1")).list_fails(expired()).list(pods(12), 11);
    let options = ListOptions { resource_version: Some(rv(10)), ..ListOptions::default() };
    let listed: Listed<Pod> = ten(&script).list(&options).await.unwrap();
    assert_eq!((listed.items.len(), listed.version, listed.is_paged), (12, Some(rv(11)), true));
    assert_eq!(asked(&script), ["LIST(10, 10)", "LIST(-, 10, C1)", "LIST(10, 0)"]);
}

// R67
#[tokio::test]
async fn an_expired_page_is_an_error_where_nothing_is_left_to_fall_back_to() {
    let options = ListOptions::default();
    let first = Script::<Pod>::new().list_fails(expired());
    assert!(ten(&first).list::<Pod>(&options).await.unwrap_err().is_expired());
    let second = Script::new().page(pods(10), 10, Some("C1")).list_fails(expired());
    assert!(ten(&second).fail_if_expired().list::<Pod>(&options).await.unwrap_err().is_expired());
    assert_eq!(second.asked().len(), 2);
    let whole = Script::new().page(pods(10), 10, Some("C1")).list_fails(expired()).list_fails(expired());
    assert!(ten(&whole).list::<Pod>(&options).await.unwrap_err().is_expired());
}

// R68
#[tokio::test]
async fn visiting_stops_at_a_page_that_fails_after_the_items_before_it() {
    let script = Script::new().page(pods(10), 10, Some("C1")).list_fails(expired());
    let mut visited = 0;
    let failed = ten(&script).each::<Pod>(&ListOptions::default(), |_| visited += 1).await;
    assert!(failed.unwrap_err().is_expired());
    assert_eq!(visited, 10);
}

// R69
#[tokio::test]
async fn fetches_as_many_pages_ahead_as_it_may() {
    for (read_ahead, fetched) in [(0, 2), (1, 3), (10, 5)] {
        let script = source(50);
        let consumed = AtomicUsize::new(0);
        let pager = ten(&script).read_ahead(read_ahead);
        let first = async |_: Page<Pod>| -> Result<(), Error> {
            if consumed.fetch_add(1, Ordering::Relaxed) == 0 {
                // As long as the consumer is busy with the first page, all that may be fetched ahead is.
                while script.asked().len() < fetched {
                    tokio::task::yield_now().await;
                }
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
                assert_eq!(script.asked().len(), fetched, "read ahead {read_ahead}");
            }
            Ok(())
        };
        pager.each_page(&ListOptions::default(), first).await.unwrap();
        assert_eq!(consumed.load(Ordering::Relaxed), 5);
    }
}

// R69
#[tokio::test]
async fn a_consumer_that_fails_stops_the_fetching() {
    let script = source(50);
    let fails = |_: Page<Pod>| async { Err::<(), _>(expired()) };
    assert!(
        ten(&script).read_ahead(0).each_page(&ListOptions::default(), fails).await.unwrap_err().is_expired()
    );
    assert!(script.asked().len() <= 2);
}

#[test]
fn a_refused_connection_is_found_behind_whatever_wraps_it() {
    #[derive(Debug, thiserror::Error)]
    #[error("wrapped")]
    struct Wrapped(#[source] io::Error);
    let wrapped = |kind: io::ErrorKind| Error::Transport(Box::new(Wrapped(kind.into())));
    assert!(wrapped(io::ErrorKind::ConnectionRefused).is_connection_refused());
    assert!(!wrapped(io::ErrorKind::ConnectionReset).is_connection_refused());
    assert!(!expired().is_connection_refused());
}

#[tokio::test]
async fn a_watch_that_has_ended_says_so_however_often_it_is_asked() {
    let once = stream::unfold(true, async |is_first| {
        let bookmark = WatchEvent::Bookmark { version: rv(1), initial_events_end: false };
        is_first.then_some((Ok::<WatchEvent<Pod>, Error>(bookmark), false))
    });
    let mut watch = Watch::new(once);
    assert!(watch.next().await.is_some());
    for _ in 0..3 {
        assert!(watch.next().await.is_none());
    }
}
