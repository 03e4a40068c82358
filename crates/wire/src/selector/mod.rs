//! Selectors: which objects a request, a lister or a server means.

mod error;

mod field;
mod label;
mod shard;

pub use error::{MAX_SELECTOR_LENGTH, SelectorError};
pub use field::{FieldRequirement, FieldSelector, Relation};
pub use label::{Condition, LabelRequirement, LabelSelector};
pub use shard::{ShardField, ShardRange, ShardSelector};
