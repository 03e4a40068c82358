//! The owner tree of an object as steps in time, with the latency of each.

use super::{
    change::{Change, ObjectId, Verb},
    describe::owners,
    query::Range,
    source::{ChangeSource, NOW, Owner, SourceError},
};
use serde::Serialize;
use std::collections::{HashMap, HashSet};

/// The maximum number of objects of a tree, and of changes of each.
const MAX_OBJECTS: usize = 200;
const MAX_CHANGES: usize = 200;
/// The maximum number of owners above an object: owner references may form a cycle.
const MAX_DEPTH: usize = 8;

/// The owner tree of an object.
#[derive(Debug, Serialize)]
pub(super) struct Cause {
    root: String,
    /// True if the tree has more objects.
    truncated: bool,
    nodes: Vec<Node>,
}

/// An object of the tree with its changes.
#[derive(Debug, Serialize)]
pub(super) struct Node {
    kind: String,
    key: String,
    depth: usize,
    changes: Vec<Step>,
}

/// A change in the tree.
#[derive(Debug, Serialize)]
pub(super) struct Step {
    number: u64,
    time: i64,
    verb: Verb,
    words: String,
    manager: Option<String>,
    /// Microseconds since the last change of the owner; `None` if there is none.
    latency: Option<i64>,
}

/// An object of the tree.
struct Member {
    object: ObjectId,
    depth: usize,
    parent: Option<ObjectId>,
}

/// Builds the tree of an object, from its topmost owner.
pub(super) fn cause(
    source: &dyn ChangeSource,
    object: &ObjectId,
    range: Range,
) -> Result<Cause, SourceError> {
    let root = root(source, object)?;
    let name = format!("{} {}", source.kinds()[root.kind].resource, root.key);
    let tree = members(source, root);
    let truncated = tree.len() >= MAX_OBJECTS;
    let mut nodes = nodes(source, &tree, range);
    // Within a level, the order is that of the first change.
    nodes.sort_by_key(|node| (node.depth, node.changes.first().map_or(i64::MAX, |step| step.time)));
    Ok(Cause { root: name, truncated, nodes })
}

/// Returns the objects below a root, level by level.
fn members(source: &dyn ChangeSource, root: ObjectId) -> Vec<Member> {
    let kinds = source.kinds();
    let events = events(source);
    let mut seen: HashSet<ObjectId> = [root.clone()].into();
    let mut tree = vec![Member { object: root, depth: 0, parent: None }];
    let mut position = 0;
    while position < tree.len() && tree.len() < MAX_OBJECTS {
        let (parent, depth) = (tree[position].object.clone(), tree[position].depth);
        let owner = Owner {
            kind: kinds[parent.kind].kind.clone(),
            namespace: parent.key.namespace().map(str::to_owned),
            name: parent.key.name().to_owned(),
        };
        let mut children = source.children(&owner);
        if kinds[parent.kind].kind != "Event" {
            let name = (owner.namespace.clone(), owner.name.clone());
            children.extend(events.get(&name).into_iter().flatten().cloned());
        }
        children.sort_by(|a, b| a.key.cmp(&b.key));
        for child in children {
            if tree.len() < MAX_OBJECTS && seen.insert(child.clone()) {
                tree.push(Member { object: child, depth: depth + 1, parent: Some(parent.clone()) });
            }
        }
        position += 1;
    }
    tree
}

/// Returns the changes of each object, with the time since the last change of its owner.
fn nodes(source: &dyn ChangeSource, tree: &[Member], range: Range) -> Vec<Node> {
    let kinds = source.kinds();
    let log = source.log();
    let is_in_range = |change: &&Change| change.time > range.from && change.time <= range.to;
    let times_of = |object: &ObjectId| log.of(object).map(|change| change.time).collect();
    let times: HashMap<&ObjectId, Vec<i64>> =
        tree.iter().map(|member| (&member.object, times_of(&member.object))).collect();
    let latency = |parent: &Option<ObjectId>, time: i64| {
        let times = times.get(parent.as_ref()?)?;
        let before = times.partition_point(|known| *known <= time).checked_sub(1)?;
        Some(time - times[before])
    };
    let step = |member: &Member, change: &Change| Step {
        number: change.number,
        time: change.time,
        verb: change.verb,
        words: change.words.to_string(),
        manager: change.manager.as_deref().map(str::to_owned),
        latency: latency(&member.parent, change.time),
    };
    let node = |member: &Member| Node {
        kind: kinds[member.object.kind].resource.clone(),
        key: member.object.key.to_string(),
        depth: member.depth,
        changes: log
            .of(&member.object)
            .filter(is_in_range)
            .take(MAX_CHANGES)
            .map(|change| step(member, change))
            .collect(),
    };
    tree.iter().map(node).collect()
}

/// Returns the topmost owner whose kind is known.
fn root(source: &dyn ChangeSource, object: &ObjectId) -> Result<ObjectId, SourceError> {
    let kinds = source.kinds();
    let mut current = object.clone();
    for _ in 0..MAX_DEPTH {
        let known = {
            let log = source.log();
            log.of(&current).next_back().map(|change| change.owner.as_deref().map(str::to_owned))
        };
        let owner = match known {
            Some(owner) => owner,
            None => source.state_at(&current, NOW)?.and_then(|state| owners(&state).into_iter().next()),
        };
        let Some((kind, name)) = owner.as_deref().and_then(|owner| owner.split_once('/')) else { break };
        let Some(kind) = kinds.iter().position(|known| known.kind == kind) else { break };
        let Ok(key) = kube_informer_wire::Key::new(current.key.namespace(), name) else { break };
        let above = ObjectId { kind, key };
        // The lock of the log is released before the state is read, which takes it again.
        let has_changed = source.log().of(&above).next().is_some();
        if !has_changed && source.state_at(&above, NOW)?.is_none() {
            break;
        }
        current = above;
    }
    Ok(current)
}

/// Returns the Events with changes by the namespace and the name of their object: their names start with its name and a dot.
fn events(source: &dyn ChangeSource) -> HashMap<(Option<String>, String), Vec<ObjectId>> {
    let kinds = source.kinds();
    let log = source.log();
    let mut events: HashMap<_, Vec<ObjectId>> = HashMap::new();
    for event in log.objects().filter(|object| kinds[object.kind].kind == "Event") {
        let Some((name, _)) = event.key.name().rsplit_once('.') else { continue };
        let namespace = event.key.namespace().map(str::to_owned);
        events.entry((namespace, name.to_owned())).or_default().push(event.clone());
    }
    events
}
