//! The encoding of requests to a server and of its responses.

use super::list_watch::Typing;
use http::HeaderMap;
use kube_core::Resource;
use kube_informer_wire::{Frames, Items, Schema};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// The encoding of objects that is requested from the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// Protobuf for built-in kinds and for metadata, JSON for everything else. A server that responds in JSON nevertheless is
    /// supported.
    ///
    /// A `DynamicObject` is requested in JSON: in protobuf, a field that is newer than this crate has no name and would be lost.
    #[default]
    Auto,
    /// As [`Auto`](Self::Auto), and protobuf for untyped objects of built-in kinds too. Use it if the server is not newer than
    /// [`KUBERNETES_MINOR`](kube_informer_wire::KUBERNETES_MINOR).
    PreferProtobuf,
    /// JSON.
    Json,
    /// Protobuf only. The server refuses requests for custom resources, which have no protobuf.
    Protobuf,
}

/// The content types that the requests for one resource accept.
#[derive(Debug)]
pub(super) struct Negotiation {
    encoding: Encoding,
    has_protobuf: bool,
    /// Whether protobuf may lose fields of the objects.
    is_lossy: bool,
    parts: Parts,
    /// Whether the server has refused protobuf.
    is_refused: AtomicBool,
}

/// The parts of the objects that are requested.
#[derive(Clone, Copy, Debug)]
enum Parts {
    All,
    Metadata,
}

/// The content of a response.
#[derive(Clone, Copy, Debug)]
pub(super) enum ResponseKind {
    List,
    Object,
}

/// The encoding of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentType {
    /// JSON.
    Json,
    /// Protobuf.
    Protobuf,
}

/// The encoding of the last response.
#[derive(Debug, Default)]
pub(super) struct LastContentType(AtomicU8);

const JSON: &str = "application/json";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

impl Negotiation {
    pub(super) fn new<K: Resource>(kind: &K::DynamicType, typing: Typing) -> Self {
        let has_schema = Schema::of(&K::api_version(kind), &K::kind(kind)).is_some();
        Self {
            encoding: Encoding::Auto,
            has_protobuf: K::metadata_api() || has_schema,
            is_lossy: typing == Typing::Untyped,
            parts: if K::metadata_api() { Parts::Metadata } else { Parts::All },
            is_refused: AtomicBool::new(false),
        }
    }

    pub(super) fn set_encoding(&mut self, encoding: Encoding) {
        self.encoding = encoding;
    }

    /// Returns the `Accept` header of a request.
    pub(super) fn accept(&self, response: ResponseKind) -> String {
        let parts = match (self.parts, response) {
            (Parts::All, ResponseKind::List | ResponseKind::Object) => "",
            (Parts::Metadata, ResponseKind::List) => ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            (Parts::Metadata, ResponseKind::Object) => ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        };
        match self.encoding {
            Encoding::Protobuf => format!("{PROTOBUF}{parts}"),
            _ if self.prefers_protobuf() && !self.is_refused.load(Ordering::Relaxed) => {
                format!("{PROTOBUF}{parts},{JSON}{parts}")
            }
            Encoding::Auto | Encoding::PreferProtobuf | Encoding::Json => format!("{JSON}{parts}"),
        }
    }

    /// Returns true if protobuf is accepted next to JSON.
    fn prefers_protobuf(&self) -> bool {
        match self.encoding {
            Encoding::Auto => self.has_protobuf && !self.is_lossy,
            Encoding::PreferProtobuf => self.has_protobuf,
            Encoding::Json | Encoding::Protobuf => false,
        }
    }

    /// Records that the server refused the content types of a request. Returns true if it can be sent again without protobuf.
    pub(super) fn refused(&self) -> bool {
        self.prefers_protobuf() && !self.is_refused.swap(true, Ordering::Relaxed)
    }
}

impl LastContentType {
    pub(super) fn set(&self, content_type: ContentType) {
        let value = match content_type {
            ContentType::Json => 1,
            ContentType::Protobuf => 2,
        };
        self.0.store(value, Ordering::Relaxed);
    }

    /// `None` before the first response.
    pub(super) fn get(&self) -> Option<ContentType> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(ContentType::Json),
            _ => Some(ContentType::Protobuf),
        }
    }
}

impl ContentType {
    /// Reads the headers of a response. The default is JSON.
    pub(super) fn from_headers(headers: &HeaderMap) -> Self {
        let header = headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = header.and_then(|value| value.split(';').next()).unwrap_or_default();
        if media_type.trim().eq_ignore_ascii_case(PROTOBUF) { Self::Protobuf } else { Self::Json }
    }

    pub(super) fn items(self, limit: usize) -> Items {
        match self {
            Self::Json => Items::json_with_limit(limit),
            Self::Protobuf => Items::protobuf_with_limit(limit),
        }
    }

    pub(super) fn frames(self, limit: usize) -> Frames {
        match self {
            Self::Json => Frames::json_with_limit(limit),
            Self::Protobuf => Frames::protobuf_with_limit(limit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::Pod;
    use kube_core::{ApiResource, DynamicObject, PartialObjectMeta};
    use kube_informer_wire::Lazy;

    const PARTIAL: &str = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

    fn typed<K: Resource>(kind: &K::DynamicType) -> Negotiation {
        Negotiation::new::<K>(kind, Typing::Typed)
    }

    fn untyped<K: Resource>(kind: &K::DynamicType) -> Negotiation {
        Negotiation::new::<K>(kind, Typing::Untyped)
    }

    fn pods(encoding: Encoding) -> Negotiation {
        let mut negotiation = typed::<Pod>(&());
        negotiation.set_encoding(encoding);
        negotiation
    }

    #[test]
    fn protobuf_is_preferred_for_built_in_kinds() {
        assert_eq!(pods(Encoding::Auto).accept(ResponseKind::List), format!("{PROTOBUF},{JSON}"));
        assert_eq!(pods(Encoding::Json).accept(ResponseKind::List), JSON);
        assert_eq!(pods(Encoding::Protobuf).accept(ResponseKind::Object), PROTOBUF);
    }

    #[test]
    fn untyped_objects_are_requested_in_json() {
        let mut pods = untyped::<DynamicObject>(&ApiResource::erase::<Pod>(&()));
        assert_eq!(pods.accept(ResponseKind::Object), JSON);
        pods.set_encoding(Encoding::PreferProtobuf);
        assert_eq!(pods.accept(ResponseKind::Object), format!("{PROTOBUF},{JSON}"));
        assert!(pods.refused());
        assert_eq!(pods.accept(ResponseKind::Object), JSON);
        let mut pod = ApiResource::erase::<Pod>(&());
        pod.kind = "Widget".into();
        let mut widgets = untyped::<DynamicObject>(&pod);
        widgets.set_encoding(Encoding::PreferProtobuf);
        assert_eq!(widgets.accept(ResponseKind::Object), JSON, "custom resources have no protobuf");
        let lazy = untyped::<Lazy<DynamicObject>>(&ApiResource::erase::<Pod>(&()));
        assert_eq!(lazy.accept(ResponseKind::Object), JSON);
        assert_eq!(typed::<Lazy<Pod>>(&()).accept(ResponseKind::Object), format!("{PROTOBUF},{JSON}"));
    }

    #[test]
    fn metadata_of_every_kind_is_requested_in_protobuf() {
        let metadata = typed::<PartialObjectMeta<Pod>>(&());
        assert_eq!(metadata.accept(ResponseKind::Object), format!("{PROTOBUF}{PARTIAL},{JSON}{PARTIAL}"));
        let lazy = typed::<Lazy<PartialObjectMeta<Pod>>>(&());
        assert_eq!(lazy.accept(ResponseKind::Object), format!("{PROTOBUF}{PARTIAL},{JSON}{PARTIAL}"));
    }

    #[test]
    fn json_is_requested_after_the_server_refused_protobuf() {
        let auto = pods(Encoding::Auto);
        assert!(auto.refused());
        assert_eq!(auto.accept(ResponseKind::List), JSON);
        assert!(!auto.refused());
        assert!(!pods(Encoding::Protobuf).refused() && !pods(Encoding::Json).refused());
    }

    #[test]
    fn the_content_type_of_the_last_response_is_recorded() {
        let last = LastContentType::default();
        assert_eq!(last.get(), None);
        for content_type in [ContentType::Protobuf, ContentType::Json] {
            last.set(content_type);
            assert_eq!(last.get(), Some(content_type));
        }
    }

    #[test]
    fn the_content_type_is_read_from_the_headers() {
        for (header, content_type) in [
            (None, ContentType::Json),
            (Some("application/json;stream=watch"), ContentType::Json),
            (Some("application/vnd.kubernetes.protobuf"), ContentType::Protobuf),
            (Some("Application/Vnd.Kubernetes.Protobuf;stream=watch"), ContentType::Protobuf),
            (Some("application/vnd.kubernetes.protobuffer"), ContentType::Json),
        ] {
            let headers = header.map(|value| (http::header::CONTENT_TYPE, value.parse().unwrap()));
            assert_eq!(ContentType::from_headers(&headers.into_iter().collect()), content_type, "{header:?}");
        }
    }
}
