//! Objects as they are received, stored and delivered.
//!
//! A source delivers a [`RawObject`]: an object, or its bytes with a [`Decoder`]. The cache stores it in the form that [`Storage`]
//! selects, and subscribers receive it as an [`Object`].

mod kind;
mod raw;
mod index_values;
mod storage;
pub(crate) mod encoded;
mod stored;
mod listing;

pub(crate) use index_values::{IndexInput, IndexNeeds, IndexValue, IndexValues};
pub(crate) use kind::{ExpectedKind, is_cluster_scoped};
pub use kind::{ItemError, KindError};
pub use listing::{ListedObject, Listing};
pub use raw::{Decoder, RawObject};
pub(crate) use raw::{Labels, RawObjectParts, ValidationCost};
pub use storage::Storage;
pub use stored::Object;
pub(crate) use stored::StoredObject;
