//! A fault: what goes wrong, for which requests, and how often.

use crate::fault::call::{Call, Verb};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Something that the server does wrong.
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
    pub(super) what: What,
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

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum What {
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

/// How a stream ends before its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Manner {
    /// As if the server had said all it wanted to say.
    #[default]
    Clean,
    /// As if the connection had broken.
    Abrupt,
}

impl Fault {
    /// Answers with a `Status` of this code instead of doing what was asked.
    pub fn answer(code: u16) -> Self {
        Self::new(What::Answer { code, retry_after: None })
    }

    /// Holds requests back for this long before they are looked at.
    pub fn stall(time: Duration) -> Self {
        Self::new(What::Stall { seconds: Some(time) })
    }

    /// Holds requests back until the fault is withdrawn.
    pub fn stall_until_withdrawn() -> Self {
        Self::new(What::Stall { seconds: None })
    }

    /// Ends a watch after it has sent so many events, bookmarks not counted.
    pub fn cut_after_events(events: u64) -> Self {
        Self::new(What::CutAfterEvents { events, manner: Manner::Clean })
    }

    /// Ends a watch after it has lasted this long.
    pub fn cut_after(time: Duration) -> Self {
        Self::new(What::CutAfter { seconds: time, manner: Manner::Clean })
    }

    /// Sends the body of an answer in pieces of so many bytes.
    pub fn pieces(size: usize) -> Self {
        Self::new(What::Pieces { size })
    }

    /// Sends no bookmarks in watches that allow them.
    pub fn drop_bookmarks() -> Self {
        Self::new(What::DropBookmarks)
    }

    /// Sends each bookmark this much later, with the version that is true then.
    pub fn delay_bookmarks(time: Duration) -> Self {
        Self::new(What::DelayBookmarks { seconds: time })
    }

    /// Never says where the initial events of a streaming list end.
    pub fn drop_initial_events_end() -> Self {
        Self::new(What::DropInitialEventsEnd)
    }

    /// Says this much later where the initial events of a streaming list end.
    pub fn delay_initial_events_end(time: Duration) -> Self {
        Self::new(What::DelayInitialEventsEnd { seconds: time })
    }

    /// Refuses streaming lists, as a server without the feature does.
    pub fn refuse_streaming_lists() -> Self {
        Self::new(What::RefuseStreamingLists)
    }

    /// Answers a list that continues another one as if its version were forgotten.
    pub fn expire_continue() -> Self {
        Self::new(What::ExpireContinue)
    }

    /// Takes no connections for this long from the injection on, and cuts those there are.
    pub fn refuse_connections(time: Duration) -> Self {
        Self::new(What::RefuseConnections { seconds: time })
    }

    /// Only for requests with this verb.
    pub fn on(self, verb: Verb) -> Self {
        Self { verb: Some(verb), ..self }
    }

    /// Only for requests about this resource, by its plural name.
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
    /// If a field is unknown: a misspelled selector would leave a fault that applies to all requests.
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

    /// Only for so many requests; without it, for all until it is withdrawn.
    pub fn times(self, times: u32) -> Self {
        Self { times: Some(times), ..self }
    }

    /// Lets so many requests through first.
    pub fn after(self, skip: u32) -> Self {
        Self { skip, ..self }
    }

    /// Ends streams as if the connection had broken.
    pub fn abruptly(mut self) -> Self {
        if let What::CutAfter { manner, .. } | What::CutAfterEvents { manner, .. } = &mut self.what {
            *manner = Manner::Abrupt;
        }
        self
    }

    /// Tells the client in an answer when to come again.
    pub fn retry_after(mut self, time: Duration) -> Self {
        if let What::Answer { retry_after, .. } = &mut self.what {
            *retry_after = Some(time);
        }
        self
    }

    fn new(what: What) -> Self {
        Self {
            what,
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
        let own: &[&str] = match self.what {
            What::Answer { .. } => &["code", "retryAfter"],
            What::CutAfterEvents { .. } => &["events", "manner"],
            What::CutAfter { .. } => &["seconds", "manner"],
            What::Pieces { .. } => &["size"],
            What::Stall { .. }
            | What::DelayBookmarks { .. }
            | What::DelayInitialEventsEnd { .. }
            | What::RefuseConnections { .. } => &["seconds"],
            What::DropBookmarks
            | What::DropInitialEventsEnd
            | What::RefuseStreamingLists
            | What::ExpireContinue => &[],
        };
        let selectors = ["verb", "resource", "namespace", "name", "subresource", "client", "times", "skip"];
        ["fault"].into_iter().chain(own.iter().copied()).chain(selectors).collect()
    }

    /// Whether it is about this request.
    pub(super) fn concerns(&self, call: &Call<'_>) -> bool {
        let fits = match self.what {
            What::Answer { .. } | What::Stall { .. } | What::Pieces { .. } => true,
            What::CutAfterEvents { .. } | What::CutAfter { .. } => call.verb == Some(Verb::Watch),
            What::DropBookmarks | What::DelayBookmarks { .. } => call.verb == Some(Verb::Watch),
            What::DropInitialEventsEnd | What::DelayInitialEventsEnd { .. } | What::RefuseStreamingLists => {
                call.is_streaming_list()
            }
            What::ExpireContinue => call.continues(),
            What::RefuseConnections { .. } => false,
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
