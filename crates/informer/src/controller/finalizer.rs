//! Finalizers: cleanup before an object is deleted.

use super::{
    action::Action,
    conflict::{is_conflict, is_not_found},
};
use kube_client::{
    Api, Error,
    api::{Patch, PatchParams},
};
use kube_core::Resource;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::{fmt::Debug, sync::Arc, time::Duration};

/// The part of a reconcile that [`finalizer`] asks for.
#[derive(Clone, Debug)]
pub enum FinalizerEvent<K> {
    /// The object exists and has the finalizer: create or update what it describes.
    Apply(Arc<K>),
    /// The deletion of the object was requested: remove the objects that the controller has created. This may be called several times.
    Cleanup(Arc<K>),
}

/// The error of a reconcile with a finalizer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FinalizerError<E: std::error::Error + 'static> {
    /// `Apply` failed.
    #[error("failed to apply the object")]
    Apply(#[source] E),
    /// `Cleanup` failed. The finalizer remains, and the object is not deleted.
    #[error("failed to clean up the object")]
    Cleanup(#[source] E),
    /// The finalizer could not be added.
    #[error("failed to add the finalizer")]
    Add(#[source] Box<Error>),
    /// The finalizer could not be removed.
    #[error("failed to remove the finalizer")]
    Remove(#[source] Box<Error>),
    /// The object has no name.
    #[error("the object has no name")]
    NoName,
    /// The name of the finalizer is invalid.
    #[error("invalid finalizer name {name:?}: expected a name with a domain, such as example.com/cleanup")]
    #[non_exhaustive]
    InvalidName {
        /// The name.
        name: String,
    },
}

/// Reconciles an object that needs cleanup before it is deleted.
///
/// If the object has no finalizer of this name, it is added before `Apply`. When the deletion is requested, `Cleanup` is called, and
/// the finalizer is removed after it has succeeded. Unlike kube-rs's function of this name, `Apply` follows at once after the
/// finalizer is added, without waiting for the event of that change. If the server returns 404 for a change of the finalizers, the
/// object is reconciled again after some seconds, unless its deletion was observed by then.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::api::Api;
/// use kube_informer::controller::{Action, FinalizerError, FinalizerEvent, finalizer};
/// use std::sync::Arc;
///
/// async fn reconcile(map: Arc<ConfigMap>, api: Arc<Api<ConfigMap>>) -> Result<Action, FinalizerError<kube::Error>> {
///     finalizer(&api, "example.com/cleanup", map, |event| async move {
///         match event {
///             FinalizerEvent::Apply(map) => println!("{:?} exists", map.metadata.name),
///             FinalizerEvent::Cleanup(map) => println!("{:?} will be deleted", map.metadata.name),
///         }
///         Ok(Action::await_change())
///     })
///     .await
/// }
/// ```
///
/// # Errors
/// [`FinalizerError`] with the error of `reconcile` or of the server.
pub async fn finalizer<K, E, T>(
    api: &Api<K>,
    name: &str,
    object: Arc<K>,
    reconcile: impl FnOnce(FinalizerEvent<K>) -> T,
) -> Result<Action, FinalizerError<E>>
where
    K: Resource + DeserializeOwned + Clone + Debug,
    E: std::error::Error + 'static,
    T: Future<Output = Result<Action, E>>,
{
    if name.split_once('/').is_none_or(|(domain, rest)| domain.is_empty() || rest.is_empty()) {
        return Err(FinalizerError::InvalidName { name: name.to_owned() });
    }
    if object.meta().name.is_none() {
        return Err(FinalizerError::NoName);
    }
    let has_finalizer = has_finalizer(&*object, name);
    let is_deleting = object.meta().deletion_timestamp.is_some();
    match (has_finalizer, is_deleting) {
        (true, false) => reconcile(FinalizerEvent::Apply(object)).await.map_err(FinalizerError::Apply),
        (true, true) => {
            let action = reconcile(FinalizerEvent::Cleanup(Arc::clone(&object)))
                .await
                .map_err(FinalizerError::Cleanup)?;
            let change = Change { name, kind: ChangeKind::Remove };
            let removed = change.send(api, object).await;
            match removed.map_err(|error| FinalizerError::Remove(Box::new(error)))? {
                Some(_) => Ok(action),
                None => Ok(CHECK_AGAIN),
            }
        }
        (false, true) => Ok(Action::await_change()),
        (false, false) => {
            let change = Change { name, kind: ChangeKind::Add };
            let added =
                change.send(api, object).await.map_err(|error| FinalizerError::Add(Box::new(error)))?;
            match added {
                Some(object) => reconcile(FinalizerEvent::Apply(object)).await.map_err(FinalizerError::Apply),
                None => Ok(CHECK_AGAIN),
            }
        }
    }
}

fn has_finalizer<K: Resource>(object: &K, name: &str) -> bool {
    object.meta().finalizers.iter().flatten().any(|finalizer| finalizer == name)
}

/// A change of the finalizers of an object.
struct Change<'a> {
    name: &'a str,
    kind: ChangeKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ChangeKind {
    Add,
    Remove,
}

/// The action after the server has returned 404. In general, the object was deleted, and the cache will show it. But a server that
/// does not serve the kind yet, for example after its restart, returns 404 as well, and there will be no event.
const CHECK_AGAIN: Action = Action::requeue(Duration::from_secs(10));

/// The number of attempts if other writers change the object at the same time.
const MAX_ATTEMPTS: u32 = 5;

impl Change<'_> {
    /// Changes the finalizers. After a conflict, reads the object again. Returns `None` if the object was deleted, even
    /// if it was created again, or is being deleted when a finalizer is to be added.
    async fn send<K>(&self, api: &Api<K>, mut object: Arc<K>) -> Result<Option<Arc<K>>, Error>
    where
        K: Resource + DeserializeOwned + Clone + Debug,
    {
        let mut attempt = 1;
        loop {
            if self.kind == ChangeKind::Add && object.meta().deletion_timestamp.is_some() {
                return Ok(None);
            }
            if has_finalizer(&*object, self.name) == (self.kind == ChangeKind::Add) {
                return Ok(Some(object));
            }
            let name = object.meta().name.clone().unwrap_or_default();
            match api.patch(&name, &PatchParams::default(), &Patch::Merge(self.patch(&*object))).await {
                Ok(changed) => return Ok(Some(Arc::new(changed))),
                Err(error) if is_not_found(&error) => return Ok(None),
                Err(error) if is_conflict(&error) && attempt < MAX_ATTEMPTS => {
                    attempt += 1;
                    match api.get_opt(&name).await? {
                        // An object that was created again with the same name has not been cleaned up.
                        Some(newer) if newer.meta().uid == object.meta().uid => object = Arc::new(newer),
                        Some(_) | None => return Ok(None),
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns a merge patch. It replaces the full list, so that it must fail if the object has changed.
    fn patch<K: Resource>(&self, object: &K) -> serde_json::Value {
        let known = object.meta().finalizers.iter().flatten().map(String::as_str);
        let finalizers: Vec<&str> = match self.kind {
            ChangeKind::Add => known.chain([self.name]).collect(),
            ChangeKind::Remove => known.filter(|known| *known != self.name).collect(),
        };
        let metadata = object.meta();
        json!({
            "metadata": {
                "finalizers": finalizers,
                "resourceVersion": metadata.resource_version,
                "uid": metadata.uid,
            },
        })
    }
}
