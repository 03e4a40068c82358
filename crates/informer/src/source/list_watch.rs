//! Lists and watches a Kubernetes API server through a `kube` client.

use super::{
    content_type::{Answer, Encoded, Encoding, LastEncoded, Negotiation},
    error::Error,
    lister_watcher::{Each, ListerWatcher, Watch},
};
use crate::boxed::BoxFuture;
use crate::object::{Decoder, Expected, Item, ItemError};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http_body_util::BodyExt;
use kube_client::{Client, client::Body};
use kube_core::{DynamicObject, Resource};
use kube_informer_wire::{
    FieldSelector, JsonLines, LabelSelector, ListError, ListMeta, ListOptions, ManagedFields, Raw,
    WatchOptions, parse_retry_after, status_from_body,
};
use serde::de::DeserializeOwned;
use std::{
    any::TypeId,
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// A resource of a Kubernetes API server, in all namespaces or one, narrowed by selectors.
///
/// Works for any `K` that `kube` can list: k8s-openapi types, `DynamicObject`, `PartialObjectMeta<K>`, structs for custom
/// resources, and your own structs with just the fields you need.
///
/// kube's client retries some requests by itself, which hides from a reflector what it should know: make the client from
/// a `Config` with `default_retry = false`.
///
/// A `DynamicObject` that says that it is of another kind than the one asked for is left out.
pub struct ListWatch<K: Resource> {
    client: Client,
    path: String,
    expected: Expected,
    negotiation: Negotiation,
    managed_fields: ManagedFields,
    max_object_size: usize,
    bytes: Arc<AtomicU64>,
    encoded: LastEncoded,
    labels: LabelSelector,
    fields: FieldSelector,
    modify_list: Option<Modify<ListOptions>>,
    modify_watch: Option<Modify<WatchOptions>>,
    decoder: OnceLock<Decoder<K>>,
}

/// The most bytes that an object may take on the wire unless told otherwise: 64 MiB.
///
/// The API server takes objects of 3 MiB, which as JSON are a few times larger.
pub const MAX_OBJECT_SIZE: usize = JsonLines::DEFAULT_LIMIT;

/// Changes the options of a request.
type Modify<O> = Arc<dyn Fn(&mut O) + Send + Sync>;

impl<K: Resource + 'static> ListWatch<K> {
    /// The resource in all namespaces.
    #[must_use]
    pub fn all(client: Client) -> Self
    where
        K::DynamicType: Default,
    {
        Self::dynamic(client, None, &K::DynamicType::default())
    }

    /// The resource in one namespace.
    #[must_use]
    pub fn namespaced(client: Client, namespace: &str) -> Self
    where
        K::DynamicType: Default,
    {
        Self::dynamic(client, Some(namespace), &K::DynamicType::default())
    }

    /// The resource that `kind` names, in all namespaces or in one.
    #[must_use]
    pub fn dynamic(client: Client, namespace: Option<&str>, kind: &K::DynamicType) -> Self {
        Self {
            client,
            path: K::url_path(kind, namespace),
            expected: Expected::of::<K>(kind),
            negotiation: Negotiation::of::<K>(kind),
            managed_fields: ManagedFields::Keep,
            max_object_size: MAX_OBJECT_SIZE,
            bytes: Arc::default(),
            encoded: LastEncoded::default(),
            labels: LabelSelector::everything(),
            fields: FieldSelector::everything(),
            modify_list: None,
            modify_watch: None,
            decoder: OnceLock::new(),
        }
    }

    /// Only objects with these labels.
    #[must_use]
    pub fn labels(mut self, labels: LabelSelector) -> Self {
        self.labels = labels;
        self
    }

    /// Only objects with these fields.
    #[must_use]
    pub fn fields(mut self, fields: FieldSelector) -> Self {
        self.fields = fields;
        self
    }

    /// How objects are to travel; [`Encoding::Auto`] unless told otherwise.
    #[must_use]
    pub fn encoding(mut self, encoding: Encoding) -> Self {
        self.negotiation.choose(encoding);
        self
    }

    /// Passes over `metadata.managedFields`, which are about half of what a server sends, before anything is decoded.
    #[must_use]
    pub fn without_managed_fields(mut self) -> Self {
        self.managed_fields = ManagedFields::Drop;
        self.decoder = OnceLock::new();
        self
    }

    /// How many bytes an object may take on the wire; [`MAX_OBJECT_SIZE`] unless told otherwise.
    ///
    /// A list with a larger one, or a watch event, is an error. Decoded, an object may take many times as much, so that this is what
    /// bounds the memory that a server can make a client use for one object.
    #[must_use]
    pub fn max_object_size(mut self, bytes: usize) -> Self {
        self.max_object_size = bytes;
        self
    }

    /// Changes the options of every list just before it is sent.
    #[must_use]
    pub fn modify_list(mut self, modify: impl Fn(&mut ListOptions) + Send + Sync + 'static) -> Self {
        self.modify_list = Some(Arc::new(modify));
        self
    }

    /// Changes the options of every watch just before it is sent.
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

    /// Sends a request, once more if it is the encoding that the server refuses.
    async fn send(&self, query: &str, answer: Answer) -> Result<(Body, Encoded), Error> {
        match self.try_send(query, &self.negotiation.accept(answer)).await {
            Err(error) if is_not_acceptable(&error) && self.negotiation.refused() => {
                self.try_send(query, &self.negotiation.accept(answer)).await
            }
            sent => sent,
        }
    }

    /// Sends a request and makes an error of an answer that is one.
    async fn try_send(&self, query: &str, accept: &str) -> Result<(Body, Encoded), Error> {
        let request = http::Request::get(format!("{}?{query}", self.path))
            .header(http::header::ACCEPT, accept)
            // A compressed watch would hold events back until a block is full.
            .header(http::header::ACCEPT_ENCODING, "identity")
            .body(Body::empty())
            .map_err(|error| Error::Transport(error.into()))?;
        let answer = self.client.send(request).await.map_err(|error| Error::Transport(error.into()))?;
        if let Some(coding) = foreign_coding(answer.headers()) {
            return Err(Error::Transport(format!("answer came as {coding}, which was not asked for").into()));
        }
        if answer.status().is_success() {
            let encoded = Encoded::from_headers(answer.headers());
            self.encoded.set(encoded);
            return Ok((answer.into_body(), encoded));
        }
        let header = answer.headers().get(http::header::RETRY_AFTER).and_then(|value| value.to_str().ok());
        let (retry_after, code) = (header.and_then(parse_retry_after), answer.status().as_u16());
        let body = error_body(answer.into_body()).await;
        Err(Error::Status { status: Box::new(status_from_body(code, &body)), retry_after })
    }
}

/// How an answer is packed that should not be. A bomb is not opened, and bytes that nobody can read are not taken for objects.
fn foreign_coding(headers: &http::HeaderMap) -> Option<String> {
    let coding = headers.get(http::header::CONTENT_ENCODING)?;
    let coding = String::from_utf8_lossy(coding.as_bytes()).trim().to_ascii_lowercase();
    (!matches!(coding.as_str(), "" | "identity")).then(|| coding.escape_debug().to_string())
}

fn is_not_acceptable(error: &Error) -> bool {
    error.as_status().is_some_and(|status| status.code == http::StatusCode::NOT_ACCEPTABLE.as_u16())
}

/// How long a list may show no progress. The API server itself gives up after a minute.
const PATIENCE: Duration = Duration::from_secs(90);

/// Gives up a connection on which nothing comes.
async fn patiently<T>(progress: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let silent = |_| Error::Transport(format!("nothing came for {PATIENCE:?}").into());
    tokio::time::timeout(PATIENCE, progress).await.map_err(silent)?
}

/// The longest error answer that is read.
const ERROR_LIMIT: usize = 1 << 20;

async fn error_body(mut body: Body) -> Vec<u8> {
    let mut text = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        text.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
        if text.len() > ERROR_LIMIT {
            text.truncate(ERROR_LIMIT);
            break;
        }
    }
    text
}

/// The next piece of a body, counted; nothing at its end.
async fn piece(body: &mut Body, bytes: &AtomicU64) -> Result<Option<Bytes>, Error> {
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Error::Transport(error.into()))?;
        if let Ok(data) = frame.into_data() {
            bytes.fetch_add(data.len() as u64, Ordering::Relaxed);
            return Ok(Some(data));
        }
    }
    Ok(None)
}

impl<K: Resource + DeserializeOwned + 'static> ListWatch<K> {
    /// What makes objects of its bytes, always the same.
    fn decoder(&self) -> Decoder<K> {
        let decoder = self.decoder.get_or_init(|| {
            let (expected, managed_fields) = (self.expected.clone(), self.managed_fields);
            let decode = move |raw: &Raw, managed_fields| -> Result<K, ItemError> {
                let decoded = raw.decode(managed_fields).or_else(|error| match raw.alone() {
                    Some(alone) => alone.decode(managed_fields),
                    None => Err(error),
                });
                let decoded = decoded.map_err(|error| expected.cause(raw, error))?;
                raw.check_identity(&decoded)?;
                Ok(expected.check(decoded)?)
            };
            let (whole, seen) = (decode.clone(), self.expected.clone());
            let looks_through = TypeId::of::<K>() == TypeId::of::<DynamicObject>();
            let decoder = Decoder::new(move |raw| whole(raw, managed_fields)).managed_fields(managed_fields);
            decoder
                .probe(move |raw, see| {
                    if managed_fields == ManagedFields::Keep {
                        raw.check_managed_fields()?;
                    }
                    match looks_through {
                        true => {
                            let head = raw.look_through()?;
                            raw.check_identity(&head)?;
                            see(seen.check(head)?.metadata.labels.as_ref());
                        }
                        false => see(decode(raw, ManagedFields::Drop)?.meta().labels.as_ref()),
                    }
                    Ok(())
                })
                .looks_through(looks_through)
        });
        decoder.clone()
    }
}

impl<K> ListerWatcher<K> for ListWatch<K>
where
    K: Resource + DeserializeOwned + Send + 'static,
{
    fn list<'a>(
        &'a self,
        options: &'a ListOptions,
        each: Each<'a, K>,
    ) -> BoxFuture<'a, Result<ListMeta, Error>> {
        Box::pin(async move {
            let query = self.list_query(options);
            let (mut body, encoded) = patiently(self.send(&query, Answer::List)).await?;
            let (mut list, mut head, decoder) =
                (encoded.items(self.max_object_size), Vec::new(), self.decoder());
            while let Some(piece) = patiently(piece(&mut body, &self.bytes)).await? {
                head.extend_from_slice(&piece[..piece.len().min(HEAD.saturating_sub(head.len()))]);
                list.push(piece);
                while let Some(item) = list.next()? {
                    each(Ok(Item::of_wire(item, decoder.clone())));
                }
            }
            let meta = match list.finish() {
                Ok(meta) => meta,
                Err(error) => return Err(table(&head, &error).unwrap_or(error.into())),
            };
            if meta.kind == "Table" && TABLES.contains(&meta.api_version.as_str()) {
                return Err(Error::Table { kind: meta.kind, api_version: meta.api_version });
            }
            Ok(meta)
        })
    }

    fn watch<'a>(&'a self, options: &'a WatchOptions) -> BoxFuture<'a, Result<Watch<K>, Error>> {
        Box::pin(async move {
            let (body, encoded) = self.send(&self.watch_query(options), Answer::Object).await?;
            let decoder = self.decoder();
            let begin = (body, encoded.frames(self.max_object_size), Arc::clone(&self.bytes));
            let events = stream::try_unfold(begin, move |(mut body, mut frames, bytes)| async move {
                loop {
                    if let Some(frame) = frames.next()? {
                        return Ok(Some((frame.split(), (body, frames, bytes))));
                    }
                    match piece(&mut body, &bytes).await? {
                        Some(piece) => frames.push(piece),
                        // A connection that breaks within a frame has ended, and the event will come again.
                        None => return Ok::<_, Error>(None),
                    }
                }
            });
            // An event that cannot be decoded is an item of the stream, not its end.
            let item = move |raw| Item::of_wire(raw, decoder.clone());
            Ok(Watch::of_items(events.map(move |event| Ok(event??.map(&item)))))
        })
    }

    fn describe(&self) -> String {
        self.expected.describe()
    }

    fn bytes_read(&self) -> Option<u64> {
        Some(self.bytes.load(Ordering::Relaxed))
    }

    fn encoded(&self) -> Option<Encoded> {
        self.encoded.get()
    }

    fn decoder(&self) -> Option<Decoder<K>> {
        Some(Self::decoder(self))
    }
}

/// The versions of the API that have tables.
const TABLES: [&str; 2] = ["meta.k8s.io/v1", "meta.k8s.io/v1beta1"];

/// So much of the beginning of a list is kept to tell what it was, should it not be one.
const HEAD: usize = 512;

/// A body without items that begins as a table does.
///
/// Nothing but the wording of the error depends on it, so that the text is not parsed.
fn table(head: &[u8], error: &ListError) -> Option<Error> {
    let ListError::Envelope(_) = error else { return None };
    let text: String = String::from_utf8_lossy(head).split_whitespace().collect();
    let says = |name: &str, value: &str| text.contains(&format!("\"{name}\":\"{value}\""));
    let version = TABLES.into_iter().find(|version| says("kind", "Table") && says("apiVersion", version))?;
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
