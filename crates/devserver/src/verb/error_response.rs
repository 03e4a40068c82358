//! Error responses, with the texts of kube-apiserver.

use crate::apply::Conflict;
use crate::invalid::FieldError;
use crate::object::deletion::Mismatch;
use crate::rbac::{Attributes, User};
use crate::registry::Resource;
use kube_core::{
    Status,
    response::{StatusCause, StatusDetails, reason},
};
use kube_informer_wire::QueryError;
use std::{error::Error, time::Duration};

/// The `Status` of an error response.
#[derive(Clone, Debug)]
pub(crate) struct ErrorResponse(Box<Status>);

impl ErrorResponse {
    pub(crate) fn new(code: u16, reason: &str, message: &str) -> Self {
        Self(Status::failure(message, reason).with_code(code).boxed())
    }

    /// Creates an error from the status of a webhook.
    pub(crate) fn from_status(status: Status, details: Option<StatusDetails>) -> Self {
        Self(Status { details, ..status }.boxed())
    }

    pub(crate) fn status(&self) -> &Status {
        &self.0
    }

    /// Returns the header `Retry-After`.
    pub(crate) fn retry_after(&self) -> Option<u32> {
        let seconds = self.0.details.as_ref()?.retry_after_seconds;
        (seconds > 0).then_some(seconds)
    }

    /// Creates the error for an unknown path. It has details, which clients read without a check (`kubectl debug`).
    pub(crate) fn no_such_path() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(404, reason::NOT_FOUND, message).with(no_details())
    }

    /// Creates the error for a write to a server that shows a recorded history.
    pub(crate) fn read_only() -> Self {
        let message = "this server shows a recorded past, which cannot be changed";
        Self::new(405, reason::METHOD_NOT_ALLOWED, message)
    }

    pub(crate) fn not_found(resource: &Resource, name: &str) -> Self {
        let message = format!("{} {name:?} not found", resource.group_resource());
        Self::new(404, reason::NOT_FOUND, &message).about(resource, name)
    }

    pub(crate) fn already_exists(resource: &Resource, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", resource.group_resource());
        Self::new(409, reason::ALREADY_EXISTS, &message).about(resource, name)
    }

    pub(crate) fn conflict(resource: &Resource, name: &str, why: &str) -> Self {
        let message =
            format!("Operation cannot be fulfilled on {} {name:?}: {why}", resource.group_resource());
        Self::new(409, reason::CONFLICT, &message).about(resource, name)
    }

    /// Creates the error for a failed precondition of a deletion, which has the kind where other conflicts have the resource.
    pub(crate) fn failed_precondition(resource: &Resource, name: &str, mismatch: &Mismatch) -> Self {
        let (group, kind) = (resource.group.clone(), resource.kind.clone());
        let kinds = if group.is_empty() { kind.clone() } else { format!("{kind}.{group}") };
        let message = format!("Operation cannot be fulfilled on {kinds} {name:?}: {mismatch}");
        let details = StatusDetails { name: name.to_owned(), group, kind, ..no_details() };
        Self::new(409, reason::CONFLICT, &message).with(details)
    }

    /// Creates the error for an object that was changed in the meantime.
    pub(crate) fn modified(resource: &Resource, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    /// Creates the error for a conflict of field managers.
    pub(crate) fn apply_conflict(message: &str, conflicts: &[Conflict]) -> Self {
        let cause = |conflict: &Conflict| StatusCause {
            reason: "FieldManagerConflict".to_owned(),
            message: format!("conflict with {}", conflict.owner),
            field: conflict.field.clone(),
        };
        let details = StatusDetails { causes: conflicts.iter().map(cause).collect(), ..no_details() };
        Self::new(409, reason::CONFLICT, message).with(details)
    }

    pub(crate) fn forbidden(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("{} {name:?} is forbidden: {why}", resource.group_resource());
        Self::new(403, reason::FORBIDDEN, &message).about(resource, name)
    }

    /// Creates the error for a request that RBAC does not allow.
    pub(crate) fn not_authorized(user: &User, attributes: &Attributes, cause: &str) -> Self {
        let sentence = format!("User {:?} cannot {attributes}", user.name());
        // kube-apiserver escapes characters that are special in HTML.
        let mut why = sentence.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        if !cause.is_empty() {
            why = format!("{why}: {cause}");
        }
        let (group, kind, name) = match attributes {
            Attributes::Path { .. } => {
                let message = format!("forbidden: {why}");
                return Self::new(403, reason::FORBIDDEN, &message).with(no_details());
            }
            Attributes::Resource(it) => (&it.group, &it.resource, &it.name),
        };
        let resource = if group.is_empty() { kind.clone() } else { format!("{kind}.{group}") };
        let about = if name.is_empty() { resource } else { format!("{resource} {name:?}") };
        let details =
            StatusDetails { name: name.clone(), group: group.clone(), kind: kind.clone(), ..no_details() };
        Self::new(403, reason::FORBIDDEN, &format!("{about} is forbidden: {why}")).with(details)
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(401, reason::UNAUTHORIZED, "Unauthorized")
    }

    pub(crate) fn invalid(resource: &Resource, name: &str, fields: &[FieldError]) -> Self {
        Self::invalid_fields(&resource.group, &resource.kind, name, fields)
    }

    pub(crate) fn bad_request(message: &str) -> Self {
        Self::new(400, reason::BAD_REQUEST, message)
    }

    pub(crate) fn other_namespace() -> Self {
        let message = "the namespace of the provided object does not match the namespace sent on the request";
        Self::bad_request(message)
    }

    /// Creates an error that kube-apiserver returns without a reason.
    pub(crate) fn unexplained(message: &str) -> Self {
        Self::new(500, "", message)
    }

    /// Creates the error for an invalid query string.
    pub(crate) fn query(error: &QueryError) -> Self {
        let QueryError::Rule { parameter, rule } = error else {
            let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
            let message = format!("{error}{cause}");
            return match error {
                QueryError::Selector { parameter: "shardSelector", .. } => Self::unexplained(&message),
                _ => Self::bad_request(&message),
            };
        };
        Self::invalid_fields("meta.k8s.io", "ListOptions", "", &[FieldError::forbidden(parameter, rule)])
    }

    /// Creates the error for invalid options.
    pub(crate) fn options(kind: &str, error: &FieldError) -> Self {
        Self::invalid_fields("meta.k8s.io", kind, "", std::slice::from_ref(error))
    }

    /// Creates the error of a server without streaming lists.
    pub(crate) fn no_streaming_lists() -> Self {
        let rule = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
        let error = FieldError::forbidden("sendInitialEvents", rule);
        Self::invalid_fields("meta.k8s.io", "ListOptions", "", &[error])
    }

    /// Creates the error for an expired version.
    pub(crate) fn expired(message: &str) -> Self {
        Self::new(410, reason::EXPIRED, message)
    }

    /// Creates the error for an expired page; with the token `fresh`, the list continues at the current
    /// version.
    pub(crate) fn expired_continue(fresh: String) -> Self {
        let mut error = Self::expired(EXPIRED_CONTINUE);
        let metadata = error.0.metadata.get_or_insert_default();
        metadata.continue_ = Some(fresh);
        error
    }

    /// Creates the error for a version that has not been reached.
    pub(crate) fn version_too_large(asked: u64, newest: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {newest}");
        let cause = StatusCause {
            reason: "ResourceVersionTooLarge".to_owned(),
            message: "Too large resource version".to_owned(),
            field: String::new(),
        };
        let details = StatusDetails { causes: vec![cause], retry_after_seconds: 1, ..no_details() };
        Self::new(504, reason::TIMEOUT, &message).with(details)
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, reason::METHOD_NOT_ALLOWED, message)
    }

    pub(crate) fn unsupported_media_type(message: &str) -> Self {
        Self::new(415, reason::UNSUPPORTED_MEDIA_TYPE, message)
    }

    /// Creates the response of an injected fault.
    pub(crate) fn scripted(code: u16, retry_after: Option<Duration>) -> Self {
        let (reason, message) = match code {
            401 => (reason::UNAUTHORIZED, "Unauthorized"),
            403 => (reason::FORBIDDEN, "forbidden: the fault script says so"),
            404 => (reason::NOT_FOUND, "the server could not find the requested resource"),
            409 => (reason::CONFLICT, "Operation cannot be fulfilled: the fault script says so"),
            410 => (reason::EXPIRED, "The resourceVersion for the provided watch is too old."),
            429 => (
                reason::TOO_MANY_REQUESTS,
                "the server has received too many requests and has asked us to try again later",
            ),
            503 => (reason::SERVICE_UNAVAILABLE, "the server is currently unable to handle the request"),
            504 => (reason::TIMEOUT, "the server was unable to return a response in the time allotted"),
            400..500 => (reason::BAD_REQUEST, "the server rejected our request, as the fault script says"),
            _ => (reason::INTERNAL_ERROR, "Internal error occurred: the fault script says so"),
        };
        let seconds = retry_after.map_or(0, |time| u32::try_from(time.as_secs()).unwrap_or(u32::MAX).max(1));
        let error = Self::new(code, reason, message);
        if seconds == 0 {
            return error;
        }
        error.with(StatusDetails { retry_after_seconds: seconds, ..no_details() })
    }

    /// Adds a cause.
    pub(crate) fn with_cause(mut self, reason: &str, message: &str) -> Self {
        let details = self.0.details.get_or_insert_with(no_details);
        let (reason, message) = (reason.to_owned(), message.to_owned());
        details.causes.push(StatusCause { reason, message, field: String::new() });
        self
    }

    pub(crate) fn invalid_fields(group: &str, kind: &str, name: &str, fields: &[FieldError]) -> Self {
        let whole = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let texts: Vec<_> = fields.iter().map(ToString::to_string).collect();
        let text = if texts.len() == 1 { texts.concat() } else { format!("[{}]", texts.join(", ")) };
        let causes = fields.iter().map(|error| StatusCause {
            reason: error.reason.as_str().to_owned(),
            message: error.message.clone(),
            field: error.field.clone(),
        });
        let details = StatusDetails {
            name: name.to_owned(),
            group: group.to_owned(),
            kind: kind.to_owned(),
            causes: causes.collect(),
            ..no_details()
        };
        Self::new(422, reason::INVALID, &format!("{whole} {name:?} is invalid: {text}")).with(details)
    }

    fn about(self, resource: &Resource, name: &str) -> Self {
        let (group, kind) = (resource.group.clone(), resource.plural.clone());
        self.with(StatusDetails { name: name.to_owned(), group, kind, ..no_details() })
    }

    fn with(self, details: StatusDetails) -> Self {
        Self(self.0.with_details(details).boxed())
    }
}

const EXPIRED_CONTINUE: &str = "The provided continue parameter is too old to display a consistent list result. \
    You can start a new list without the continue parameter, or use the continue token in this response to \
    retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - \
    objects that were created, modified, or deleted between the time the first chunk was returned and now may \
    show up in the list.";

pub(crate) fn no_details() -> StatusDetails {
    StatusDetails {
        name: String::new(),
        group: String::new(),
        kind: String::new(),
        uid: String::new(),
        causes: Vec::new(),
        retry_after_seconds: 0,
    }
}
