//! Watches objects.

use crate::fault::{Manner, WatchEffect};
use crate::registry::Resource;
use crate::storage::{Page, Span, Unreadable};
use crate::verb::{
    api_response::{ApiResponse, Body, Broken, Media},
    cluster::Cluster,
    conversion,
    error_response::ErrorResponse,
    form::Shape,
    list::{number, selection},
    protobuf::error_event,
    request::Request,
    watch_state::{Step, Watch, WatchState, too_old},
};
use bytes::Bytes;
use futures_core::Stream;
use kube_informer_wire::{ListOptions, ResourceVersion, WatchOptions, encode_error};
use std::{sync::Arc, time::Duration};
use tokio::{sync::Notify, time::Instant};

/// Returns a stream of the changes of the objects that match the options.
pub(crate) async fn watch(
    cluster: &Arc<Cluster>,
    request: &Request,
    options: WatchOptions,
    effect: WatchEffect,
) -> Result<ApiResponse, ErrorResponse> {
    let asked = number(options.resource_version.as_ref())
        .map_err(|refusal| ErrorResponse::unexplained(&refusal.status().message))?;
    let start = Start::of(&options);
    let shape = Shape::new(&request.resource, request.form, request.parameter("includeObject").as_deref())
        .at(request.past);
    let mut watch = Watch {
        place: request.place(),
        shape,
        protobuf: request.protobuf(),
        initial: Vec::new(),
        converted: request.resource.conversion.is_some().then(Vec::new),
        tells_initial_end: start == Start::StreamingList && options.allow_watch_bookmarks,
        bookmarks: options.allow_watch_bookmarks.then_some(cluster.bookmark_interval),
        timeout: options.timeout.filter(|time| !time.is_zero()).unwrap_or_else(|| default_timeout(cluster)),
        effect,
        selection: selection(request, selectors(options))?,
    };
    // After a watch was accepted, the API server reports errors in an event.
    if start == Start::StreamingList
        && let Some(version) = asked
        && let Err(refusal) = cluster.reached(version).await
    {
        return Ok(failed(request, &refusal));
    }
    let from = match start {
        Start::Behind => asked,
        Start::StreamingList => {
            let page = cluster.store.list(&watch.place, &watch.selection, &Span::default());
            let Page { version, records, .. } = page.expect("the newest version is known");
            watch.initial = match conversion::records(cluster, &request.resource, records).await {
                Ok(records) => records,
                Err(refusal) => return Ok(failed(request, &refusal)),
            };
            Some(version)
        }
    };
    match cluster.store.follow(&watch.place, from) {
        Ok((position, changed)) => {
            let watch_state = WatchState::new(watch, position, Instant::now());
            let resource = Arc::clone(&request.resource);
            let source = Source { cluster: Arc::clone(cluster), resource, changed };
            Ok(stream(request, frames(source, watch_state)))
        }
        Err(Unreadable::Forgotten { floor }) => {
            Ok(failed(request, &too_old(from.unwrap_or_default(), floor)))
        }
        Err(Unreadable::CutOff | Unreadable::Ended | Unreadable::Ahead { .. }) => {
            Ok(failed(request, &too_old(0, 0)))
        }
    }
}

/// The start of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// All existing objects, with a bookmark at their end if bookmarks are allowed.
    StreamingList,
    /// The changes after a version, or from now on.
    Behind,
}

impl Start {
    fn of(options: &WatchOptions) -> Self {
        let is_open = options.resource_version.as_ref().is_none_or(ResourceVersion::is_any);
        match options.send_initial_events {
            Some(true) => Self::StreamingList,
            Some(false) => Self::Behind,
            // The API server takes these for streaming lists, too.
            None if is_open => Self::StreamingList,
            None => Self::Behind,
        }
    }
}

fn selectors(options: WatchOptions) -> ListOptions {
    ListOptions {
        label_selector: options.label_selector,
        field_selector: options.field_selector,
        shard_selector: options.shard_selector,
        ..ListOptions::default()
    }
}

/// Returns the default timeout of a watch: half an hour to an hour, as in kube-apiserver.
fn default_timeout(cluster: &Cluster) -> Duration {
    const LEAST: u64 = 1800;
    Duration::from_secs(LEAST + cluster.random() % LEAST)
}

fn failed(request: &Request, refusal: &ErrorResponse) -> ApiResponse {
    let event = match request.protobuf() {
        Some(_) => error_event(refusal.status()),
        None => encode_error(refusal.status()),
    };
    stream(request, futures_util::stream::iter([Ok(event)]))
}

fn stream(
    request: &Request,
    frames: impl Stream<Item = Result<Bytes, Broken>> + Send + 'static,
) -> ApiResponse {
    let media = if request.protobuf().is_some() { Media::ProtobufWatch } else { Media::Json };
    ApiResponse { code: 200, retry_after: None, media, body: Body::Stream(Box::pin(frames)) }
}

/// The origin of the events of a watch.
struct Source {
    cluster: Arc<Cluster>,
    resource: Arc<Resource>,
    changed: Arc<Notify>,
}

impl Source {
    /// Converts the next events of a watch in another version than the stored one, which a webhook does.
    async fn convert_events(&self, watch_state: &mut WatchState) {
        let (kinds, records): (Vec<_>, Vec<_>) =
            watch_state.take_events(&self.cluster.store).into_iter().unzip();
        match conversion::records(&self.cluster, &self.resource, records).await {
            Ok(records) => watch_state.events_converted(kinds.into_iter().zip(records).collect()),
            Err(refusal) => watch_state.conversion_failed(&refusal),
        }
    }
}

fn frames(
    source: Source,
    watch_state: WatchState,
) -> impl Stream<Item = Result<Bytes, Broken>> + Send + 'static {
    futures_util::stream::unfold(Some((source, watch_state)), |state| async move {
        let (source, mut watch_state) = state?;
        loop {
            // Created before the state is read, so that no change is missed; it has no cost until it waits.
            let change = source.changed.notified();
            if watch_state.watch.converted.is_some() {
                source.convert_events(&mut watch_state).await;
            }
            let step = watch_state.step(&source.cluster.store, Instant::now());
            if let Step::Wait(until) = &step {
                let _ = tokio::time::timeout_at(*until, change).await;
            } else {
                drop(change);
            }
            match step {
                Step::Send(bytes) => return Some((Ok(bytes), Some((source, watch_state)))),
                Step::End(Manner::Clean) => return None,
                Step::End(Manner::Abrupt) => {
                    // hyper flushes a connection while its body is pending, so that earlier events are sent.
                    tokio::task::yield_now().await;
                    return Some((Err(Broken), None));
                }
                // Other writers run first, so that more events are sent at once under load.
                Step::Wait(_) => tokio::task::yield_now().await,
            }
        }
    })
}
