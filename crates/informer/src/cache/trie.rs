//! A persistent hash trie: clones share nodes, and a write copies only shared nodes.

use std::sync::Arc;

/// An item of a [`Trie`], which has a hash.
pub(crate) trait Hashed {
    /// Returns the hash, which must be equal for items that are the same.
    fn digest(&self) -> u64;

    /// Returns whether both are the same item, so that inserting one replaces the other.
    fn is_same(&self, other: &Self) -> bool;
}

/// A set of hashed items.
///
/// A branch has eight children. A leaf has at most [`LEAF_LIMIT`] items. A clone shares all nodes. A write copies the
/// shared nodes on its path and changes the other nodes in place, so several writes between two clones copy each node once.
#[derive(Clone, Debug)]
pub(crate) struct Trie<T> {
    root: Arc<Node<T>>,
    len: usize,
}

#[derive(Clone, Debug)]
enum Node<T> {
    Branch([Option<Arc<Node<T>>>; FAN_OUT]),
    Leaf(Vec<Slot<T>>),
}

#[derive(Clone, Debug)]
struct Slot<T> {
    digest: u64,
    item: T,
}

const BITS: u32 = 3;
const FAN_OUT: usize = 1 << BITS;

/// The maximum number of items of a leaf. A larger leaf is split into a branch, unless all bits of the hash are used.
const LEAF_LIMIT: usize = 16;

/// A branch with at most this many items becomes a leaf again. Well below [`LEAF_LIMIT`], so that alternating insertions and
/// removals do not rebuild the node each time.
const MERGE_LIMIT: usize = 8;

fn child(digest: u64, shift: u32) -> usize {
    (digest >> shift) as usize % FAN_OUT
}

impl<T> Trie<T> {
    /// Returns the number of items.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no items.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the item with this hash for which `is` returns true.
    pub(crate) fn find(&self, digest: u64, is: impl Fn(&T) -> bool) -> Option<&T> {
        let mut node = &*self.root;
        let mut shift = 0;
        loop {
            match node {
                Node::Branch(children) => {
                    node = children[child(digest, shift)].as_deref()?;
                    shift += BITS;
                }
                Node::Leaf(slots) => {
                    let slot = slots.iter().find(|slot| slot.digest == digest && is(&slot.item))?;
                    return Some(&slot.item);
                }
            }
        }
    }

    /// Returns whether both share all nodes.
    #[cfg(test)]
    pub(crate) fn ptr_eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.root, &other.root)
    }

    /// Returns the address of the root, which differs after it was copied.
    #[cfg(test)]
    pub(crate) fn root_address(&self) -> usize {
        Arc::as_ptr(&self.root).addr()
    }

    /// Iterates over all items, in no particular order.
    pub(crate) fn iter(&self) -> Iter<'_, T> {
        let mut iter = Iter { path: Vec::new(), leaf: [].iter(), remaining: self.len };
        iter.descend(&self.root);
        iter
    }
}

impl<T: Hashed + Clone> Trie<T> {
    /// Inserts an item, and returns the item that it replaces.
    pub(crate) fn insert(&mut self, item: T) -> Option<T> {
        let old = Arc::make_mut(&mut self.root).insert(Slot { digest: item.digest(), item }, 0);
        self.len += usize::from(old.is_none());
        old
    }

    /// Removes the item with this hash for which `is` returns true.
    pub(crate) fn remove(&mut self, digest: u64, is: impl Fn(&T) -> bool) -> Option<T> {
        // If there is no such item, no shared node is copied.
        self.find(digest, &is)?;
        let old = Arc::make_mut(&mut self.root).remove(digest, 0, &is);
        self.len -= usize::from(old.is_some());
        old
    }

    /// Returns the item with this hash for which `is` returns true, to change it. Its hash must not change.
    pub(crate) fn find_mut(&mut self, digest: u64, is: impl Fn(&T) -> bool) -> Option<&mut T> {
        self.find(digest, &is)?;
        let mut node = Arc::make_mut(&mut self.root);
        let mut shift = 0;
        loop {
            match node {
                Node::Branch(children) => {
                    node = Arc::make_mut(children[child(digest, shift)].as_mut()?);
                    shift += BITS;
                }
                Node::Leaf(slots) => {
                    let slot = slots.iter_mut().find(|slot| slot.digest == digest && is(&slot.item))?;
                    return Some(&mut slot.item);
                }
            }
        }
    }
}

impl<T: Hashed + Clone> Node<T> {
    fn insert(&mut self, slot: Slot<T>, shift: u32) -> Option<T> {
        match self {
            Self::Branch(children) => match &mut children[child(slot.digest, shift)] {
                Some(node) => Arc::make_mut(node).insert(slot, shift + BITS),
                empty => {
                    *empty = Some(Arc::new(Self::Leaf(vec![slot])));
                    None
                }
            },
            Self::Leaf(slots) => {
                let same = |old: &&mut Slot<T>| old.digest == slot.digest && old.item.is_same(&slot.item);
                if let Some(old) = slots.iter_mut().find(same) {
                    return Some(std::mem::replace(&mut old.item, slot.item));
                }
                slots.push(slot);
                if slots.len() > LEAF_LIMIT && shift < u64::BITS {
                    *self = Self::split(std::mem::take(slots), shift);
                }
                None
            }
        }
    }

    fn split(slots: Vec<Slot<T>>, shift: u32) -> Self {
        let mut children = [const { None }; FAN_OUT];
        for slot in slots {
            let node =
                children[child(slot.digest, shift)].get_or_insert_with(|| Arc::new(Self::Leaf(Vec::new())));
            Arc::make_mut(node).insert(slot, shift + BITS);
        }
        Self::Branch(children)
    }

    fn remove(&mut self, digest: u64, shift: u32, is: &impl Fn(&T) -> bool) -> Option<T> {
        match self {
            Self::Leaf(slots) => {
                let at = slots.iter().position(|slot| slot.digest == digest && is(&slot.item))?;
                Some(slots.swap_remove(at).item)
            }
            Self::Branch(children) => {
                let slot = &mut children[child(digest, shift)];
                let node = Arc::make_mut(slot.as_mut()?);
                let old = node.remove(digest, shift + BITS, is)?;
                let remaining = match node {
                    Self::Leaf(slots) => slots.len(),
                    Self::Branch(_) => LEAF_LIMIT,
                };
                if remaining == 0 {
                    *slot = None;
                }
                if remaining <= MERGE_LIMIT / FAN_OUT {
                    self.merge();
                }
                Some(old)
            }
        }
    }

    /// Turns a branch with few items into a leaf.
    fn merge(&mut self) {
        let Self::Branch(children) = self else { return };
        let mut total = 0;
        for node in children.iter().flatten() {
            match &**node {
                Self::Branch(_) => return,
                Self::Leaf(slots) => total += slots.len(),
            }
        }
        if total <= MERGE_LIMIT {
            let nodes = children.iter_mut().filter_map(Option::take);
            let leaf = nodes.flat_map(|node| match Arc::unwrap_or_clone(node) {
                Self::Leaf(slots) => slots,
                Self::Branch(_) => unreachable!("only leaves were counted"),
            });
            *self = Self::Leaf(leaf.collect());
        }
    }
}

impl<T> Default for Trie<T> {
    fn default() -> Self {
        Self { root: Arc::new(Node::Leaf(Vec::new())), len: 0 }
    }
}

/// Iterates over a [`Trie`].
#[derive(Debug)]
pub(crate) struct Iter<'a, T> {
    path: Vec<std::slice::Iter<'a, Option<Arc<Node<T>>>>>,
    leaf: std::slice::Iter<'a, Slot<T>>,
    remaining: usize,
}

impl<'a, T> Iter<'a, T> {
    fn descend(&mut self, node: &'a Node<T>) {
        match node {
            Node::Branch(children) => self.path.push(children.iter()),
            Node::Leaf(slots) => self.leaf = slots.iter(),
        }
    }
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        loop {
            if let Some(slot) = self.leaf.next() {
                self.remaining -= 1;
                return Some(&slot.item);
            }
            match self.path.last_mut()?.next() {
                Some(Some(node)) => self.descend(node),
                Some(None) => {}
                None => {
                    self.path.pop();
                }
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining, Some(self.remaining))
    }
}

impl<T> ExactSizeIterator for Iter<'_, T> {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// An item with a given hash, to test collisions.
    #[derive(Clone, Debug, PartialEq)]
    struct Item {
        digest: u64,
        name: u16,
        value: u32,
    }

    impl Hashed for Item {
        fn digest(&self) -> u64 {
            self.digest
        }

        fn is_same(&self, other: &Self) -> bool {
            self.name == other.name
        }
    }

    /// Distributes names over all bits of the hash, over its highest bits, or gives all names the same hash.
    fn digest(name: u16, spread: u8) -> u64 {
        match spread {
            0 => u64::from(name).wrapping_mul(0x9E37_79B9_7F4A_7C15),
            1 => u64::from(name) << 56,
            _ => 7,
        }
    }

    fn depth<T>(node: &Node<T>) -> usize {
        match node {
            Node::Leaf(_) => 0,
            Node::Branch(children) => {
                1 + children.iter().flatten().map(|node| depth(node)).max().unwrap_or(0)
            }
        }
    }

    proptest! {
        #[test]
        fn behaves_like_a_map(
            spread in 0..3_u8,
            ops in proptest::collection::vec((0..300_u16, any::<Option<u32>>()), 0..1500),
        ) {
            let mut trie = Trie::default();
            let mut model = BTreeMap::new();
            let mut snapshot = (trie.clone(), model.clone());
            for (step, (name, value)) in ops.into_iter().enumerate() {
                let digest = digest(name, spread);
                let (old, expected) = match value {
                    Some(value) => (trie.insert(Item { digest, name, value }), model.insert(name, value)),
                    None => (trie.remove(digest, |item| item.name == name), model.remove(&name)),
                };
                prop_assert_eq!(old.map(|item| item.value), expected);
                if step % 100 == 0 {
                    snapshot = (trie.clone(), model.clone());
                }
            }
            for (trie, model) in [(trie, model), snapshot] {
                prop_assert_eq!(trie.len(), model.len());
                prop_assert_eq!(trie.iter().len(), model.len());
                let items: BTreeMap<_, _> = trie.iter().map(|item| (item.name, item.value)).collect();
                prop_assert_eq!(items, model);
            }
        }
    }

    #[test]
    fn shrinks_when_items_are_removed() {
        let mut trie = Trie::default();
        for name in 0..10_000 {
            trie.insert(Item { digest: digest(name, 0), name, value: 0 });
        }
        assert!(depth(&trie.root) >= 3);
        for name in 5..10_000 {
            trie.remove(digest(name, 0), |item| item.name == name);
        }
        assert!(depth(&trie.root) <= 1, "five items in {} levels", depth(&trie.root));
        assert_eq!(trie.len(), 5);
    }

    #[test]
    fn a_write_does_not_change_clones() {
        let mut trie = Trie::default();
        for name in 0..1000 {
            trie.insert(Item { digest: digest(name, 0), name, value: 0 });
        }
        let clone = trie.clone();
        let root = Arc::as_ptr(&trie.root);
        assert!(trie.remove(digest(2000, 0), |item| item.name == 2000).is_none());
        assert!(trie.find_mut(digest(2000, 0), |item| item.name == 2000).is_none());
        assert_eq!(Arc::as_ptr(&trie.root), root, "a node was copied");
        trie.find_mut(digest(1, 0), |item| item.name == 1).unwrap().value = 9;
        assert_eq!(clone.find(digest(1, 0), |item| item.name == 1).unwrap().value, 0);
        assert_eq!(trie.find(digest(1, 0), |item| item.name == 1).unwrap().value, 9);
        drop(clone);
        let root = Arc::as_ptr(&trie.root);
        trie.find_mut(digest(1, 0), |item| item.name == 1).unwrap().value = 10;
        assert_eq!(Arc::as_ptr(&trie.root), root, "a node that is not shared was copied");
    }
}
