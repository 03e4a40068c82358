//! Parses the header `Accept`.

use crate::verb::{Depth, Encoding, ErrorResponse, Representation};

/// The representation and encoding that a client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    /// The representation of objects.
    pub(crate) form: Representation,
    /// The encoding.
    pub(crate) encoding: Encoding,
    /// The form of discovery documents.
    pub(crate) depth: Depth,
}

/// The representations that are available in protobuf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    /// No encoding is accepted.
    Json,
    /// Metadata only.
    Metadata,
    /// Objects and metadata.
    Objects,
}

const JSON: Accepted = Accepted { form: Representation::Whole, encoding: Encoding::Json, depth: Depth::One };

/// Parses an `Accept` header, and returns the best supported type.
pub(crate) fn accept(header: &str, offer: Offer) -> Result<Accepted, ErrorResponse> {
    if header.trim().is_empty() {
        return Ok(JSON);
    }
    let mut clauses: Vec<_> = header.split(',').filter_map(Clause::parse).collect();
    // Stable, so that the client's order decides among equals.
    clauses.sort_by_key(|clause| std::cmp::Reverse(clause.quality));
    let mut usable = clauses.into_iter().filter(|clause| clause.quality > 0);
    usable.find_map(|clause| clause.accepted(offer)).ok_or_else(|| {
        let message = "only the following media types are accepted: application/json";
        ErrorResponse::new(406, kube_core::response::reason::NOT_ACCEPTABLE, message)
    })
}

/// One media type of a header.
#[derive(Default)]
struct Clause<'a> {
    media: &'a str,
    /// In thousandths.
    quality: u16,
    target: &'a str,
    group: &'a str,
    version: &'a str,
}

impl<'a> Clause<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let mut clause = Self { media: parts.next()?, quality: 1000, ..Self::default() };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            match (name.trim(), value.trim().trim_matches('"')) {
                ("as", value) => clause.target = value,
                ("g", value) => clause.group = value,
                ("v", value) => clause.version = value,
                ("q", value) => clause.quality = (value.parse::<f32>().ok()?.clamp(0.0, 1.0) * 1000.0) as u16,
                _ => {}
            }
        }
        Some(clause)
    }

    fn accepted(&self, offer: Offer) -> Option<Accepted> {
        let is_any = |medias: &[&str]| medias.iter().any(|media| self.media.eq_ignore_ascii_case(media));
        let encoding = match is_any(&["application/vnd.kubernetes.protobuf"]) {
            true => Encoding::Protobuf,
            false if is_any(&["application/json", "application/*", "*/*"]) => Encoding::Json,
            false => return None,
        };
        let whole = Accepted { encoding, ..JSON };
        let accepted = match (self.target, self.group, self.version) {
            ("", ..) => whole,
            ("Table", "meta.k8s.io", "v1") => Accepted { form: Representation::Table, ..whole },
            ("PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io", "v1") => {
                Accepted { form: Representation::Metadata, ..whole }
            }
            ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2") => {
                Accepted { depth: Depth::Aggregated, ..whole }
            }
            _ => return None,
        };
        let is_offered = match (encoding, accepted.form, accepted.depth) {
            (Encoding::Json, ..) => true,
            (Encoding::Protobuf, Representation::Whole, Depth::One) => offer == Offer::Objects,
            (Encoding::Protobuf, Representation::Metadata, Depth::One) => offer != Offer::Json,
            (Encoding::Protobuf, ..) => false,
        };
        is_offered.then_some(accepted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_can_be_written_counts() {
        let table = [
            ("", Some((Representation::Whole, Depth::One))),
            ("*/*", Some((Representation::Whole, Depth::One))),
            (
                "application/vnd.kubernetes.protobuf, application/json",
                Some((Representation::Whole, Depth::One)),
            ),
            ("application/vnd.kubernetes.protobuf", None),
            ("application/json;q=0", None),
            ("text/html;q=1, application/json;q=0.1", Some((Representation::Whole, Depth::One))),
            (
                "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
                Some((Representation::Table, Depth::One)),
            ),
            (
                "application/json;as=Table;v=v9;g=meta.k8s.io,application/json",
                Some((Representation::Whole, Depth::One)),
            ),
            (
                "application/json;q=0.5, application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
                Some((Representation::Metadata, Depth::One)),
            ),
            (
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
                Some((Representation::Whole, Depth::Aggregated)),
            ),
            ("application/json;stream=watch", Some((Representation::Whole, Depth::One))),
        ];
        for (header, expected) in table {
            let accepted = accept(header, Offer::Json).ok().map(|accepted| (accepted.form, accepted.depth));
            assert_eq!(accepted, expected, "{header}");
        }
    }

    #[test]
    fn protobuf_is_had_where_it_is_offered() {
        let partial = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
        let whole = "application/vnd.kubernetes.protobuf,application/json";
        let table = "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1,application/json";
        let protobuf = |header, offer| accept(header, offer).unwrap().encoding == Encoding::Protobuf;
        assert!(protobuf(whole, Offer::Objects) && !protobuf(whole, Offer::Metadata));
        assert!(protobuf(partial, Offer::Objects) && protobuf(partial, Offer::Metadata));
        assert!(!protobuf(partial, Offer::Json) && !protobuf(whole, Offer::Json));
        assert!(!protobuf(table, Offer::Objects));
    }
}
