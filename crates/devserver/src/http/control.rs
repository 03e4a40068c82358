//! The endpoint for fault injection over HTTP.

use crate::fault::Fault;
use crate::http::gateway::{Control, Gateway};
use crate::verb::{ApiResponse, ErrorResponse};
use bytes::Bytes;
use http::Method;
use serde_json::json;

/// Responds to a request to `/devserver/..`, if the endpoint is enabled.
///
/// | request | effect |
/// |---|---|
/// | `GET faults` | lists the active faults, each with its number and its hits |
/// | `POST faults` | injects the fault in the body, and returns its number |
/// | `DELETE faults`, `DELETE faults/{id}` | removes all faults, or one |
/// | `POST compact` | removes the history |
/// | `POST cut` | cuts all watches |
/// | `POST restart`, `POST restart/reset` | cuts all watches; `reset` also restarts the versions |
pub(crate) fn control(
    gateway: &Gateway,
    method: &Method,
    path: &[String],
    body: &Bytes,
) -> Result<ApiResponse, ErrorResponse> {
    if gateway.control == Control::Closed {
        return Err(ErrorResponse::no_such_path());
    }
    let path: Vec<_> = path.iter().map(String::as_str).collect();
    let store = &gateway.cluster.store;
    match (method.as_str(), path.as_slice()) {
        ("GET", ["faults"]) => return Ok(ApiResponse::document(&gateway.faults.report())),
        ("POST", ["faults"]) => return inject(gateway, body),
        ("DELETE", ["faults"]) => gateway.faults.clear(),
        ("DELETE", ["faults", number]) => {
            let found = number.parse().is_ok_and(|number| gateway.faults.withdraw(number));
            found.then_some(()).ok_or_else(ErrorResponse::no_such_path)?;
        }
        ("POST", ["compact"]) => store.forget_history(),
        ("POST", ["cut" | "restart"]) => store.cut_off(),
        ("POST", ["restart", "reset"]) => store.reset_versions(),
        (_, ["faults" | "compact" | "cut" | "restart"] | ["faults", _] | ["restart", "reset"]) => {
            return Err(ErrorResponse::method_not_allowed());
        }
        _ => return Err(ErrorResponse::no_such_path()),
    }
    Ok(ApiResponse::document(&json!({ "version": store.version().to_string() })))
}

fn inject(gateway: &Gateway, body: &Bytes) -> Result<ApiResponse, ErrorResponse> {
    let text = String::from_utf8_lossy(body);
    let fault = Fault::from_json(&text)
        .map_err(|error| ErrorResponse::bad_request(&format!("the body is not a valid fault: {error}")))?;
    let injected = gateway.faults.inject(fault);
    Ok(ApiResponse::document(&json!({ "id": injected.number() })))
}
