//! Sources of objects: list a page, open a watch.

mod error;
mod content_type;
mod decompress;
mod lister_watcher;
mod functions;
mod paging;
mod pager;
mod response;
mod list_watch;
mod shard;
#[cfg(any(test, feature = "testing"))]
mod script;

#[cfg(test)]
mod tests;

pub use crate::boxed::{BoxError, BoxFuture};
pub use crate::object::{Decoder, ItemError, KindError, RawObject};
pub use content_type::{ContentType, Encoding};
pub use decompress::ListCompression;
pub use error::Error;
pub use functions::{FromFns, Page};
pub use list_watch::{ListWatch, MAX_OBJECT_SIZE};
pub use lister_watcher::{ListerWatcher, OnItem, Watch};
pub use pager::{Listed, ListedPage, PAGE_SIZE, Pager};
pub(crate) use paging::{Next, Paging};
#[cfg(any(test, feature = "testing"))]
#[cfg_attr(docsrs, doc(cfg(feature = "testing")))]
pub use script::{Request, Script, ScriptedWatch};
pub use shard::Sharded;
pub(crate) use shard::{HashedField, ShardSet};
