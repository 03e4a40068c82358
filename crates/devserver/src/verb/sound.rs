//! Whether an object can be stored: its types, its depth, its size, and what its metadata say.

use crate::invalid::FieldError;
use crate::object::{DEEPEST, depth, fill_defaults, metadata_flaws, normalize, scale};
use crate::registry::Resource;
use crate::structural::{self, Part};
use crate::verb::{aspect::Aspect, consequence, field_validation, refusal::Refusal, request::Request};
use kube_informer_wire::Schema;
use serde_json::Value;

/// How the object came: what has wrong types in it is refused by that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Whole.
    Sent,
    /// As a patch of what is there.
    Patched,
    /// As a configuration that is applied.
    Applied,
}

impl Way {
    /// Returns the kind of the options of a change that comes this way.
    pub(crate) fn options(self) -> &'static str {
        match self {
            Self::Sent => "UpdateOptions",
            Self::Patched | Self::Applied => "PatchOptions",
        }
    }
}

/// What etcd takes in one request, as it is set up.
const LARGEST: usize = 3 << 19;

/// Rewrites an object as it is stored: without unknown fields, with defaults.
pub(crate) fn normalized(
    request: &Request,
    object: &mut Value,
    way: Way,
    options: &str,
) -> Result<(), Refusal> {
    let resource = &request.resource;
    check_depth(resource, object, way)?;
    // A configuration with unknown fields was refused before it was merged.
    if way != Way::Applied {
        let checked = field_validation::check(request, object, options)?;
        checked.map_err(|reason| wrong(resource, way, &reason))?;
    }
    normalize(resource, object).map_err(|error| wrong(resource, way, &error.to_string()))?;
    fill_defaults(resource, object);
    Ok(())
}

fn check_depth(resource: &Resource, object: &Value, way: Way) -> Result<(), Refusal> {
    if depth(object) > DEEPEST {
        return Err(wrong(resource, way, &format!("it is more than {DEEPEST} levels deep")));
    }
    Ok(())
}

/// A state of an object that is to be stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State<'o> {
    /// The state before; `None` for a new object.
    pub(crate) old: Option<&'o Value>,
    /// The state itself.
    pub(crate) object: &'o Value,
    /// How it came.
    pub(crate) way: Way,
    /// Which side of the object it changes.
    pub(crate) aspect: Aspect,
}

/// Checks an object of this name as it is to be stored.
pub(crate) fn check(resource: &Resource, name: &str, state: State<'_>) -> Result<(), Refusal> {
    let State { object, way, .. } = state;
    check_depth(resource, object, way)?;
    let own = Schema::of(&resource.api_version(), &resource.kind).filter(|_| !resource.is_custom());
    let message = own.unwrap_or(Schema::partial_object_metadata()).encode(object);
    let message = message.map_err(|error| wrong(resource, way, &error.to_string()))?;
    let mut flaws = metadata_flaws(resource, object);
    flaws.extend(custom_errors(resource, state));
    if state.aspect == Aspect::Whole {
        flaws.extend(consequence::errors(resource, object));
    }
    if !flaws.is_empty() {
        return Err(Refusal::invalid(resource, name, &flaws));
    }
    // Custom resources are stored as JSON.
    let size = if own.is_some() { message.len() } else { object.to_string().len() };
    match size > LARGEST {
        true => Err(Refusal::unexplained("etcdserver: request is too large")),
        false => Ok(()),
    }
}

/// Returns the rules that a custom resource breaks in the schema of its definition.
fn custom_errors(resource: &Resource, state: State<'_>) -> Vec<FieldError> {
    let Some(schema) = resource.schema.as_deref() else { return Vec::new() };
    let part = match state.aspect {
        Aspect::Status => Part::Status,
        Aspect::Whole | Aspect::Scale | Aspect::Binding | Aspect::Finalize => Part::Object,
    };
    let mut errors = structural::errors(schema, state.old, state.object, part);
    errors.extend(scale::errors(resource, state.object, part));
    errors
}

fn wrong(resource: &Resource, way: Way, why: &str) -> Refusal {
    let kind = &resource.kind;
    match way {
        Way::Sent => Refusal::bad_request(&format!(
            "{kind} in version {:?} cannot be handled as a {kind}: {why}",
            resource.version
        )),
        Way::Applied => Refusal::unexplained(&format!("failed to convert new object to {kind}: {why}")),
        Way::Patched => Refusal::breaks_rules("", "", "", &[FieldError::invalid_omitted("patch", why)]),
    }
}
