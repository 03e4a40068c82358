//! The endpoint by which faults are injected from outside.

use crate::fault::Fault;
use crate::http::front::{Control, Front};
use crate::verb::{Answer, Refusal};
use bytes::Bytes;
use http::Method;
use serde_json::json;

/// Answers a request to `/devserver/..`, if that is open.
///
/// | request | does |
/// |---|---|
/// | `GET faults` | lists the faults in force, each with its number and its hits |
/// | `POST faults` | injects the fault in the body, and answers with its number |
/// | `DELETE faults`, `DELETE faults/{id}` | withdraws all, or one |
/// | `POST compact` | forgets history |
/// | `POST cut` | breaks all watches off |
/// | `POST restart`, `POST restart/reset` | breaks all watches off, and counts versions anew |
pub(crate) fn control(
    front: &Front,
    method: &Method,
    path: &[String],
    body: &Bytes,
) -> Result<Answer, Refusal> {
    if front.control == Control::Closed {
        return Err(Refusal::no_such_path());
    }
    let path: Vec<_> = path.iter().map(String::as_str).collect();
    let store = &front.cluster.store;
    match (method.as_str(), path.as_slice()) {
        ("GET", ["faults"]) => return Ok(Answer::document(&front.faults.report())),
        ("POST", ["faults"]) => return inject(front, body),
        ("DELETE", ["faults"]) => front.faults.clear(),
        ("DELETE", ["faults", number]) => {
            let found = number.parse().is_ok_and(|number| front.faults.withdraw(number));
            found.then_some(()).ok_or_else(Refusal::no_such_path)?;
        }
        ("POST", ["compact"]) => store.forget_history(),
        ("POST", ["cut" | "restart"]) => store.cut_off(),
        ("POST", ["restart", "reset"]) => store.reset_versions(),
        (_, ["faults" | "compact" | "cut" | "restart"] | ["faults", _] | ["restart", "reset"]) => {
            return Err(Refusal::method_not_allowed());
        }
        _ => return Err(Refusal::no_such_path()),
    }
    Ok(Answer::document(&json!({ "version": store.version().to_string() })))
}

fn inject(front: &Front, body: &Bytes) -> Result<Answer, Refusal> {
    let text = String::from_utf8_lossy(body);
    let fault = Fault::from_json(&text)
        .map_err(|error| Refusal::bad_request(&format!("the body is not a valid fault: {error}")))?;
    let injected = front.faults.inject(fault);
    Ok(Answer::document(&json!({ "id": injected.number() })))
}
