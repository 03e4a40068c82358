//! Identifies the type of saved objects, and the program that saved them.

use kube_informer_wire::{ManagedFields, rng};
use std::{fmt, time::UNIX_EPOCH};

/// The type of saved objects, and the program that has validated them.
///
/// Objects are validated when they are received, so that reads of a cache cannot fail. Objects that another program saved are
/// validated again when they are restored, because its types may differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FormatId {
    /// The type of the objects, with flags for managed fields and transforms.
    objects: String,
    /// The executable; `None` if it cannot be identified.
    program: Option<String>,
}

impl FormatId {
    /// Returns the format of objects of type `K` in this program.
    pub(super) fn new<K>(managed_fields: ManagedFields) -> Self {
        // The texts are those of version 0.1, whose folders are restored.
        let managed_fields = match managed_fields {
            ManagedFields::Keep => "whole",
            ManagedFields::Drop => "without managed fields",
        };
        let program = if rng::is_seeded() { Some(simulated_program()) } else { program() };
        Self { objects: format!("{} {managed_fields}", std::any::type_name::<K>()), program }
    }

    /// Marks the objects as transformed.
    pub(super) fn transformed(mut self) -> Self {
        self.objects.push_str(" transformed");
        self
    }

    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let mut lines = std::str::from_utf8(text).ok()?.lines();
        Some(Self { objects: lines.next()?.to_owned(), program: lines.next().map(str::to_owned) })
    }

    /// Returns true if objects of both formats have the same type.
    pub(super) fn is_compatible(&self, other: &Self) -> bool {
        self.objects == other.objects
    }

    /// Returns true if both were written by the same program.
    pub(super) fn is_same_program(&self, other: &Self) -> bool {
        self.program.is_some() && self.program == other.program
    }
}

impl fmt::Display for FormatId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.objects)?;
        self.program.as_ref().map_or(Ok(()), |program| writeln!(f, "{program}"))
    }
}

/// Returns a random program in a simulation, so that a run depends only on its seed.
fn simulated_program() -> String {
    if rng::buggify(4) { "another".to_owned() } else { "the same".to_owned() }
}

/// Identifies the executable by its size and modification time. `None` if the time is not meaningful: some image builders set all
/// times to the epoch.
fn program() -> Option<String> {
    let file = std::env::current_exe().and_then(std::fs::metadata).ok()?;
    let modified = file.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    (modified.as_secs() > 1)
        .then(|| format!("{} {} {}", env!("CARGO_PKG_VERSION"), file.len(), modified.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::{ConfigMap, Pod};

    #[test]
    fn a_format_is_parsed_from_its_text() {
        let format = FormatId::new::<Pod>(ManagedFields::Drop);
        let read = FormatId::parse(format.to_string().as_bytes()).unwrap();
        assert_eq!(read, format);
        assert!(read.is_compatible(&format) && read.is_same_program(&format));
    }

    #[test]
    fn another_type_transform_or_program_is_another_format() {
        let format = FormatId::new::<Pod>(ManagedFields::Drop);
        assert!(!format.is_compatible(&FormatId::new::<ConfigMap>(ManagedFields::Drop)));
        assert!(!format.is_compatible(&FormatId::new::<Pod>(ManagedFields::Keep)));
        assert!(!format.is_compatible(&FormatId::new::<Pod>(ManagedFields::Drop).transformed()));
        let unknown = FormatId { program: None, ..format.clone() };
        assert!(!unknown.is_same_program(&unknown) && !format.is_same_program(&unknown));
    }

    #[test]
    fn the_running_program_is_identified() {
        assert!(program().is_some());
    }
}
