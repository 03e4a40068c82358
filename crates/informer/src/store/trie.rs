//! A persistent hash trie: a clone is one counter, and a write copies only what a clone still shares.

use std::sync::Arc;

/// What a [`Trie`] can hold: something that carries its hash.
pub(crate) trait Hashed {
    /// The hash; equal for items that are the same.
    fn digest(&self) -> u64;

    /// Whether both are the same item, so that one takes the other's place.
    fn is_same(&self, other: &Self) -> bool;
}

/// A set of hashed items.
///
/// Eight-way branches over leaves of up to [`LEAF_LIMIT`] items. A clone shares everything; a write copies the few
/// nodes on its path that are shared and changes in place those that are not, so a run of writes between two clones
/// copies each node once.
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

/// A fuller leaf becomes a branch, unless the hash is used up.
const LEAF_LIMIT: usize = 16;

/// A branch that holds no more than this in all becomes a leaf again; well below the limit, so that a size that
/// swings around the limit does not rebuild each time.
const MERGE_LIMIT: usize = 8;

fn child(digest: u64, shift: u32) -> usize {
    (digest >> shift) as usize % FAN_OUT
}

impl<T> Trie<T> {
    /// How many items there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Finds the item with this hash for which `is` holds.
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

    /// All items, in an order that means nothing.
    pub(crate) fn iter(&self) -> Iter<'_, T> {
        let mut iter = Iter { path: Vec::new(), leaf: [].iter(), left: self.len };
        iter.descend(&self.root);
        iter
    }
}

impl<T: Hashed + Clone> Trie<T> {
    /// Puts an item in, and hands back the one whose place it takes.
    pub(crate) fn insert(&mut self, item: T) -> Option<T> {
        let old = Arc::make_mut(&mut self.root).insert(Slot { digest: item.digest(), item }, 0);
        self.len += usize::from(old.is_none());
        old
    }

    /// Takes out the item with this hash for which `is` holds.
    pub(crate) fn remove(&mut self, digest: u64, is: impl Fn(&T) -> bool) -> Option<T> {
        // A look first: a miss must not copy what is shared.
        self.find(digest, &is)?;
        let old = Arc::make_mut(&mut self.root).remove(digest, 0, &is);
        self.len -= usize::from(old.is_some());
        old
    }

    /// Changes the item with this hash for which `is` holds, in place. The change must leave its hash alone.
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
            let node = children[child(slot.digest, shift)].get_or_insert_with(|| Arc::new(Self::Leaf(Vec::new())));
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
                let place = &mut children[child(digest, shift)];
                let node = Arc::make_mut(place.as_mut()?);
                let old = node.remove(digest, shift + BITS, is)?;
                let left = match node {
                    Self::Leaf(slots) => slots.len(),
                    Self::Branch(_) => LEAF_LIMIT,
                };
                if left == 0 {
                    *place = None;
                }
                if left <= MERGE_LIMIT / FAN_OUT {
                    self.merge();
                }
                Some(old)
            }
        }
    }

    /// Turns a branch over few items into one leaf.
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

/// Walks over a [`Trie`].
#[derive(Debug)]
pub(crate) struct Iter<'a, T> {
    path: Vec<std::slice::Iter<'a, Option<Arc<Node<T>>>>>,
    leaf: std::slice::Iter<'a, Slot<T>>,
    left: usize,
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
                self.left -= 1;
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
        (self.left, Some(self.left))
    }
}

impl<T> ExactSizeIterator for Iter<'_, T> {}
