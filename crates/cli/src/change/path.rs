//! The path of a field in an object.

use crate::safe::clean_name as shown;
use std::{fmt, sync::Arc};

/// The path of a field in an object: `status.conditions[Ready].status`.
///
/// Paths share their common parts: an object may have a name of a megabyte, and many fields below it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Path(Option<Arc<Segment>>);

#[derive(Debug, PartialEq)]
struct Segment {
    before: Path,
    step: Step,
}

/// One step of a path.
#[derive(Debug, PartialEq)]
enum Step {
    Field(String),
    /// An item of a list, by its name or its position.
    Item(String),
}

impl Path {
    pub(super) fn field(&self, name: &str) -> Self {
        self.with(Step::Field(name.to_owned()))
    }

    pub(super) fn item(&self, name: &str) -> Self {
        self.with(Step::Item(name.to_owned()))
    }

    fn with(&self, step: Step) -> Self {
        Self(Some(Arc::new(Segment { before: self.clone(), step })))
    }

    fn steps(&self) -> Vec<&Step> {
        let segment = std::iter::successors(self.0.as_deref(), |segment| segment.before.0.as_deref());
        let mut steps: Vec<_> = segment.map(|segment| &segment.step).collect();
        steps.reverse();
        steps
    }

    /// Returns the names of the steps.
    pub(crate) fn names(&self) -> Vec<&str> {
        let name = |step| match step {
            &Step::Field(ref name) | &Step::Item(ref name) => name.as_str(),
        };
        self.steps().into_iter().map(name).collect()
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.steps().into_iter().enumerate() {
            match step {
                Step::Item(name) => write!(f, "[{}]", shown(name))?,
                Step::Field(name) if name.contains(['.', '/']) => write!(f, "[{}]", shown(name))?,
                Step::Field(name) => write!(f, "{}{}", if at == 0 { "" } else { "." }, shown(name))?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_with_dots_and_items_with_brackets() {
        let path =
            Path::default().field("status").field("conditions").item("Ready").field("a.b/c").field("d");
        assert_eq!(path.to_string(), "status.conditions[Ready][a.b/c].d");
        assert_eq!(path.names(), ["status", "conditions", "Ready", "a.b/c", "d"]);
    }

    #[test]
    fn long_names_are_truncated_and_shared_between_paths() {
        let long = Path::default().field(&"x".repeat(1 << 20));
        let all: Vec<_> = (0..100_000).map(|number| long.item(&number.to_string())).collect();
        assert_eq!(all[7].to_string(), format!("{}..[7]", "x".repeat(512)));
        assert_eq!(all[7].names()[0].as_ptr(), all[8].names()[0].as_ptr());
    }
}
