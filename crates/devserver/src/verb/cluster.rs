//! The state of a server: the objects and the served resources.

use crate::admission::{Expressions, Services};
use crate::object::{self, metadata, supported_fields};
use crate::rbac::TokenTable;
use crate::registry::{Registry, Resource};
use crate::served_time::ServedTime;
use crate::storage::{CollectionId, Content, Record, Store, head};
use crate::structural;
use crate::verb::error_response::ErrorResponse;
use kube_informer_wire::{Key, rng};
use serde_json::Value;
use std::{
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// The state of a server.
#[derive(Debug)]
pub(crate) struct Cluster {
    /// The objects.
    pub(crate) store: Store,
    /// The interval of bookmarks.
    pub(crate) bookmark_interval: Duration,
    /// The controllers that run.
    pub(crate) controllers: Controllers,
    /// The bearer tokens of users.
    pub(crate) tokens: TokenTable,
    /// The time that is served.
    pub(crate) served_time: ServedTime,
    /// The admission webhooks that run in this process.
    pub(crate) webhooks: Services,
    /// The compiled expressions of webhooks and policies.
    pub(crate) expressions: Expressions,
    registry: RwLock<Arc<Registry>>,
    entropy: AtomicU64,
    /// The number of the next address of a service.
    next_address: AtomicU64,
}

/// The controllers of kube-controller-manager that a server runs itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Controllers {
    /// No controllers, like a kube-apiserver. Use it with a kube-controller-manager and kubelets.
    ///
    /// Owned objects stay when their owner is deleted, an object that is deleted in the foreground waits, a deleted
    /// namespace keeps its contents, and a pod on a node waits for the kubelet to end it.
    None,
    /// The garbage collector and the namespace controller. Pods on nodes end immediately.
    #[default]
    BuiltIn,
}

/// The time that a list waits for a version that has not been reached, as in the watch cache of kube-apiserver.
const PATIENCE: Duration = Duration::from_secs(3);

impl Cluster {
    pub(crate) fn new(history: usize, bookmark_interval: Duration, controllers: Controllers) -> Self {
        Self {
            store: Store::new(history),
            bookmark_interval,
            controllers,
            tokens: TokenTable::default(),
            served_time: ServedTime::default(),
            webhooks: Services::default(),
            expressions: Expressions::default(),
            registry: RwLock::new(Arc::new(Registry::new())),
            entropy: AtomicU64::new(rng::next_u64()),
            next_address: AtomicU64::new(0),
        }
    }

    /// Returns the served resources.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.registry.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the served resources.
    pub(crate) fn restore_registry(&self, registry: Arc<Registry>) {
        *self.registry.write().unwrap_or_else(PoisonError::into_inner) = registry;
    }

    /// Changes the served resources.
    pub(crate) fn change_registry<E>(
        &self,
        change: impl FnOnce(&mut Registry) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut registry = self.registry.write().unwrap_or_else(PoisonError::into_inner);
        let mut next = Registry::clone(&registry);
        change(&mut next)?;
        *registry = Arc::new(next);
        Ok(())
    }

    /// Returns each resource that is stored, once.
    pub(crate) fn stored(&self) -> Vec<Arc<Resource>> {
        let registry = self.registry();
        let is_first = |resource: &&Arc<Resource>| {
            let (group, plural) = resource.storage();
            registry.preferred(group, plural).is_some_and(|first| Arc::ptr_eq(first, resource))
        };
        registry.resources().filter(is_first).filter(|resource| !resource.is_review).cloned().collect()
    }

    /// Returns random bits for names and uids.
    pub(crate) fn random(&self) -> u64 {
        // SplitMix64.
        let mut bits = self.entropy.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Returns a number that no service has got an address for. Every stored service has a version of its own, so that numbers which are
    /// never below the version differ after a restart and from those in a snapshot too.
    pub(crate) fn next_address(&self) -> u64 {
        self.next_address.fetch_max(self.store.version(), Ordering::Relaxed);
        self.next_address.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns a new uid.
    pub(crate) fn uid(&self) -> String {
        object::uid(u128::from(self.random()) << 64 | u128::from(self.random()))
    }

    /// Returns the object of a resource with this key, decoded.
    pub(crate) fn read(&self, resource: &Resource, key: &str) -> Option<(Record, Value)> {
        let record = self.store.get(&CollectionId::from(resource.storage()), key)?;
        let mut value = record.to_value(&head(&resource.api_version(), &resource.kind));
        // Objects that webhooks convert are in the version in which they are stored.
        if resource.conversion.is_none() {
            object::convert(resource, &mut value);
        }
        Some((record, value))
    }

    /// Waits until the store has reached a version.
    pub(crate) async fn reached(&self, version: u64) -> Result<(), ErrorResponse> {
        match tokio::time::timeout(PATIENCE, self.store.reached(version)).await {
            Ok(()) => Ok(()),
            Err(_) => Err(ErrorResponse::version_too_large(version, self.store.version())),
        }
    }
}

/// Encodes an object of a resource.
pub(crate) fn encode(resource: &Resource, key: Key, mut object: Value) -> Box<Content> {
    metadata::drop_empty(&mut object);
    if let Some(schema) = &resource.storage_schema {
        structural::prune(schema, &mut object);
    }
    let fields = own_fields(resource, &object);
    Box::new(Content::new(key, object, fields))
}

/// Encodes an object in the version of a resource, which may differ from the stored version.
pub(crate) fn encode_converted(resource: &Resource, key: Key, mut object: Value) -> Box<Content> {
    metadata::drop_empty(&mut object);
    object::convert(resource, &mut object);
    let fields = own_fields(resource, &object);
    Box::new(Content::new(key, object, fields))
}

/// Encodes an object of a built-in resource that is JSON already.
pub(crate) fn encode_json(resource: &Resource, json: &str) -> serde_json::Result<Box<Content>> {
    Content::from_json(json, |object| own_fields(resource, object)).map(Box::new)
}

/// Returns an object with other labels and another status.
pub(crate) fn encode_change(
    resource: &Resource,
    record: &Record,
    change: impl FnOnce(&mut Value),
) -> serde_json::Result<Box<Content>> {
    record.changed(|object| own_fields(resource, object), change).map(Box::new)
}

/// Returns the fields that field selectors of this resource support, in addition to name and namespace.
fn own_fields(resource: &Resource, object: &Value) -> Vec<(String, String)> {
    let own = supported_fields(resource).filter(|name| !name.starts_with("metadata."));
    own.map(|name| (name.to_owned(), object::field(resource, object, name).into_owned())).collect()
}
