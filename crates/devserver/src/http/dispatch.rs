//! Dispatches requests to verbs.

use crate::fault::{Call, Effect, Verb};
use crate::http::{
    accept::{Offer, accept},
    body::{self, Body},
    control::control,
    exempt::Exemption,
    gateway::Gateway,
    identity,
    log::RequestRecord,
    route::{Route, Target},
};
use crate::rbac::User;
use crate::registry::Resource;
use crate::verb::{self, ApiResponse, Encoding, ErrorResponse, Media, ObjectPart, Request, Tokens, Warnings};
use bytes::Bytes;
use http::{HeaderMap, Method, header};
use kube_informer_wire::{FieldOperator, FieldRequirement, ListOptions, Query, Schema};
use std::sync::Arc;

/// Processes a request.
pub(crate) async fn respond<B>(gateway: &Gateway, request: http::Request<B>) -> http::Response<Body>
where
    B: http_body::Body<Data = Bytes> + Send,
{
    let mut pieces = None;
    let mut record = None;
    let accepts = text(request.headers(), header::ACCEPT).to_owned();
    let warnings = Arc::new(Warnings::default());
    let trace = Trace { pieces: &mut pieces, record: &mut record, warnings: &warnings };
    let answered = answer(gateway, request, trace).await;
    let answer = answered.unwrap_or_else(|refusal| refuse(&refusal, &accepts));
    if let Some(record) = record {
        gateway.log.add(RequestRecord { code: answer.code, ..record });
    }
    let mut response = http::Response::builder()
        .status(answer.code)
        .header(header::CONTENT_TYPE, content_type(answer.media))
        .header(header::CACHE_CONTROL, "no-cache, private");
    if let Some(seconds) = answer.retry_after {
        response = response.header(header::RETRY_AFTER, seconds);
    }
    for warning in warnings.headers() {
        response = response.header(header::WARNING, warning);
    }
    response.body(Body::new(answer.body, pieces)).unwrap_or_else(|_| {
        // Only a fault script can request a code that HTTP does not have.
        let refusal = ApiResponse::from(ErrorResponse::scripted(500, None));
        let mut response = http::Response::new(Body::new(refusal.body, None));
        *response.status_mut() = http::StatusCode::INTERNAL_SERVER_ERROR;
        response
    })
}

/// The context of a request, which is also needed for an error response.
struct Trace<'a> {
    /// The size of the chunks of the response body.
    pieces: &'a mut Option<usize>,
    /// The entry of the request log.
    record: &'a mut Option<RequestRecord>,
    /// The warnings in the headers of the response.
    warnings: &'a Arc<Warnings>,
}

/// Returns an error response in the requested encoding.
fn refuse(refusal: &ErrorResponse, accepts: &str) -> ApiResponse {
    let wanted = accept(accepts, Offer::Objects).map(|accepted| accepted.encoding);
    match wanted {
        Ok(Encoding::Protobuf) => {
            let body = verb::protobuf_status(refusal.status());
            ApiResponse {
                retry_after: refusal.retry_after(),
                ..ApiResponse::protobuf(refusal.status().code, body)
            }
        }
        Ok(Encoding::Json) | Err(_) => ApiResponse::from(refusal.clone()),
    }
}

async fn answer<B>(
    gateway: &Gateway,
    request: http::Request<B>,
    trace: Trace<'_>,
) -> Result<ApiResponse, ErrorResponse>
where
    B: http_body::Body<Data = Bytes> + Send,
{
    let (parts, body) = request.into_parts();
    let query = parts.uri.query().unwrap_or_default();
    let host = text(&parts.headers, header::HOST);
    let route = Route::parse(parts.uri.path(), host);
    let user = identity::user(&gateway.cluster, &parts)?;
    let call = call(route.as_ref(), &parts, &user);
    let exemption = parts.extensions.get::<Exemption>().copied();
    if exemption != Some(Exemption::Server) {
        let path = parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
        *trace.record = Some(RequestRecord::new(parts.method.as_str(), path, &call));
    }
    identity::check(&gateway.cluster, &user, &parts, route.as_ref())?;
    let route = route.clone().ok_or_else(ErrorResponse::no_such_path)?;
    if let Route::Control(path) = &route {
        let body = body::read(body).await?;
        return control(gateway, &parts.method, path, &body);
    }
    let effect = if exemption.is_some() { Effect::default() } else { apply_faults(gateway, &call).await? };
    *trace.pieces = effect.pieces;
    if route == Route::Swagger {
        return Ok(verb::swagger());
    }
    let accepts = text(&parts.headers, header::ACCEPT);
    match route {
        Route::Health | Route::Swagger | Route::Control(_) => Ok(verb::health()),
        Route::Document(_) if parts.method != Method::GET => Err(ErrorResponse::method_not_allowed()),
        Route::Document(document) => {
            verb::discovery(&gateway.cluster, &document, accept(accepts, Offer::Json)?.depth)
        }
        Route::Objects(target) => {
            let (verb, resource) = meant(gateway, &target, &parts.method, query)?;
            let has_protobuf = Schema::of(&resource.api_version(), &resource.kind).is_some();
            let accepted = accept(accepts, if has_protobuf { Offer::Objects } else { Offer::Metadata })?;
            let request = Request {
                resource,
                namespace: target.namespace,
                name: target.name.unwrap_or_default(),
                query: query.to_owned(),
                form: accepted.form,
                encoding: accepted.encoding,
                past: gateway.cluster.served_time.past(),
                content_type: media_type(&parts.headers),
                user: Arc::clone(&user),
                user_agent: text(&parts.headers, header::USER_AGENT).to_owned(),
                body: body::read(body).await?,
                warnings: Arc::clone(trace.warnings),
            };
            dispatch(gateway, verb, &request, target.subresource.as_deref(), effect).await
        }
    }
}

/// Describes a request for faults and for the log.
fn call<'a>(route: Option<&'a Route>, parts: &'a http::request::Parts, user: &'a User) -> Call<'a> {
    let query = parts.uri.query().unwrap_or_default();
    let user_agent = text(&parts.headers, header::USER_AGENT);
    let general = Call { query, user: user.name(), user_agent, ..Call::default() };
    match route {
        Some(Route::Objects(target)) => Call {
            verb: target.verb(&parts.method, query),
            resource: &target.plural,
            namespace: target.namespace.as_deref().unwrap_or_default(),
            name: target.name.as_deref().unwrap_or_default(),
            subresource: target.subresource.as_deref().unwrap_or_default(),
            ..general
        },
        Some(Route::Health | Route::Document(_) | Route::Swagger | Route::Control(_)) | None => general,
    }
}

/// Applies the active faults.
async fn apply_faults(gateway: &Gateway, call: &Call<'_>) -> Result<Effect, ErrorResponse> {
    let effect = gateway.faults.record_hit(call);
    for stall in &effect.stalls {
        gateway.faults.wait_out(stall).await;
    }
    match effect.answer {
        Some((code, retry_after)) => Err(ErrorResponse::scripted(code, retry_after)),
        None => Ok(effect),
    }
}

/// Returns the verb and the resource of a request, if they exist.
fn meant(
    gateway: &Gateway,
    target: &Target,
    method: &Method,
    query: &str,
) -> Result<(Verb, Arc<Resource>), ErrorResponse> {
    let registry = gateway.cluster.registry();
    let resource = registry.resource(&target.group, &target.version, &target.plural);
    let resource = resource.ok_or_else(ErrorResponse::no_such_path)?;
    let has_part = match target.subresource.as_deref() {
        None => true,
        Some("status") => resource.has_status,
        Some("scale") => resource.scale.is_some(),
        Some("binding" | "eviction") => resource.is("", "pods"),
        Some("token") => resource.is("", "serviceaccounts"),
        Some("finalize") => resource.is("", "namespaces"),
        Some(_) => false,
    };
    let is_misplaced = match (&target.namespace, resource.is_namespaced()) {
        (Some(_), false) => true,
        (None, true) => target.name.is_some(),
        (Some(_), true) | (None, false) => false,
    };
    if !has_part || is_misplaced {
        return Err(ErrorResponse::no_such_path());
    }
    let verb = target.verb(method, query).ok_or_else(ErrorResponse::method_not_allowed)?;
    let is_part = target.subresource.is_some();
    let lacks_namespace = resource.is_namespaced() && target.namespace.is_none();
    let is_allowed = match verb {
        Verb::Create if matches!(target.subresource.as_deref(), Some("binding" | "eviction" | "token")) => {
            true
        }
        _ if matches!(target.subresource.as_deref(), Some("binding" | "eviction" | "token")) => false,
        _ if target.subresource.as_deref() == Some("finalize") => verb == Verb::Update,
        Verb::Create | Verb::DeleteCollection if lacks_namespace => false,
        Verb::Get | Verb::Update | Verb::Patch => !resource.is_review,
        Verb::List | Verb::Watch | Verb::Create | Verb::Delete | Verb::DeleteCollection => {
            !is_part && resource.verbs().contains(&verb.as_str())
        }
    };
    if is_allowed { Ok((verb, Arc::clone(resource))) } else { Err(ErrorResponse::method_not_allowed()) }
}

async fn dispatch(
    gateway: &Gateway,
    verb: Verb,
    request: &Request,
    part: Option<&str>,
    effect: Effect,
) -> Result<ApiResponse, ErrorResponse> {
    let cluster = &gateway.cluster;
    let is_read = matches!(verb, Verb::Get | Verb::List | Verb::Watch) || request.resource.is_review;
    if cluster.served_time.past().is_some() && !is_read {
        return Err(ErrorResponse::read_only());
    }
    match (verb, part) {
        (Verb::Create, Some("binding")) => verb::binding::bind(cluster, request).await,
        (Verb::Create, Some("eviction")) => verb::eviction::evict(cluster, request),
        (Verb::Create, Some("token")) => verb::token::request(cluster, request),
        (Verb::Create, None) if request.resource.is_review => verb::review(cluster, request),
        (Verb::Update, Some("finalize")) => verb::update(cluster, request, ObjectPart::Finalize).await,
        (Verb::Get, Some("scale")) => verb::scale::get(cluster, request).await,
        (Verb::Update, Some("scale")) => verb::scale::update(cluster, request).await,
        (Verb::Patch, Some("scale")) => verb::scale::patch(cluster, request).await,
        (Verb::Get, Some(_)) => verb::status::get(cluster, request).await,
        (Verb::Update, Some(_)) => verb::status::update(cluster, request).await,
        (Verb::Patch, Some(_)) => verb::status::patch(cluster, request).await,
        (Verb::Get, None) => verb::get(cluster, request).await,
        (Verb::Update, None) => verb::update(cluster, request, ObjectPart::Whole).await,
        (Verb::Patch, None) => verb::patch(cluster, request, ObjectPart::Whole).await,
        (Verb::Create, _) => verb::create(cluster, request).await,
        (Verb::Delete, _) => verb::delete(cluster, request).await,
        (Verb::DeleteCollection, _) => {
            verb::delete_collection(cluster, request, list_options(&request.query)?).await
        }
        (Verb::List | Verb::Watch, _) => follow(gateway, request, effect).await,
    }
}

async fn follow(gateway: &Gateway, request: &Request, effect: Effect) -> Result<ApiResponse, ErrorResponse> {
    match Query::parse(&request.query).map_err(|error| ErrorResponse::query(&error))? {
        Query::List(options) => {
            let tokens = if effect.expires_continue { Tokens::Expired } else { Tokens::Honoured };
            verb::list(&gateway.cluster, request, options, tokens).await
        }
        Query::Watch(_) if effect.refuses_streaming => Err(ErrorResponse::no_streaming_lists()),
        Query::Watch(mut options) => {
            if !request.name.is_empty() {
                let one = FieldRequirement::new("metadata.name", FieldOperator::Equal, request.name.clone());
                let one = one.map_err(|error| ErrorResponse::bad_request(&error.to_string()))?;
                options.field_selector = options.field_selector.and([one].into_iter().collect());
            }
            verb::watch(&gateway.cluster, request, options, effect.watch).await
        }
    }
}

fn list_options(query: &str) -> Result<ListOptions, ErrorResponse> {
    match Query::parse(query).map_err(|error| ErrorResponse::query(&error))? {
        Query::List(options) => Ok(options),
        Query::Watch(_) => Err(ErrorResponse::bad_request("a deletion cannot be watched")),
    }
}

fn content_type(media: Media) -> &'static str {
    match media {
        Media::Json => "application/json",
        Media::Discovery => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        Media::Protobuf => "application/vnd.kubernetes.protobuf",
        Media::ProtobufWatch => "application/vnd.kubernetes.protobuf;stream=watch",
        Media::Text => "text/plain; charset=utf-8",
        Media::Swagger => "application/octet-stream",
    }
}

fn media_type(headers: &HeaderMap) -> String {
    let text = text(headers, header::CONTENT_TYPE);
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}
