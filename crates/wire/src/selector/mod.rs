//! Selectors of objects by label, by field and by shard.

mod error;

mod field;
mod label;
mod shard;

pub use error::{MAX_SELECTOR_LENGTH, SelectorError};
pub use field::{FieldOperator, FieldRequirement, FieldSelector};
pub use label::{LabelOperator, LabelRequirement, LabelSelector};
pub use shard::{ShardField, ShardRange, ShardSelector};
