//! Whether an object can be stored: its types, its depth, its size, and what its metadata say.

use crate::object::{DEEPEST, depth, fill_defaults, metadata_flaws, normalize};
use crate::registry::Resource;
use crate::verb::refusal::Refusal;
use kube_core::response::reason;
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
pub(crate) fn normalized(resource: &Resource, object: &mut Value, way: Way) -> Result<(), Refusal> {
    check_depth(resource, object, way)?;
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

/// Checks an object of this name as it is to be stored. Custom resources have no types here but those of their metadata.
pub(crate) fn check(resource: &Resource, name: &str, (object, way): (&Value, Way)) -> Result<(), Refusal> {
    check_depth(resource, object, way)?;
    let own = Schema::of(&resource.api_version(), &resource.kind).filter(|_| !resource.is_custom());
    let message = own.unwrap_or(Schema::partial_object_metadata()).encode(object);
    let message = message.map_err(|error| wrong(resource, way, &error.to_string()))?;
    let flaws = metadata_flaws(resource, object);
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

fn wrong(resource: &Resource, way: Way, why: &str) -> Refusal {
    let kind = &resource.kind;
    match way {
        Way::Sent => Refusal::bad_request(&format!(
            "{kind} in version {:?} cannot be handled as a {kind}: {why}",
            resource.version
        )),
        Way::Applied => Refusal::unexplained(&format!("failed to convert new object to {kind}: {why}")),
        Way::Patched => {
            Refusal::new(422, reason::INVALID, &format!(" \"\" is invalid: patch: Invalid value: {why}"))
        }
    }
}
