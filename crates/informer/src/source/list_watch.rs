//! A resource of an API server, through a `kube` client.

use super::{
    content_type::{ContentType, Encoding, LastContentType, Negotiation, ResponseKind, Typing},
    decompress::{Decompressor, ListCompression},
    error::Error,
    lister_watcher::{ListerWatcher, OnItem, Watch},
    response::{Pace, ReceivedData, error_body, next_chunk, retry_after, with_timeout},
};
use crate::{
    boxed::BoxFuture,
    object::{Decoder, ExpectedKind, ItemError, RawObject, ValidationCost},
    request_body::uncloneable_body,
};
use futures_util::{StreamExt, stream};
use kube_client::{Client, client::Body};
use kube_core::{ApiResource, DynamicObject, ObjectMeta, Resource};
use kube_informer_wire::{
    FieldSelector, JsonLines, Key, LabelSelector, Lazy, ListError, ListMeta, ListOptions, ManagedFields,
    ObjectError, Raw, WatchOptions, status_from_body,
};
use serde::de::DeserializeOwned;
use std::{
    fmt,
    sync::{Arc, OnceLock},
};
use tokio::time::Instant;

/// A resource of a Kubernetes API server, in all namespaces or one, restricted by selectors.
///
/// Supports every `K` that `kube` can list: k8s-openapi types, structs for custom resources, `PartialObjectMeta<K>`, structs
/// with the fields that you need, and `DynamicObject` ([`dynamic`](Self::dynamic)).
///
/// kube's client retries some requests itself, which would hide failures from a reflector. These retries do not apply to the
/// requests of this source.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_devserver::DevServer;
/// use kube_informer::source::{ListWatch, Pager};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = DevServer::start();
/// let pods = ListWatch::<Pod>::namespaced(server.client(), "web").labels("tier=front".parse()?);
/// let list = Pager::new(&pods).list::<Pod>(&Default::default()).await?;
/// println!("{} pods", list.items.len());
/// # Ok(()) }
/// ```
pub struct ListWatch<K: Resource> {
    client: Client,
    path: String,
    expected: ExpectedKind,
    /// The namespace of the objects; `None` for all.
    namespace: Option<String>,
    codec: ObjectCodec<K>,
    negotiation: Negotiation,
    list_compression: ListCompression,
    managed_fields: ManagedFields,
    max_object_size: usize,
    received: Arc<ReceivedData>,
    content_type: LastContentType,
    labels: LabelSelector,
    fields: FieldSelector,
    modify_list: Option<Modify<ListOptions>>,
    modify_watch: Option<Modify<WatchOptions>>,
    decoder: OnceLock<Decoder<K>>,
}

/// The default maximum size of an object on the wire: 64 MiB.
///
/// The API server accepts objects of 3 MiB, which are a few times larger as JSON.
pub const MAX_OBJECT_SIZE: usize = JsonLines::DEFAULT_LIMIT;

/// Changes the options of a request.
type Modify<O> = Arc<dyn Fn(&mut O) + Send + Sync>;

/// The decoder and validation of the objects. Chosen by the constructor.
struct ObjectCodec<K> {
    typing: Typing,
    decode: fn(&Raw, ManagedFields) -> Result<K, ObjectError>,
    validation: Validation,
}

/// The way an object is validated if it is stored without decoding it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Validation {
    /// By decoding it without managed fields.
    Decode,
    /// By scanning the bytes: every well-formed object decodes.
    Scan,
}

/// A successful response.
struct Response {
    body: Body,
    content_type: ContentType,
    decompressor: Decompressor,
}

impl<K> Clone for ObjectCodec<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for ObjectCodec<K> {}

impl<K: Resource + DeserializeOwned + 'static> ListWatch<K> {
    /// Creates a source of all namespaces.
    #[must_use]
    pub fn all(client: Client) -> Self
    where
        K::DynamicType: Default,
    {
        Self::for_kind(client, None, &K::DynamicType::default())
    }

    /// Creates a source of one namespace.
    #[must_use]
    pub fn namespaced(client: Client, namespace: &str) -> Self
    where
        K::DynamicType: Default,
    {
        Self::for_kind(client, Some(namespace), &K::DynamicType::default())
    }

    /// Creates a source of a kind that is known at run time, in all namespaces or in one. Use [`dynamic`](Self::dynamic) for
    /// `DynamicObject`.
    #[must_use]
    pub fn for_kind(client: Client, namespace: Option<&str>, kind: &K::DynamicType) -> Self {
        let decode = |raw: &Raw, managed_fields| raw.decode(managed_fields);
        let codec = ObjectCodec { typing: Typing::Typed, decode, validation: Validation::Decode };
        Self::new(client, namespace, kind, codec)
    }
}

impl ListWatch<DynamicObject> {
    /// Creates a source of untyped objects, in all namespaces or in one. An object of another kind is skipped.
    #[must_use]
    pub fn dynamic(client: Client, namespace: Option<&str>, resource: &ApiResource) -> Self {
        let decode = |raw: &Raw, managed_fields| raw.decode_untyped(managed_fields);
        let codec = ObjectCodec { typing: Typing::Untyped, decode, validation: Validation::Scan };
        Self::new(client, namespace, resource, codec)
    }
}

impl<K: Resource + DeserializeOwned + 'static> ListWatch<Lazy<K>> {
    /// Creates a source of objects that are not decoded: [`Lazy`] reads parts of them.
    #[must_use]
    pub fn lazy(client: Client, namespace: Option<&str>, kind: &K::DynamicType) -> Self {
        Self::new_lazy(client, namespace, kind, Typing::Typed)
    }

    fn new_lazy(client: Client, namespace: Option<&str>, kind: &K::DynamicType, typing: Typing) -> Self {
        let decode = |raw: &Raw, managed_fields| raw.lazy(managed_fields);
        Self::new(client, namespace, kind, ObjectCodec { typing, decode, validation: Validation::Decode })
    }
}

impl ListWatch<Lazy<DynamicObject>> {
    /// Creates a source of untyped objects that are not decoded. An object of another kind is skipped.
    #[must_use]
    pub fn lazy_dynamic(client: Client, namespace: Option<&str>, resource: &ApiResource) -> Self {
        Self::new_lazy(client, namespace, resource, Typing::Untyped)
    }
}

impl<K: Resource + 'static> ListWatch<K> {
    fn new(client: Client, namespace: Option<&str>, kind: &K::DynamicType, codec: ObjectCodec<K>) -> Self {
        Self {
            client,
            path: K::url_path(kind, namespace),
            expected: ExpectedKind::of::<K>(kind),
            namespace: namespace.map(Into::into),
            negotiation: Negotiation::new::<K>(kind, codec.typing),
            codec,
            list_compression: ListCompression::None,
            managed_fields: ManagedFields::Keep,
            max_object_size: MAX_OBJECT_SIZE,
            received: Arc::new(ReceivedData::new()),
            content_type: LastContentType::default(),
            labels: LabelSelector::everything(),
            fields: FieldSelector::everything(),
            modify_list: None,
            modify_watch: None,
            decoder: OnceLock::new(),
        }
    }

    /// Restricts the source to objects with these labels.
    #[must_use]
    pub fn labels(mut self, labels: LabelSelector) -> Self {
        self.labels = labels;
        self
    }

    /// Restricts the source to objects with these fields.
    #[must_use]
    pub fn fields(mut self, fields: FieldSelector) -> Self {
        self.fields = fields;
        self
    }

    /// Sets the encoding that is requested. The default is [`Encoding::Auto`].
    #[must_use]
    pub fn encoding(mut self, encoding: Encoding) -> Self {
        self.negotiation.set_encoding(encoding);
        self
    }

    /// Sets the compression of lists that is requested. The default is [`ListCompression::None`]. Watches are not compressed.
    ///
    /// The [limit](Self::max_object_size) applies to the decompressed objects. [`bytes_read`](ListerWatcher::bytes_read) counts
    /// the bytes before decompression, unless the client decompresses responses itself (the feature `gzip` of kube).
    #[must_use]
    pub fn list_compression(mut self, compression: ListCompression) -> Self {
        self.list_compression = compression;
        self
    }

    /// Sets whether `metadata.managedFields` are dropped before an object is decoded. The default is [`ManagedFields::Keep`]; an
    /// [`Informer`](crate::Informer) uses [`ManagedFields::Drop`].
    #[must_use]
    pub fn managed_fields(mut self, managed_fields: ManagedFields) -> Self {
        self.managed_fields = managed_fields;
        self.decoder = OnceLock::new();
        self
    }

    /// Sets the maximum size of an object on the wire. The default is [`MAX_OBJECT_SIZE`].
    ///
    /// A list or a watch with a larger object fails. A decoded object may take many times as much memory, so this limit bounds
    /// the memory that a malicious server can make a client use.
    #[must_use]
    pub fn max_object_size(mut self, bytes: usize) -> Self {
        self.max_object_size = bytes;
        self
    }

    /// Sets a function that changes the options of every list before it is sent.
    #[must_use]
    pub fn modify_list(mut self, modify: impl Fn(&mut ListOptions) + Send + Sync + 'static) -> Self {
        self.modify_list = Some(Arc::new(modify));
        self
    }

    /// Sets a function that changes the options of every watch before it is sent.
    #[must_use]
    pub fn modify_watch(mut self, modify: impl Fn(&mut WatchOptions) + Send + Sync + 'static) -> Self {
        self.modify_watch = Some(Arc::new(modify));
        self
    }

    fn list_query(&self, options: &ListOptions) -> String {
        let mut options = options.clone();
        options.label_selector = options.label_selector.and(self.labels.clone());
        options.field_selector = options.field_selector.and(self.fields.clone());
        if let Some(modify) = &self.modify_list {
            modify(&mut options);
        }
        options.to_query()
    }

    fn watch_query(&self, options: &WatchOptions) -> String {
        let mut options = options.clone();
        options.label_selector = options.label_selector.and(self.labels.clone());
        options.field_selector = options.field_selector.and(self.fields.clone());
        if let Some(modify) = &self.modify_watch {
            modify(&mut options);
        }
        options.to_query()
    }

    /// Sends a request, and again without protobuf if the server refuses that.
    async fn send(&self, query: &str, kind: ResponseKind) -> Result<Response, Error> {
        match self.try_send(query, kind).await {
            Err(error) if is_not_acceptable(&error) && self.negotiation.refused() => {
                self.try_send(query, kind).await
            }
            result => result,
        }
    }

    /// Sends a request. A response with an error status is an error.
    async fn try_send(&self, query: &str, kind: ResponseKind) -> Result<Response, Error> {
        let compression = match kind {
            ResponseKind::List => self.list_compression,
            // A compressed watch would delay events until a block is full.
            ResponseKind::Object => ListCompression::None,
        };
        let request = http::Request::get(format!("{}?{query}", self.path))
            .header(http::header::ACCEPT, self.negotiation.accept(kind))
            .header(http::header::ACCEPT_ENCODING, compression.accept_encoding())
            .body(uncloneable_body().await.map_err(|error| Error::Transport(error.into()))?)
            .map_err(|error| Error::Transport(error.into()))?;
        let response = self.client.send(request).await.map_err(|error| Error::Transport(error.into()))?;
        let decompressor = compression.decompressor(response.headers())?;
        if response.status().is_success() {
            let content_type = ContentType::from_headers(response.headers());
            self.content_type.set(content_type);
            return Ok(Response { body: response.into_body(), content_type, decompressor });
        }
        let retry_after = retry_after(response.headers());
        let code = response.status().as_u16();
        let body = error_body(response.into_body(), decompressor).await;
        Err(Error::Status { status: Box::new(status_from_body(code, &body)), retry_after })
    }

    /// Returns the decoder of this source, which is created once.
    fn shared_decoder(&self) -> Decoder<K> {
        self.decoder.get_or_init(|| self.new_decoder()).clone()
    }

    fn new_decoder(&self) -> Decoder<K> {
        let ObjectCodec { typing, decode, validation } = self.codec;
        let expected = self.expected.clone();
        let check_kind = move |raw: &Raw| match typing {
            Typing::Typed => Ok(()),
            Typing::Untyped => expected.check(raw),
        };
        let expected = self.expected.clone();
        let namespace = self.namespace.clone();
        let checked_decode = move |raw: &Raw, managed_fields| -> Result<K, ItemError> {
            check_kind(raw)?;
            let object = decode(raw, managed_fields).or_else(|error| match raw.without_trailing_data() {
                Some(object) => decode(&object, managed_fields),
                None => Err(error),
            });
            let object = object.map_err(|error| expected.cause(raw, error))?;
            raw.check_identity(&object)?;
            check_namespace(namespace.as_deref(), object.meta())?;
            Ok(object)
        };
        let managed_fields = self.managed_fields;
        let full_decode = checked_decode.clone();
        let decoder =
            Decoder::new(move |raw| full_decode(raw, managed_fields)).managed_fields(managed_fields);
        let expected = self.expected.clone();
        let namespace = self.namespace.clone();
        match validation {
            Validation::Decode => decoder.validate_with(ValidationCost::Full, move |raw, on_labels| {
                if managed_fields == ManagedFields::Keep {
                    raw.validate_managed_fields()?;
                }
                on_labels(checked_decode(raw, ManagedFields::Drop)?.meta().labels.as_ref());
                Ok(())
            }),
            Validation::Scan => decoder.validate_with(ValidationCost::Scan, move |raw, on_labels| {
                if managed_fields == ManagedFields::Keep {
                    raw.validate_managed_fields()?;
                }
                let head = raw.validate_untyped()?;
                raw.check_identity(&head)?;
                expected.check(raw)?;
                check_namespace(namespace.as_deref(), &head.metadata)?;
                on_labels(head.metadata.labels.as_ref());
                Ok(())
            }),
        }
    }
}

/// Returns an error if the server returns an object of a namespace that was not requested.
fn check_namespace(expected: Option<&str>, meta: &ObjectMeta) -> Result<(), ItemError> {
    let Some(expected) = expected.filter(|expected| meta.namespace.as_deref() != Some(*expected)) else {
        return Ok(());
    };
    match Key::new(meta.namespace.as_deref(), meta.name.as_deref().unwrap_or_default()) {
        Ok(key) => Err(ItemError::Namespace { key, expected: expected.into() }),
        // An object without a name is rejected anyway.
        Err(_) => Ok(()),
    }
}

fn is_not_acceptable(error: &Error) -> bool {
    error.as_status().is_some_and(|status| status.code == http::StatusCode::NOT_ACCEPTABLE.as_u16())
}

impl<K: Resource + Send + 'static> ListerWatcher<K> for ListWatch<K> {
    fn list<'a>(
        &'a self,
        options: &'a ListOptions,
        on_item: OnItem<'a, K>,
    ) -> BoxFuture<'a, Result<ListMeta, Error>> {
        Box::pin(async move {
            let query = self.list_query(options);
            let mut response = with_timeout(self.send(&query, ResponseKind::List)).await?;
            let mut items = response.content_type.items(self.max_object_size);
            let mut start = Vec::new();
            let decoder = self.shared_decoder();
            let mut pace = Pace::new(Instant::now());
            while let Some(chunk) = with_timeout(next_chunk(&mut response.body, &self.received)).await? {
                pace.received(chunk.len(), Instant::now())?;
                let mut decompressed = response.decompressor.push(chunk);
                while let Some(part) = decompressed.next()? {
                    start.extend_from_slice(&part[..part.len().min(START.saturating_sub(start.len()))]);
                    items.push(part);
                    while let Some(item) = items.next()? {
                        on_item(Ok(RawObject::encoded(item, decoder.clone())));
                    }
                }
            }
            response.decompressor.finish()?;
            let meta = match items.finish() {
                Ok(meta) => meta,
                Err(error) => return Err(table(&start, &error).unwrap_or(error.into())),
            };
            if meta.kind == "Table" && TABLES.contains(&meta.api_version.as_str()) {
                return Err(Error::Table { kind: meta.kind, api_version: meta.api_version });
            }
            Ok(meta)
        })
    }

    fn watch<'a>(&'a self, options: &'a WatchOptions) -> BoxFuture<'a, Result<Watch<K>, Error>> {
        Box::pin(async move {
            let response = self.send(&self.watch_query(options), ResponseKind::Object).await?;
            let Response { body, content_type, .. } = response;
            let decoder = self.shared_decoder();
            let state = (body, content_type.frames(self.max_object_size), Arc::clone(&self.received));
            let events = stream::try_unfold(state, move |(mut body, mut frames, received)| async move {
                loop {
                    if let Some(frame) = frames.next()? {
                        return Ok(Some((frame.split(), (body, frames, received))));
                    }
                    match next_chunk(&mut body, &received).await? {
                        Some(chunk) => frames.push(chunk),
                        // The connection may end within a frame: the event is sent again by the next watch.
                        None => return Ok::<_, Error>(None),
                    }
                }
            });
            // An event that cannot be split does not end the watch.
            let object = move |raw| RawObject::encoded(raw, decoder.clone());
            Ok(Watch::from_raw(events.map(move |event| Ok(event??.map(&object)))))
        })
    }

    fn describe(&self) -> String {
        self.expected.describe()
    }

    fn bytes_read(&self) -> Option<u64> {
        Some(self.received.bytes())
    }

    fn last_read_at(&self) -> Option<Instant> {
        self.received.last_at()
    }

    fn content_type(&self) -> Option<ContentType> {
        self.content_type.get()
    }

    fn decoder(&self) -> Option<Decoder<K>> {
        Some(self.shared_decoder())
    }
}

/// The API versions of `Table`.
const TABLES: [&str; 2] = ["meta.k8s.io/v1", "meta.k8s.io/v1beta1"];

/// The number of bytes at the start of a response that are stored for the error message.
const START: usize = 512;

/// Returns a better error for a response that looks like a table. Only the message depends on it, so that a text search is
/// enough.
fn table(start: &[u8], error: &ListError) -> Option<Error> {
    let ListError::Envelope(_) = error else { return None };
    let text: String = String::from_utf8_lossy(start).split_whitespace().collect();
    let has = |name: &str, value: &str| text.contains(&format!("\"{name}\":\"{value}\""));
    let version = TABLES.into_iter().find(|version| has("kind", "Table") && has("apiVersion", version))?;
    Some(Error::Table { kind: "Table".into(), api_version: version.into() })
}

impl<K: Resource> fmt::Debug for ListWatch<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListWatch")
            .field("path", &self.path)
            .field("labels", &self.labels)
            .field("fields", &self.fields)
            .finish_non_exhaustive()
    }
}
