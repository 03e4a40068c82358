//! Sends events to the server.

use super::correlator::{Correlator, Decision};
use crate::controller::conflict::is_not_found;
use k8s_openapi::{
    api::core::v1::{Event, EventSource, ObjectReference},
    apimachinery::pkg::apis::meta::v1::Time,
    jiff::Timestamp,
};
use kube_client::{
    Api, Client, Error,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::json;
use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::time::Instant;

/// Records events about objects: client-go's `EventRecorder` with its correlator.
///
/// The same event again increments the count of the first one instead of creating an object. From the tenth event on that differs
/// only in its message within ten minutes, events are combined into one. After 25 events about one object, further ones are
/// dropped, except one in five minutes.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::Resource;
/// use kube_informer::controller::events::{EventNote, Recorder};
///
/// async fn created(recorder: &Recorder, map: &ConfigMap) -> Result<(), kube::Error> {
///     let note = EventNote::normal("Created", "created the deployment");
///     recorder.record(&map.object_ref(&()), note).await?;
///     Ok(())
/// }
/// ```
///
/// It is cheap to clone; clones share the correlator. Without a permission to create events, [`record`](Self::record) fails: most
/// controllers log that and continue.
#[derive(Clone)]
#[doc(alias = "EventRecorder")]
pub struct Recorder {
    client: Client,
    component: Arc<str>,
    instance: Arc<str>,
    correlator: Arc<Mutex<Correlator>>,
}

/// The content of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct EventNote {
    kind: EventKind,
    reason: String,
    message: String,
    action: Option<String>,
}

/// The type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Information.
    Normal,
    /// A problem.
    Warning,
}

/// The result of recording an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Recorded {
    /// It was created.
    Created,
    /// The count of an event on the server was incremented.
    Counted,
    /// There were too many events about this object.
    Dropped,
}

impl EventNote {
    /// Creates an event with information. The reason is one word in CamelCase.
    pub fn normal(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind: EventKind::Normal, reason: reason.into(), message: message.into(), action: None }
    }

    /// Creates an event with a problem.
    pub fn warning(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind: EventKind::Warning, ..Self::normal(reason, message) }
    }

    /// Sets the action that the controller took, such as `Scaling`.
    pub fn action(mut self, action: impl Into<String>) -> Self {
        self.action = Some(action.into());
        self
    }
}

/// The maximum length of a message; the server rejects longer ones.
const MAX_MESSAGE: usize = 1024;

impl Recorder {
    /// Creates a recorder for a controller of this name.
    #[must_use]
    pub fn new(client: Client, controller: impl Into<Arc<str>>) -> Self {
        let instance = std::env::var("HOSTNAME").unwrap_or_default();
        Self {
            client,
            component: controller.into(),
            instance: instance.into(),
            correlator: Arc::new(Mutex::new(Correlator::new())),
        }
    }

    /// Sets the name of this replica. The default is the environment variable `HOSTNAME`, the name of the pod.
    #[must_use]
    pub fn instance(mut self, instance: impl Into<Arc<str>>) -> Self {
        self.instance = instance.into();
        self
    }

    /// Records an event about an object. Events about cluster-scoped objects are in the namespace `default`.
    ///
    /// # Errors
    /// The error of the server.
    pub async fn record(&self, object: &ObjectReference, note: EventNote) -> Result<Recorded, Error> {
        let now = Timestamp::now();
        let namespace = object.namespace.clone().filter(|namespace| !namespace.is_empty());
        let namespace = namespace.unwrap_or_else(|| "default".to_owned());
        let api: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
        let event = self.event(object, note, now, namespace);
        let decision = self.correlator().decide(event, Instant::now());
        match decision {
            Decision::Drop => Ok(Recorded::Dropped),
            Decision::Create { event, key } => {
                self.create(&api, &event, &key, now).await?;
                Ok(Recorded::Created)
            }
            Decision::Count { event, key, known } => {
                let patch = json!({
                    "count": event.count,
                    "lastTimestamp": event.last_timestamp,
                    "message": event.message,
                });
                match api.patch(&known.name, &PatchParams::default(), &Patch::Merge(patch)).await {
                    Ok(stored) => {
                        self.correlator().sent(&key, &stored, now);
                        Ok(Recorded::Counted)
                    }
                    // The server deletes events after an hour.
                    Err(error) if is_not_found(&error) => {
                        self.correlator().expired(&key);
                        self.create(&api, &event, &key, now).await?;
                        Ok(Recorded::Created)
                    }
                    Err(error) => Err(error),
                }
            }
        }
    }

    async fn create(&self, api: &Api<Event>, event: &Event, key: &str, now: Timestamp) -> Result<(), Error> {
        let stored = api.create(&PostParams::default(), event).await?;
        self.correlator().sent(key, &stored, now);
        Ok(())
    }

    fn event(&self, object: &ObjectReference, note: EventNote, now: Timestamp, namespace: String) -> Event {
        let mut message = note.message;
        if message.len() > MAX_MESSAGE {
            let end = (0..=MAX_MESSAGE - 3).rev().find(|end| message.is_char_boundary(*end)).unwrap_or(0);
            message.truncate(end);
            message.push_str("...");
        }
        let mut event = Event {
            involved_object: object.clone(),
            action: note.action,
            count: Some(1),
            first_timestamp: Some(Time(now)),
            last_timestamp: Some(Time(now)),
            message: Some(message),
            reason: Some(note.reason),
            reporting_component: Some((*self.component).to_owned()),
            reporting_instance: Some((*self.instance).to_owned()),
            source: Some(EventSource { component: Some((*self.component).to_owned()), host: None }),
            type_: Some(match note.kind {
                EventKind::Normal => "Normal".to_owned(),
                EventKind::Warning => "Warning".to_owned(),
            }),
            ..Event::default()
        };
        let name = object.name.as_deref().unwrap_or_default();
        event.metadata.name = Some(format!("{name}.{:x}", now.as_nanosecond()));
        event.metadata.namespace = Some(namespace);
        event
    }

    fn correlator(&self) -> MutexGuard<'_, Correlator> {
        self.correlator.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("component", &self.component)
            .field("instance", &self.instance)
            .finish_non_exhaustive()
    }
}
