//! Where objects come from: one page of a list at a time, and a watch.

mod kind;
mod error;
mod item;
mod negotiation;
mod lister_watcher;
mod functions;
mod paging;
mod pager;
mod client;
mod sharded;
#[cfg(any(test, feature = "testing"))]
mod script;

#[cfg(test)]
mod tests;

pub use client::{ListWatch, MAX_OBJECT_SIZE};
pub use error::{BoxError, Error};
pub use functions::{FromFns, Page};
pub use item::{Decoder, Item, Wanted};
#[cfg(feature = "compact")]
pub(crate) use item::{Labels, See, Wire};
pub use kind::{ItemError, KindError};
pub use lister_watcher::{BoxFuture, Each, ListerWatcher, Watch};
pub use negotiation::{Encoded, Encoding};
pub use pager::{Listed, PAGE_SIZE, Pager};
pub(crate) use paging::{Next, Paging};
#[cfg(any(test, feature = "testing"))]
pub use script::{Request, Scene, Script};
pub use sharded::Sharded;
