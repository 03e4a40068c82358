//! One object, encoded in advance.

use super::{
    placeholders::{self, Placeholders},
    resource::Resource,
};
use kube_informer_bench_client::{fingerprint::Fingerprint, options::Encoding, recorder};
use serde_json::{Value, json};

/// The bytes of an object in one encoding.
#[derive(Debug)]
pub(super) struct EncodedBytes {
    bytes: Box<[u8]>,
    placeholders: Placeholders,
}

/// An object in the served encodings.
#[derive(Debug)]
pub(super) struct EncodedObject {
    json: Option<EncodedBytes>,
    protobuf: Option<EncodedBytes>,
    /// Namespace, name and uid.
    identity: [String; 3],
    nested: String,
}

impl EncodedObject {
    pub(super) fn new(
        mut object: Value,
        resource: &Resource,
        encodings: &[Encoding],
    ) -> Result<Self, String> {
        object["metadata"]["resourceVersion"] = placeholders::VERSION.into();
        if !object["metadata"]["annotations"].is_object() {
            object["metadata"]["annotations"] = json!({});
        }
        object["metadata"]["annotations"][recorder::SENT] = placeholders::SENT.into();
        let (mut json, mut protobuf) = (None, None);
        for encoding in encodings {
            match encoding {
                Encoding::Json => {
                    json = Some(EncodedBytes::new(json_text(object.clone(), resource)?.into_bytes())?);
                }
                Encoding::Protobuf => {
                    let schema = resource.schema.ok_or("the resource has no protobuf encoding")?;
                    let bytes = schema.encode(&object).map_err(|error| error.to_string())?;
                    protobuf = Some(EncodedBytes::new(bytes)?);
                }
            }
        }
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(Self {
            json,
            protobuf,
            identity: ["/metadata/namespace", "/metadata/name", "/metadata/uid"].map(text),
            nested: text(resource.nested_field),
        })
    }

    pub(super) fn bytes(&self, encoding: Encoding) -> Option<&EncodedBytes> {
        match encoding {
            Encoding::Json => self.json.as_ref(),
            Encoding::Protobuf => self.protobuf.as_ref(),
        }
    }

    /// Adds the object with this version to a fingerprint.
    pub(super) fn add_to(&self, fingerprint: &mut Fingerprint, version: u64) {
        let [namespace, name, uid] = &self.identity;
        let version = format!("{version:010}");
        fingerprint.add_parts(&[namespace, name, uid, &version], &[namespace, name, &self.nested]);
    }
}

impl EncodedBytes {
    fn new(bytes: Vec<u8>) -> Result<Self, String> {
        let placeholders =
            Placeholders::find(&bytes).ok_or("an object contains the digits of a placeholder")?;
        Ok(Self { bytes: bytes.into(), placeholders })
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Appends the object with this version and time.
    pub(super) fn write(&self, version: u64, sent: u64, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        self.placeholders.fill(&mut out[start..], version, sent);
    }
}

/// Returns the JSON of an object with `apiVersion` and `kind` first.
fn json_text(mut object: Value, resource: &Resource) -> Result<String, String> {
    object.sort_all_objects();
    let text = object.to_string();
    if text.starts_with(&resource.type_prefix()) {
        Ok(text)
    } else {
        Err("an object does not start with apiVersion and kind".to_owned())
    }
}
