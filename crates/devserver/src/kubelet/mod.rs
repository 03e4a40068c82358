//! A kubelet without containers: it keeps nodes ready, and reports pods as running, completed or failed.

mod outcome;

mod node;

mod status;

mod agent;

pub use agent::Kubelet;
pub(crate) use agent::run;
pub(crate) use outcome::ANNOTATION;
pub use outcome::Outcome;
