//! Fields that another manager owns.

use crate::apply::{
    managers::{Manager, Operation, Owned},
    set::FieldSet,
};

/// A field that a manager may not change without force, because another one owns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// The path of the field, as messages have it.
    pub(crate) field: String,
    /// The owner, as messages have it.
    pub(crate) owner: String,
}

/// The fields of one owner that are in conflict.
#[derive(Clone, Debug)]
pub(super) struct Contested {
    pub(super) manager: Manager,
    pub(super) owned: Owned,
}

/// Lists the conflicts with several owners, field by field.
pub(super) fn conflicts(contested: &[Contested], allowed: &FieldSet) -> Vec<Conflict> {
    let of_owner = |one: &Contested| {
        let owner = describe(&one.manager, &one.owned);
        let paths = one.owned.set.paths().into_iter().filter(|path| !allowed.has(path));
        let conflicts = paths.map(|path| path.iter().map(ToString::to_string).collect());
        conflicts.map(|field| Conflict { field, owner: owner.clone() }).collect::<Vec<_>>()
    };
    contested.iter().flat_map(of_owner).collect()
}

/// Describes an owner: `"kubectl" with subresource "status" using v1 at 2026-01-01T00:00:00Z`.
fn describe(manager: &Manager, owned: &Owned) -> String {
    let mut text = format!("{:?}", manager.name);
    if !manager.subresource.is_empty() {
        text += &format!(" with subresource {:?}", manager.subresource);
    }
    match manager.operation {
        Operation::Apply => text,
        Operation::Update => text + " using " + &owned.api_version,
    }
}

impl Conflict {
    /// Returns the message of a status about these conflicts.
    pub(crate) fn message(conflicts: &[Self]) -> String {
        if let [one] = conflicts {
            return format!("Apply failed with 1 conflict: conflict with {}: {}", one.owner, one.field);
        }
        let mut lines = Vec::new();
        let mut last = None;
        for conflict in conflicts {
            if last != Some(&conflict.owner) {
                lines.push(format!("conflicts with {}:", conflict.owner));
                last = Some(&conflict.owner);
            }
            lines.push(format!("- {}", conflict.field));
        }
        format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
    }
}
