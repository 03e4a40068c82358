//! Functions that change the options of requests.

use crate::source::ListWatch;
use kube_core::Resource;
use kube_informer_wire::{ListOptions, WatchOptions};
use std::{fmt, sync::Arc};

/// Functions that change the options of lists and watches, in order. Cloning shares them.
#[derive(Clone, Default)]
pub(super) struct ModifyOptions {
    lists: Vec<Modify<ListOptions>>,
    watches: Vec<Modify<WatchOptions>>,
}

type Modify<O> = Arc<dyn Fn(&mut O) + Send + Sync>;

impl ModifyOptions {
    pub(super) fn list(modify: impl Fn(&mut ListOptions) + Send + Sync + 'static) -> Self {
        Self { lists: vec![Arc::new(modify)], watches: Vec::new() }
    }

    pub(super) fn watch(modify: impl Fn(&mut WatchOptions) + Send + Sync + 'static) -> Self {
        Self { lists: Vec::new(), watches: vec![Arc::new(modify)] }
    }

    /// Adds functions that run after these.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.lists.extend(other.lists);
        self.watches.extend(other.watches);
        self
    }

    /// Returns true if there are any functions.
    pub(super) fn is_some(&self) -> bool {
        !self.lists.is_empty() || !self.watches.is_empty()
    }

    /// Adds the functions to a source.
    pub(super) fn apply<K: Resource + 'static>(&self, mut source: ListWatch<K>) -> ListWatch<K> {
        if !self.lists.is_empty() {
            let lists = self.lists.clone();
            source = source.modify_list(move |options| lists.iter().for_each(|modify| modify(options)));
        }
        if !self.watches.is_empty() {
            let watches = self.watches.clone();
            source = source.modify_watch(move |options| watches.iter().for_each(|modify| modify(options)));
        }
        source
    }
}

/// Writes the identities of the functions, so that informers with the same functions are recognized.
impl fmt::Debug for ModifyOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists = self.lists.iter().map(|modify| Arc::as_ptr(modify).cast::<()>());
        let watches = self.watches.iter().map(|modify| Arc::as_ptr(modify).cast::<()>());
        f.debug_list().entries(lists).entries(watches).finish()
    }
}
