//! A fault: its effect, the requests that it applies to, and their number.

use crate::fault::call::{Call, Verb};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A fault that the server injects into matching requests.
///
/// ```
/// use kube_devserver::{Fault, Verb};
/// use std::time::Duration;
///
/// let busy = Fault::answer(429).retry_after(Duration::from_secs(1)).on(Verb::List).of("pods").times(2);
/// let flaky = Fault::cut_after_events(3).abruptly();
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[must_use = "a fault does nothing until it is injected"]
pub struct Fault {
    #[serde(flatten)]
    pub(super) kind: FaultKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verb: Option<Verb>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resource: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subresource: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) times: Option<u32>,
    #[serde(default)]
    pub(super) skip: u32,
}

/// The effect of a fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum FaultKind {
    Answer {
        code: u16,
        #[serde(default, with = "seconds_or_none")]
        retry_after: Option<Duration>,
    },
    Stall {
        #[serde(default, with = "seconds_or_none")]
        seconds: Option<Duration>,
    },
    CutAfterEvents {
        events: u64,
        #[serde(default)]
        manner: Manner,
    },
    CutAfter {
        #[serde(with = "seconds")]
        seconds: Duration,
        #[serde(default)]
        manner: Manner,
    },
    Pieces {
        size: usize,
    },
    DropBookmarks,
    DelayBookmarks {
        #[serde(with = "seconds")]
        seconds: Duration,
    },
    DropInitialEventsEnd,
    DelayInitialEventsEnd {
        #[serde(with = "seconds")]
        seconds: Duration,
    },
    RefuseStreamingLists,
    ExpireContinue,
    RefuseConnections {
        #[serde(with = "seconds")]
        seconds: Duration,
    },
}

/// The way in which a stream is ended early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Manner {
    /// The response ends regularly.
    #[default]
    Clean,
    /// The connection breaks.
    Abrupt,
}

impl Fault {
    /// Responds with a `Status` with this code, and does not process the request.
    pub fn answer(code: u16) -> Self {
        Self::new(FaultKind::Answer { code, retry_after: None })
    }

    /// Delays requests by this duration.
    pub fn stall(time: Duration) -> Self {
        Self::new(FaultKind::Stall { seconds: Some(time) })
    }

    /// Delays requests until the fault is removed.
    pub fn stall_until_withdrawn() -> Self {
        Self::new(FaultKind::Stall { seconds: None })
    }

    /// Ends a watch after this number of events, without bookmarks.
    pub fn cut_after_events(events: u64) -> Self {
        Self::new(FaultKind::CutAfterEvents { events, manner: Manner::Clean })
    }

    /// Ends a watch after this duration.
    pub fn cut_after(time: Duration) -> Self {
        Self::new(FaultKind::CutAfter { seconds: time, manner: Manner::Clean })
    }

    /// Sends the body of a response in chunks of this size.
    pub fn pieces(size: usize) -> Self {
        Self::new(FaultKind::Pieces { size })
    }

    /// Sends no bookmarks.
    pub fn drop_bookmarks() -> Self {
        Self::new(FaultKind::DropBookmarks)
    }

    /// Delays each bookmark by this duration. It has the version of the time at which it is sent.
    pub fn delay_bookmarks(time: Duration) -> Self {
        Self::new(FaultKind::DelayBookmarks { seconds: time })
    }

    /// Never sends the bookmark that ends the initial events of a streaming list.
    pub fn drop_initial_events_end() -> Self {
        Self::new(FaultKind::DropInitialEventsEnd)
    }

    /// Delays the bookmark that ends the initial events of a streaming list.
    pub fn delay_initial_events_end(time: Duration) -> Self {
        Self::new(FaultKind::DelayInitialEventsEnd { seconds: time })
    }

    /// Refuses streaming lists, like a server without this feature.
    pub fn refuse_streaming_lists() -> Self {
        Self::new(FaultKind::RefuseStreamingLists)
    }

    /// Responds to a continued list with 410, as if its version had expired.
    pub fn expire_continue() -> Self {
        Self::new(FaultKind::ExpireContinue)
    }

    /// Refuses connections for this duration from the injection on, and closes the open ones.
    pub fn refuse_connections(time: Duration) -> Self {
        Self::new(FaultKind::RefuseConnections { seconds: time })
    }

    /// Applies only to requests with this verb.
    pub fn on(self, verb: Verb) -> Self {
        Self { verb: Some(verb), ..self }
    }

    /// Applies only to requests for this resource, by its plural name.
    pub fn of(self, resource: impl Into<String>) -> Self {
        Self { resource: Some(resource.into()), ..self }
    }

    /// Applies only to requests in this namespace.
    pub fn in_namespace(self, namespace: impl Into<String>) -> Self {
        Self { namespace: Some(namespace.into()), ..self }
    }

    /// Applies only to requests for the object with this name; lists and watches have none.
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Applies only to requests for this subresource, such as `status`; without this, to all of them and to the object itself.
    pub fn subresource(self, subresource: impl Into<String>) -> Self {
        Self { subresource: Some(subresource.into()), ..self }
    }

    /// Applies only to requests of this client: the name of its user, or the program in its `User-Agent` (the part before `/`).
    pub fn by_client(self, client: impl Into<String>) -> Self {
        Self { client: Some(client.into()), ..self }
    }

    /// Reads a fault from JSON, as it is written in a file or sent to `/devserver/faults`.
    ///
    /// # Errors
    /// Returns an error if a field is unknown, because a fault without a misspelled selector would apply to
    /// all requests.
    pub fn from_json(json: &str) -> serde_json::Result<Self> {
        let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(json)?;
        let names: Vec<_> = fields.keys().cloned().collect();
        let fault: Self = serde_json::from_value(fields.into())?;
        let known = fault.field_names();
        match names.into_iter().find(|name| !known.contains(&name.as_str())) {
            Some(name) => {
                let known = known.join(", ");
                Err(serde::de::Error::custom(format!("unknown field {name:?}; expected one of {known}")))
            }
            None => Ok(fault),
        }
    }

    /// Applies to this number of requests; the default is all until the fault is removed.
    pub fn times(self, times: u32) -> Self {
        Self { times: Some(times), ..self }
    }

    /// Skips this number of matching requests first.
    pub fn after(self, skip: u32) -> Self {
        Self { skip, ..self }
    }

    /// Ends streams by breaking the connection.
    pub fn abruptly(mut self) -> Self {
        if let FaultKind::CutAfter { manner, .. } | FaultKind::CutAfterEvents { manner, .. } = &mut self.kind
        {
            *manner = Manner::Abrupt;
        }
        self
    }

    /// Sets the header `Retry-After` of the response.
    pub fn retry_after(mut self, time: Duration) -> Self {
        if let FaultKind::Answer { retry_after, .. } = &mut self.kind {
            *retry_after = Some(time);
        }
        self
    }

    fn new(kind: FaultKind) -> Self {
        Self {
            kind,
            verb: None,
            resource: None,
            namespace: None,
            name: None,
            subresource: None,
            client: None,
            times: None,
            skip: 0,
        }
    }

    /// Returns the fields that a fault of this kind can have in JSON.
    fn field_names(&self) -> Vec<&'static str> {
        let own: &[&str] = match self.kind {
            FaultKind::Answer { .. } => &["code", "retryAfter"],
            FaultKind::CutAfterEvents { .. } => &["events", "manner"],
            FaultKind::CutAfter { .. } => &["seconds", "manner"],
            FaultKind::Pieces { .. } => &["size"],
            FaultKind::Stall { .. }
            | FaultKind::DelayBookmarks { .. }
            | FaultKind::DelayInitialEventsEnd { .. }
            | FaultKind::RefuseConnections { .. } => &["seconds"],
            FaultKind::DropBookmarks
            | FaultKind::DropInitialEventsEnd
            | FaultKind::RefuseStreamingLists
            | FaultKind::ExpireContinue => &[],
        };
        let selectors = ["verb", "resource", "namespace", "name", "subresource", "client", "times", "skip"];
        ["fault"].into_iter().chain(own.iter().copied()).chain(selectors).collect()
    }

    /// Returns true if the fault applies to this request.
    pub(super) fn concerns(&self, call: &Call<'_>) -> bool {
        let fits = match self.kind {
            FaultKind::Answer { .. } | FaultKind::Stall { .. } | FaultKind::Pieces { .. } => true,
            FaultKind::CutAfterEvents { .. } | FaultKind::CutAfter { .. } => call.verb == Some(Verb::Watch),
            FaultKind::DropBookmarks | FaultKind::DelayBookmarks { .. } => call.verb == Some(Verb::Watch),
            FaultKind::DropInitialEventsEnd
            | FaultKind::DelayInitialEventsEnd { .. }
            | FaultKind::RefuseStreamingLists => call.is_streaming_list(),
            FaultKind::ExpireContinue => call.continues(),
            FaultKind::RefuseConnections { .. } => false,
        };
        fits && self.verb.is_none_or(|verb| call.verb == Some(verb))
            && self.resource.as_deref().is_none_or(|resource| resource == call.resource)
            && self.namespace.as_deref().is_none_or(|namespace| namespace == call.namespace)
            && self.name.as_deref().is_none_or(|name| name == call.name)
            && self.subresource.as_deref().is_none_or(|subresource| subresource == call.subresource)
            && self.client.as_deref().is_none_or(|client| call.is_of(client))
    }
}

/// A duration as a number of seconds, as Kubernetes writes them.
mod seconds {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use std::time::Duration;

    pub(super) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(time.as_secs_f64())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        Duration::try_from_secs_f64(f64::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// A duration as a number of seconds, or none.
mod seconds_or_none {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
    use std::time::Duration;

    #[expect(clippy::ref_option, reason = "serde's `with` fixes the signature")]
    pub(super) fn serialize<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        time.map(|time| time.as_secs_f64()).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        let read = |seconds| Duration::try_from_secs_f64(seconds).map_err(D::Error::custom);
        Option::<f64>::deserialize(from)?.map(read).transpose()
    }
}
