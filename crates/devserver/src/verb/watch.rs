//! Watches objects.

use crate::fault::{Manner, WatchEffect};
use crate::registry::Resource;
use crate::storage::{Page, ReadError, Span};
use crate::verb::{
    api_response::{ApiResponse, Body, Media, StreamCut},
    cluster::Cluster,
    conversion,
    error_response::ErrorResponse,
    form::ObjectEncoder,
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
    let requested_version = number(options.resource_version.as_ref())
        .map_err(|error| ErrorResponse::unexplained(&error.status().message))?;
    let start = Start::of(&options);
    let encoder =
        ObjectEncoder::new(&request.resource, request.form, request.parameter("includeObject").as_deref())
            .at(request.past);
    let mut watch = Watch {
        collection: request.collection(),
        encoder,
        protobuf: request.protobuf(),
        initial: Vec::new(),
        converted: request.resource.conversion.is_some().then(Vec::new),
        sends_initial_end: start == Start::StreamingList && options.allow_watch_bookmarks,
        bookmarks: options.allow_watch_bookmarks.then_some(cluster.bookmark_interval),
        timeout: options.timeout.filter(|time| !time.is_zero()).unwrap_or_else(|| default_timeout(cluster)),
        effect,
        selection: selection(request, selectors(options))?,
    };
    // After a watch was accepted, the API server reports errors in an event.
    if start == Start::StreamingList
        && let Some(version) = requested_version
        && let Err(error) = cluster.reached(version).await
    {
        return Ok(failed(request, &error));
    }
    let from = match start {
        Start::AfterVersion => requested_version,
        Start::StreamingList => {
            let page = cluster.store.list(&watch.collection, &watch.selection, &Span::default());
            let Page { version, records, .. } = page.expect("the newest version is known");
            watch.initial = match conversion::records(cluster, &request.resource, records).await {
                Ok(records) => records,
                Err(error) => return Ok(failed(request, &error)),
            };
            Some(version)
        }
    };
    match cluster.store.follow(&watch.collection, from) {
        Ok((position, changed)) => {
            let watch_state = WatchState::new(watch, position, Instant::now());
            let resource = Arc::clone(&request.resource);
            let source = Source { cluster: Arc::clone(cluster), resource, changed };
            Ok(stream(request, frames(source, watch_state)))
        }
        Err(ReadError::Expired { floor }) => Ok(failed(request, &too_old(from.unwrap_or_default(), floor))),
        Err(ReadError::Cut | ReadError::NotServed | ReadError::NotReached { .. }) => {
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
    AfterVersion,
}

impl Start {
    fn of(options: &WatchOptions) -> Self {
        let is_open = options.resource_version.as_ref().is_none_or(ResourceVersion::is_any);
        match options.send_initial_events {
            Some(true) => Self::StreamingList,
            Some(false) => Self::AfterVersion,
            // The API server takes these for streaming lists, too.
            None if is_open => Self::StreamingList,
            None => Self::AfterVersion,
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

fn failed(request: &Request, error: &ErrorResponse) -> ApiResponse {
    let event = match request.protobuf() {
        Some(_) => error_event(error.status()),
        None => encode_error(error.status()),
    };
    stream(request, futures_util::stream::iter([Ok(event)]))
}

fn stream(
    request: &Request,
    frames: impl Stream<Item = Result<Bytes, StreamCut>> + Send + 'static,
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
            Err(error) => watch_state.conversion_failed(&error),
        }
    }
}

fn frames(
    source: Source,
    watch_state: WatchState,
) -> impl Stream<Item = Result<Bytes, StreamCut>> + Send + 'static {
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
                    return Some((Err(StreamCut), None));
                }
                // Other writers run first, so that more events are sent at once under load.
                Step::Wait(_) => tokio::task::yield_now().await,
            }
        }
    })
}
