//! Where in an object a field stands.

use crate::safe::clean;
use std::fmt;

/// Where in an object a field stands: `status.conditions[Ready].status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Path(Vec<Step>);

/// One step of the way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Step {
    Field(String),
    /// An item of a list, by the name that tells it from the others or else by its number.
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
        Self(self.0.iter().cloned().chain([step]).collect())
    }

    /// The names along the way.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.0
            .iter()
            .map(|step| match step {
                Step::Field(name) | Step::Item(name) => name.as_str(),
            })
            .collect()
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Item(name) => write!(f, "[{}]", clean(name))?,
                Step::Field(name) if name.contains(['.', '/']) => write!(f, "[{}]", clean(name))?,
                Step::Field(name) => write!(f, "{}{}", if at == 0 { "" } else { "." }, clean(name))?,
            }
        }
        Ok(())
    }
}
