//! Lists objects, in pages if they are requested.

use crate::object::check_fields;
use crate::storage::{Page, ReadError, Record, Selection, Span, Token};
use crate::verb::{
    api_response::{ApiResponse, Body, Media},
    cluster::Cluster,
    conversion,
    error_response::ErrorResponse,
    form::{ObjectEncoder, Representation},
    request::Request,
};
use bytes::Bytes;
use kube_informer_wire::{ListOptions, ResourceVersion, ShardSelector, VersionMatch};
use serde_json::{Value, json};

/// The size of the chunks of a long list, in bytes.
const CHUNK: usize = 64 * 1024;

/// Whether a continue token has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tokens {
    /// It is valid.
    Honoured,
    /// It has expired.
    Expired,
}

/// Returns the objects that match the options.
pub(crate) async fn list(
    cluster: &Cluster,
    request: &Request,
    options: ListOptions,
    tokens: Tokens,
) -> Result<ApiResponse, ErrorResponse> {
    let span = span(&options)?;
    if tokens == Tokens::Expired
        && let Some(after) = span.after
    {
        return Err(ErrorResponse::expired_continue(Token { version: None, after }.encode()));
    }
    // The oldest version that will do must be there, whether it is the one that is shown or not.
    if let Some(version) = number(options.resource_version.as_ref())?.or(span.version) {
        cluster.reached(version).await?;
    }
    let selection = selection(request, options)?;
    let page = cluster.store.list(&request.collection(), &selection, &span);
    let mut page = page.map_err(|error| refuse(error, &span))?;
    page.records = conversion::records(cluster, &request.resource, page.records).await?;
    Ok(answer(request, page))
}

/// Returns these objects as a list.
pub(crate) fn answer(request: &Request, page: Page) -> ApiResponse {
    let encoder =
        ObjectEncoder::new(&request.resource, request.form, request.parameter("includeObject").as_deref())
            .at(request.past);
    let shard = request.parameter("shardSelector").filter(|text| !text.is_empty());
    // The API server returns the selector in its own format, not in that of the request.
    let shard = shard.map(|text| text.parse().map_or(text, |shard: ShardSelector| shard.to_string()));
    let metadata = metadata(&page, shard);
    if encoder.form() == Representation::Table {
        let mut table = encoder.table(&page.records);
        table["metadata"] = metadata;
        return ApiResponse::document(&table);
    }
    if let Some(body) =
        request.protobuf().and_then(|protobuf| protobuf.list(&encoder, &metadata, &page.records))
    {
        return ApiResponse::protobuf(200, body);
    }
    let types = encoder.list_types();
    if encoder.form() == Representation::Metadata && page.records.is_empty() {
        let (kind, version) = (types.kind, types.api_version);
        // It is so in the API server: no items, rather than an empty list of them.
        return ApiResponse::document(
            &json!({ "kind": kind, "apiVersion": version, "metadata": metadata, "items": null }),
        );
    }
    let head = json!([types.kind, types.api_version, metadata]);
    let head = format!(r#"{{"kind":{},"apiVersion":{},"metadata":{},"items":["#, head[0], head[1], head[2]);
    let parts =
        Parts { next: Some(head.into_bytes()), records: page.records.into_iter(), encoder: encoder.items() };
    ApiResponse { code: 200, retry_after: None, media: Media::Json, body: Body::Parts(Box::new(parts)) }
}

/// Returns the selection of the path and the options.
pub(crate) fn selection(request: &Request, options: ListOptions) -> Result<Selection, ErrorResponse> {
    let unknown = check_fields(&request.resource, &options.field_selector);
    unknown.map_err(|unknown| ErrorResponse::bad_request(&unknown.to_string()))?;
    Ok(Selection {
        namespace: request.namespace.clone(),
        labels: options.label_selector,
        fields: options.field_selector,
        shard: options.shard_selector,
    })
}

/// Parses a version; `None` if it is "0" or unset.
pub(crate) fn number(version: Option<&ResourceVersion>) -> Result<Option<u64>, ErrorResponse> {
    let Some(version) = version.filter(|version| !version.is_any()) else { return Ok(None) };
    let invalid =
        || ErrorResponse::bad_request(&format!("invalid resource version {:?}", version.to_string()));
    version.to_number().ok_or_else(invalid).map(Some)
}

fn span(options: &ListOptions) -> Result<Span, ErrorResponse> {
    let ListOptions { limit, .. } = *options;
    let version = number(options.resource_version.as_ref())?;
    if let Some(token) = &options.continue_token {
        if version.is_some() {
            return Err(ErrorResponse::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        let token =
            Token::decode(token).ok_or_else(|| ErrorResponse::bad_request("continue key is not valid"))?;
        return Ok(Span { version: token.version, after: Some(token.after), limit });
    }
    let is_any = options.resource_version.as_ref().is_some_and(ResourceVersion::is_any);
    let is_exact = match options.resource_version_match {
        Some(VersionMatch::Exact) => true,
        Some(VersionMatch::NotOlderThan) => false,
        // A limit with a version but without `resourceVersionMatch` requests exactly that version.
        None => limit.is_some(),
    };
    // The API server responds to version "0" from its cache, which has no pages.
    Ok(Span { version: version.filter(|_| is_exact), after: None, limit: limit.filter(|_| !is_any) })
}

fn refuse(error: ReadError, span: &Span) -> ErrorResponse {
    match (error, &span.after) {
        (ReadError::Expired { .. }, Some(after)) => {
            ErrorResponse::expired_continue(Token { version: None, after: after.clone() }.encode())
        }
        (ReadError::Expired { .. } | ReadError::Cut | ReadError::NotServed, _) => {
            ErrorResponse::expired("The resourceVersion for the provided list is too old.")
        }
        (ReadError::NotReached { newest }, _) => {
            ErrorResponse::version_too_large(span.version.unwrap_or_default(), newest)
        }
    }
}

fn metadata(page: &Page, shard: Option<String>) -> Value {
    let mut metadata = json!({ "resourceVersion": page.version.to_string() });
    if let Some(next) = &page.next {
        metadata["continue"] = next.encode().into();
    }
    if let Some(remaining) = page.remaining {
        metadata["remainingItemCount"] = remaining.into();
    }
    if let Some(selector) = shard {
        metadata["shardInfo"] = json!({ "selector": selector });
    }
    metadata
}

/// The body of a list in chunks.
struct Parts {
    /// The text before the next object; `None` at the end.
    next: Option<Vec<u8>>,
    records: std::vec::IntoIter<Record>,
    encoder: ObjectEncoder,
}

impl Iterator for Parts {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let mut out = self.next.take()?;
        out.reserve(CHUNK);
        while out.len() < CHUNK {
            let Some(record) = self.records.next() else {
                out.extend_from_slice(b"]}\n");
                return Some(out.into());
            };
            self.encoder.append(&record, &mut out);
            if self.records.len() > 0 {
                out.push(b',');
            }
        }
        self.next = Some(Vec::new());
        Some(out.into())
    }
}
