//! Which encoding a server is asked for, and which one it answered in.

use http::HeaderMap;
use kube_core::{DynamicObject, Resource};
use kube_informer_wire::{Frames, Items, Lazy, Schema};
use std::{
    any::TypeId,
    sync::atomic::{AtomicBool, AtomicU8, Ordering},
};

/// How objects are to travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// In protobuf where both sides have it, and in JSON otherwise.
    ///
    /// Protobuf is asked for if the kind is one of Kubernetes' own, or if only metadata is wanted, and a server that
    /// answers in JSON all the same is fine. A `DynamicObject` is asked for in JSON: it holds whatever a server sends, and
    /// in protobuf a field that is newer than this crate has no name.
    #[default]
    Auto,
    /// As [`Auto`](Self::Auto), and untyped objects of Kubernetes' own kinds in protobuf too: for those who know that the server is
    /// not newer than [`KUBERNETES_MINOR`](kube_informer_wire::KUBERNETES_MINOR).
    PreferProtobuf,
    /// In JSON.
    Json,
    /// In protobuf or not at all: custom resources, of which servers have no protobuf, are refused.
    Protobuf,
}

/// What the requests for one resource offer.
#[derive(Debug)]
pub(super) struct Negotiation {
    encoding: Encoding,
    /// Whether there is protobuf of such objects at all.
    is_possible: bool,
    /// Whether something may be lost in it that JSON has.
    is_lossy: bool,
    form: Form,
    /// Whether the server has refused protobuf.
    is_refused: AtomicBool,
}

/// What of the objects is wanted.
#[derive(Clone, Copy, Debug)]
enum Form {
    Whole,
    Metadata,
}

/// What an answer is made of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answer {
    List,
    Object,
}

/// What an answer is encoded in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoded {
    /// JSON.
    Json,
    /// Protobuf.
    Protobuf,
}

/// What the last answer was encoded in, for those who look on.
#[derive(Debug, Default)]
pub(super) struct LastEncoded(AtomicU8);

const JSON: &str = "application/json";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

impl Negotiation {
    pub(super) fn of<K: Resource + 'static>(kind: &K::DynamicType) -> Self {
        let has_schema = Schema::of(&K::api_version(kind), &K::kind(kind)).is_some();
        let untyped = [TypeId::of::<DynamicObject>(), TypeId::of::<Lazy<DynamicObject>>()];
        let is_dynamic = untyped.contains(&TypeId::of::<K>());
        Self {
            encoding: Encoding::Auto,
            is_possible: K::metadata_api() || has_schema,
            is_lossy: is_dynamic,
            form: if K::metadata_api() { Form::Metadata } else { Form::Whole },
            is_refused: AtomicBool::new(false),
        }
    }

    pub(super) fn choose(&mut self, encoding: Encoding) {
        self.encoding = encoding;
    }

    /// What the request says it takes.
    pub(super) fn accept(&self, answer: Answer) -> String {
        let form = match (self.form, answer) {
            (Form::Whole, Answer::List | Answer::Object) => "",
            (Form::Metadata, Answer::List) => ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            (Form::Metadata, Answer::Object) => ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        };
        match self.encoding {
            Encoding::Protobuf => format!("{PROTOBUF}{form}"),
            _ if self.is_offered() && !self.is_refused.load(Ordering::Relaxed) => {
                format!("{PROTOBUF}{form},{JSON}{form}")
            }
            Encoding::Auto | Encoding::PreferProtobuf | Encoding::Json => format!("{JSON}{form}"),
        }
    }

    /// Whether protobuf is worth a try where it is not asked for alone.
    fn is_offered(&self) -> bool {
        match self.encoding {
            Encoding::Auto => self.is_possible && !self.is_lossy,
            Encoding::PreferProtobuf => self.is_possible,
            Encoding::Json | Encoding::Protobuf => false,
        }
    }

    /// Whether a request is worth another try, without protobuf, after the server had nothing that it would take.
    pub(super) fn refused(&self) -> bool {
        self.is_offered() && !self.is_refused.swap(true, Ordering::Relaxed)
    }
}

impl LastEncoded {
    pub(super) fn set(&self, encoded: Encoded) {
        let mark = match encoded {
            Encoded::Json => 1,
            Encoded::Protobuf => 2,
        };
        self.0.store(mark, Ordering::Relaxed);
    }

    /// Nothing before the first answer.
    pub(super) fn get(&self) -> Option<Encoded> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(Encoded::Json),
            _ => Some(Encoded::Protobuf),
        }
    }
}

impl Encoded {
    /// What the headers of an answer say; JSON if they say nothing.
    pub(super) fn from_headers(headers: &HeaderMap) -> Self {
        let header = headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media = header.and_then(|value| value.split(';').next()).unwrap_or_default();
        if media.trim().eq_ignore_ascii_case(PROTOBUF) { Self::Protobuf } else { Self::Json }
    }

    pub(super) fn items(self, limit: usize) -> Items {
        match self {
            Self::Json => Items::json_within(limit),
            Self::Protobuf => Items::protobuf_within(limit),
        }
    }

    pub(super) fn frames(self, limit: usize) -> Frames {
        match self {
            Self::Json => Frames::json_within(limit),
            Self::Protobuf => Frames::protobuf_within(limit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::Pod;
    use kube_core::{ApiResource, PartialObjectMeta};

    const PARTIAL: &str = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

    fn pods(encoding: Encoding) -> Negotiation {
        let mut negotiation = Negotiation::of::<Pod>(&());
        negotiation.choose(encoding);
        negotiation
    }

    #[test]
    fn protobuf_comes_before_json_for_kinds_of_kubernetes() {
        assert_eq!(pods(Encoding::Auto).accept(Answer::List), format!("{PROTOBUF},{JSON}"));
        assert_eq!(pods(Encoding::Json).accept(Answer::List), JSON);
        assert_eq!(pods(Encoding::Protobuf).accept(Answer::Object), PROTOBUF);
    }

    #[test]
    fn what_may_be_lost_in_protobuf_comes_in_json() {
        let mut pods = Negotiation::of::<DynamicObject>(&ApiResource::erase::<Pod>(&()));
        assert_eq!(pods.accept(Answer::Object), JSON);
        pods.choose(Encoding::PreferProtobuf);
        assert_eq!(pods.accept(Answer::Object), format!("{PROTOBUF},{JSON}"));
        assert!(pods.refused());
        assert_eq!(pods.accept(Answer::Object), JSON);
        let mut pod = ApiResource::erase::<Pod>(&());
        pod.kind = "Widget".into();
        let mut widgets = Negotiation::of::<DynamicObject>(&pod);
        widgets.choose(Encoding::PreferProtobuf);
        assert_eq!(widgets.accept(Answer::Object), JSON, "there is none");
        let lazy = Negotiation::of::<Lazy<DynamicObject>>(&ApiResource::erase::<Pod>(&()));
        assert_eq!(lazy.accept(Answer::Object), JSON);
        assert_eq!(Negotiation::of::<Lazy<Pod>>(&()).accept(Answer::Object), format!("{PROTOBUF},{JSON}"));
    }

    #[test]
    fn metadata_comes_in_protobuf_whatever_the_kind() {
        let metadata = Negotiation::of::<PartialObjectMeta<Pod>>(&());
        assert_eq!(metadata.accept(Answer::Object), format!("{PROTOBUF}{PARTIAL},{JSON}{PARTIAL}"));
        let lazy = Negotiation::of::<Lazy<PartialObjectMeta<Pod>>>(&());
        assert_eq!(lazy.accept(Answer::Object), format!("{PROTOBUF}{PARTIAL},{JSON}{PARTIAL}"));
    }

    #[test]
    fn a_server_that_refuses_protobuf_is_asked_for_json_from_then_on() {
        let auto = pods(Encoding::Auto);
        assert!(auto.refused());
        assert_eq!(auto.accept(Answer::List), JSON);
        assert!(!auto.refused());
        assert!(!pods(Encoding::Protobuf).refused() && !pods(Encoding::Json).refused());
    }

    #[test]
    fn the_last_answer_is_remembered() {
        let last = LastEncoded::default();
        assert_eq!(last.get(), None);
        for encoded in [Encoded::Protobuf, Encoded::Json] {
            last.set(encoded);
            assert_eq!(last.get(), Some(encoded));
        }
    }

    #[test]
    fn the_answer_says_what_it_is_encoded_in() {
        for (header, encoded) in [
            (None, Encoded::Json),
            (Some("application/json;stream=watch"), Encoded::Json),
            (Some("application/vnd.kubernetes.protobuf"), Encoded::Protobuf),
            (Some("Application/Vnd.Kubernetes.Protobuf;stream=watch"), Encoded::Protobuf),
            (Some("application/vnd.kubernetes.protobuffer"), Encoded::Json),
        ] {
            let headers = header.map(|value| (http::header::CONTENT_TYPE, value.parse().unwrap()));
            assert_eq!(Encoded::from_headers(&headers.into_iter().collect()), encoded, "{header:?}");
        }
    }
}
