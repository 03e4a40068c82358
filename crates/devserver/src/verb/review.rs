//! Reviews of users and permissions, which are created and not stored.

use crate::invalid::FieldError;
use crate::object::{metadata, normalize};
use crate::rbac::{Attributes, ResourceAttributes, User};
use crate::verb::{
    api_response::ApiResponse,
    authorization::{Decision, authorize, granted},
    clock::now,
    cluster::Cluster,
    error_response::ErrorResponse,
    form::Encoding,
    request::Request,
    token,
};
use kube_informer_wire::Schema;
use serde_json::{Value, json};

/// Returns the review in the body with its result.
pub(crate) fn review(cluster: &Cluster, request: &Request) -> Result<ApiResponse, ErrorResponse> {
    let mut review = request.object()?;
    normalize(&request.resource, &mut review).map_err(|error| {
        ErrorResponse::bad_request(&format!("{} cannot be decoded: {error}", request.resource.kind))
    })?;
    let status = match request.resource.kind.as_str() {
        "SelfSubjectReview" => json!({ "userInfo": request.user.to_info() }),
        "TokenReview" => token_review(cluster, &review),
        "SelfSubjectRulesReview" => rules_review(cluster, request, &review)?,
        "SelfSubjectAccessReview" => {
            check_spec(request, &review, vec![])?;
            decide(cluster, &request.user, &review)
        }
        _ => {
            check_spec(request, &review, subject_errors(&review))?;
            decide(cluster, &subject(&review), &review)
        }
    };
    let meta = metadata::of(&mut review);
    if request.resource.kind == "SelfSubjectReview" {
        meta.insert("creationTimestamp".to_owned(), now().into());
    }
    metadata::fields(&mut review).insert("status".to_owned(), status);
    answer(request, &review)
}

fn answer(request: &Request, review: &Value) -> Result<ApiResponse, ErrorResponse> {
    let schema = Schema::of(&request.resource.api_version(), &request.resource.kind);
    match (request.encoding, schema) {
        (Encoding::Protobuf, Some(schema)) => {
            let body =
                schema.encode(review).map_err(|error| ErrorResponse::unexplained(&error.to_string()))?;

            Ok(ApiResponse::protobuf(201, schema.body(&body)))
        }
        _ => Ok(ApiResponse::json(201, review.to_string())),
    }
}

fn decide(cluster: &Cluster, user: &User, review: &Value) -> Value {
    let Decision { is_allowed, reason } = authorize(cluster, user, &attributes(&review["spec"]));
    let mut status = json!({ "allowed": is_allowed });
    if !reason.is_empty() {
        status["reason"] = reason.into();
    }
    status
}

fn attributes(spec: &Value) -> Attributes {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match &spec["resourceAttributes"] {
        Value::Null => {
            let path = &spec["nonResourceAttributes"];
            Attributes::Path { verb: text(&path["verb"]), path: text(&path["path"]) }
        }
        of => Attributes::Resource(ResourceAttributes {
            verb: text(&of["verb"]),
            group: text(&of["group"]),
            resource: text(&of["resource"]),
            subresource: text(&of["subresource"]),
            namespace: text(&of["namespace"]),
            name: text(&of["name"]),
        }),
    }
}

fn check_spec(request: &Request, review: &Value, more: Vec<FieldError>) -> Result<(), ErrorResponse> {
    let spec = &review["spec"];
    let mut errors = Vec::new();
    match (spec.get("resourceAttributes"), spec.get("nonResourceAttributes")) {
        (Some(_), Some(path)) => errors.push(FieldError::invalid(
            "spec.nonResourceAttributes",
            path,
            "cannot be specified in combination with resourceAttributes",
        )),
        (None, None) => errors.push(FieldError::invalid(
            "spec.resourceAttributes",
            &Value::Null,
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        )),
        (Some(_), None) | (None, Some(_)) => {}
    }
    errors.extend(more);
    let is_local = request.resource.is_namespaced();
    let is_known = |name: &str| name == "managedFields" || (is_local && name == "namespace");
    let is_set = |(name, value): (&String, &Value)| !value.is_null() && !is_known(name);
    if review["metadata"].as_object().is_some_and(|fields| fields.iter().any(is_set)) {
        let detail = if is_local { "must be empty except for namespace" } else { "must be empty" };
        errors.push(FieldError::invalid("metadata", &review["metadata"], detail));
    }
    if is_local {
        let namespace = metadata::namespace(review);
        match spec.pointer("/resourceAttributes") {
            Some(of) if of["namespace"].as_str().unwrap_or_default() != namespace => {
                let field = "spec.resourceAttributes.namespace";
                errors.push(FieldError::invalid(field, &of["namespace"], "must match metadata.namespace"));
            }
            _ => {}
        }
        if let Some(path) = spec.get("nonResourceAttributes") {
            let field = "spec.nonResourceAttributes";
            errors.push(FieldError::invalid(field, path, "disallowed on this kind of request"));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(ErrorResponse::invalid(&request.resource, "", &errors)) }
}

fn subject_errors(review: &Value) -> Vec<FieldError> {
    let spec = &review["spec"];
    let has_user = spec["user"].as_str().is_some_and(|user| !user.is_empty());
    let has_groups = spec["groups"].as_array().is_some_and(|groups| !groups.is_empty());
    if has_user || has_groups {
        return Vec::new();
    }
    vec![FieldError::invalid("spec.user", &json!(""), "at least one of user or group must be specified")]
}

fn subject(review: &Value) -> User {
    let spec = &review["spec"];
    let groups = spec["groups"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    User::with_exact_groups(spec["user"].as_str().unwrap_or_default(), groups.collect())
}

fn rules_review(cluster: &Cluster, request: &Request, review: &Value) -> Result<Value, ErrorResponse> {
    let namespace = review["spec"]["namespace"].as_str().unwrap_or_default();
    if namespace.is_empty() {
        return Err(ErrorResponse::bad_request("no namespace on request"));
    }
    let granted = granted(cluster, &request.user, namespace);
    let rules = || granted.rules.iter().map(|one| &one.rule);
    let resources: Vec<_> = rules().filter(|rule| !rule.resources.is_empty()).collect();
    let paths: Vec<_> = rules().filter(|rule| !rule.non_resource_urls.is_empty()).collect();
    let mut status = json!({ "resourceRules": resources, "nonResourceRules": paths, "incomplete": false });
    if let Some(error) = granted.error() {
        status["evaluationError"] = error.into();
    }
    Ok(status)
}

fn token_review(cluster: &Cluster, review: &Value) -> Value {
    let token = review["spec"]["token"].as_str().unwrap_or_default();
    match token::user(cluster, token) {
        Some(user) => json!({ "authenticated": true, "user": user.to_info() }),
        None => json!({ "user": {} }),
    }
}
