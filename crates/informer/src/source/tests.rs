//! Tests of lists in pages, errors and watches.

use super::{Error, ItemError, Listed, ListedPage, ListerWatcher, OnItem, Pager, Request, Script, Watch};
use crate::{
    boxed::BoxFuture,
    testing::{PodBuilder, pod, rv},
};
use futures_util::stream;
use k8s_openapi::api::core::v1::Pod;
use kube_core::Status;
use kube_informer_wire::{ListMeta, ListOptions, VersionMatch, WatchEvent, WatchOptions, decode_object};
use std::{
    io,
    num::NonZeroU64,
    ops::ControlFlow,
    sync::atomic::{AtomicUsize, Ordering},
};

fn expired() -> Error {
    Error::status(Status::failure("too old", "Expired").with_code(410))
}

fn pods(count: usize) -> Vec<Pod> {
    (0..count).map(|number| pod(&format!("p{number}"))).collect()
}

/// Returns a source of `count` pods in pages of ten.
fn source(count: usize) -> Script<Pod> {
    let pages = count.div_ceil(10).max(1);
    (0..pages).fold(Script::new(), |script, page| {
        let token = format!("C{}", page + 1);
        let token = (page + 1 < pages).then_some(token.as_str());
        script.page(pods((count - page * 10).min(10)), page as u64 + 1, token)
    })
}

fn pages_of_ten(script: &Script<Pod>) -> Pager<'_, Script<Pod>> {
    Pager::new(script).page_size(NonZeroU64::new(10).unwrap())
}

fn requests(script: &Script<Pod>) -> Vec<String> {
    script.requests().iter().map(ToString::to_string).collect()
}

// R64
#[tokio::test]
async fn requests_pages_of_five_hundred_by_default() {
    let script = Script::new().list(pods(1), 1).list(pods(1), 1).list(pods(1), 1);
    let limit = NonZeroU64::new(7);
    Pager::new(&script).list::<Pod>(&ListOptions::default()).await.unwrap();
    Pager::new(&script).list::<Pod>(&ListOptions { limit, ..ListOptions::default() }).await.unwrap();
    Pager::new(&script).unpaged().list::<Pod>(&ListOptions::default()).await.unwrap();
    assert_eq!(requests(&script), ["LIST(-, 500)", "LIST(-, 7)", "LIST(-, 0)"]);
}

// R65
#[tokio::test]
async fn reports_whether_it_is_paged_and_the_version_of_the_first_page() {
    for (count, paged) in [(0, false), (9, false), (10, false), (11, true), (21, true)] {
        let script = source(count);
        let Listed { items, version, is_paged, .. } =
            pages_of_ten(&script).list(&ListOptions::default()).await.unwrap();
        assert_eq!((items.len(), is_paged, version), (count, paged, Some(rv(1))), "{count} items");
    }
}

// R66, R70
#[tokio::test]
async fn a_request_with_a_token_has_no_version() {
    let options = ListOptions {
        resource_version: Some(rv(10)),
        resource_version_match: Some(VersionMatch::NotOlderThan),
        ..ListOptions::default()
    };
    let collected = source(21);
    pages_of_ten(&collected).list::<Pod>(&options).await.unwrap();
    let visited = source(21);
    pages_of_ten(&visited).each::<Pod>(&options, |_| ControlFlow::Continue(())).await.unwrap();
    for script in [collected, visited] {
        assert_eq!(requests(&script), ["LIST(10, 10)", "LIST(-, 10, C1)", "LIST(-, 10, C2)"]);
        let matches = |request: &Request| match request {
            Request::List(options) => options.resource_version_match,
            Request::Watch(_) => None,
        };
        let matches: Vec<_> = script.requests().iter().map(matches).collect();
        assert_eq!(matches, [Some(VersionMatch::NotOlderThan), None, None]);
    }
}

// R67
#[tokio::test]
async fn lists_unpaged_at_the_requested_version_when_a_page_expires() {
    let script = Script::new().page(pods(10), 10, Some("C1")).list_fails(expired()).list(pods(12), 11);
    let options = ListOptions { resource_version: Some(rv(10)), ..ListOptions::default() };
    let listed: Listed<Pod> = pages_of_ten(&script).list(&options).await.unwrap();
    assert_eq!((listed.items.len(), listed.version, listed.is_paged), (12, Some(rv(11)), true));
    assert_eq!(requests(&script), ["LIST(10, 10)", "LIST(-, 10, C1)", "LIST(10, 0)"]);
}

// R67
#[tokio::test]
async fn fails_when_a_page_expires_without_a_fallback() {
    let options = ListOptions::default();
    let first = Script::<Pod>::new().list_fails(expired());
    assert!(pages_of_ten(&first).list::<Pod>(&options).await.unwrap_err().is_expired());
    let second = Script::new().page(pods(10), 10, Some("C1")).list_fails(expired());
    assert!(pages_of_ten(&second).fail_if_expired().list::<Pod>(&options).await.unwrap_err().is_expired());
    assert_eq!(second.requests().len(), 2);
    let fallback = Script::new().page(pods(10), 10, Some("C1")).list_fails(expired()).list_fails(expired());
    assert!(pages_of_ten(&fallback).list::<Pod>(&options).await.unwrap_err().is_expired());
}

// R68
#[tokio::test]
async fn each_stops_at_a_failed_page_after_the_items_before_it() {
    let script = Script::new().page(pods(10), 10, Some("C1")).list_fails(expired());
    let mut visited = 0;
    let visit = |_| {
        visited += 1;
        ControlFlow::Continue(())
    };
    let failed = pages_of_ten(&script).each::<Pod>(&ListOptions::default(), visit).await;
    assert!(failed.unwrap_err().is_expired());
    assert_eq!(visited, 10);
}

// R68
#[tokio::test]
async fn each_stops_when_the_callback_breaks() {
    let script = source(50);
    let mut visited = 0;
    let visit = |_| {
        visited += 1;
        if visited == 12 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    pages_of_ten(&script).each::<Pod>(&ListOptions::default(), visit).await.unwrap();
    assert_eq!((visited, script.requests().len()), (12, 2), "no item and no page after the last");
}

/// A source whose second item of each page cannot be decoded.
struct PartlyUndecodable;

impl ListerWatcher<Pod> for PartlyUndecodable {
    fn list<'a>(
        &'a self,
        options: &'a ListOptions,
        on_item: OnItem<'a, Pod>,
    ) -> BoxFuture<'a, Result<ListMeta, Error>> {
        Box::pin(async move {
            let decode = || decode_object::<Pod>(br#"{"metadata":{"name":"b"},"spec":5}"#).unwrap_err();
            on_item(Ok(pod("a").version(1).into()));
            on_item(Err(decode().into()));
            let mut meta = ListMeta::default();
            meta.continue_token = options.continue_token.is_none().then(|| "C1".into());
            Ok(meta)
        })
    }

    fn watch<'a>(&'a self, _: &'a WatchOptions) -> BoxFuture<'a, Result<Watch<Pod>, Error>> {
        Box::pin(std::future::pending())
    }
}

// R69
#[tokio::test]
async fn each_page_reports_items_that_cannot_be_decoded() {
    let mut pages = Vec::new();
    let collect = |page: ListedPage<Pod>| {
        let keys: Vec<_> =
            page.undecodable.iter().filter_map(ItemError::key).map(ToString::to_string).collect();
        pages.push((page.items.len(), keys));
        async { Ok::<(), Error>(()) }
    };
    Pager::new(&PartlyUndecodable).each_page(&ListOptions::default(), collect).await.unwrap();
    assert_eq!(pages, [(1, vec!["b".to_owned()]), (1, vec!["b".to_owned()])]);
}

// R69
#[tokio::test]
async fn fetches_at_most_read_ahead_pages() {
    for (read_ahead, fetched) in [(0, 2), (1, 3), (10, 5)] {
        let script = source(50);
        let consumed = AtomicUsize::new(0);
        let pager = pages_of_ten(&script).read_ahead(read_ahead);
        let first = async |_: ListedPage<Pod>| -> Result<(), Error> {
            if consumed.fetch_add(1, Ordering::Relaxed) == 0 {
                // While the consumer is busy with the first page, the maximum number of pages is fetched.
                while script.requests().len() < fetched {
                    tokio::task::yield_now().await;
                }
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
                assert_eq!(script.requests().len(), fetched, "read ahead {read_ahead}");
            }
            Ok(())
        };
        pager.each_page(&ListOptions::default(), first).await.unwrap();
        assert_eq!(consumed.load(Ordering::Relaxed), 5);
    }
}

// R69
#[tokio::test]
async fn a_failing_consumer_stops_fetching() {
    let script = source(50);
    let fails = |_: ListedPage<Pod>| async { Err::<(), _>(expired()) };
    assert!(
        pages_of_ten(&script)
            .read_ahead(0)
            .each_page(&ListOptions::default(), fails)
            .await
            .unwrap_err()
            .is_expired()
    );
    assert!(script.requests().len() <= 2);
}

#[test]
fn a_refused_connection_is_found_in_the_sources_of_an_error() {
    #[derive(Debug, thiserror::Error)]
    #[error("wrapped")]
    struct Wrapped(#[source] io::Error);
    let wrapped = |kind: io::ErrorKind| Error::Transport(Box::new(Wrapped(kind.into())));
    assert!(wrapped(io::ErrorKind::ConnectionRefused).is_connection_refused());
    assert!(!wrapped(io::ErrorKind::ConnectionReset).is_connection_refused());
    assert!(!expired().is_connection_refused());
}

#[tokio::test]
async fn a_watch_that_has_ended_can_be_polled_again() {
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
