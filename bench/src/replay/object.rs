//! One object, encoded in both ways before anyone asks for it.

use super::{
    form::Form,
    slots::{self, Slots},
};
use kube_informer_bench_client::{hash::Hash, options::Encoding, seen};
use serde_json::{Value, json};

/// An object in one encoding.
#[derive(Debug)]
pub(super) struct Encoded {
    bytes: Box<[u8]>,
    slots: Slots,
}

/// An object in the encodings that are served.
#[derive(Debug)]
pub(super) struct Object {
    json: Option<Encoded>,
    protobuf: Option<Encoded>,
    identity: [String; 3],
    address: String,
}

impl Object {
    /// Encodes an object in these ways.
    pub(super) fn new(mut object: Value, form: &Form, encodings: &[Encoding]) -> Result<Self, String> {
        object["metadata"]["resourceVersion"] = slots::VERSION.into();
        if !object["metadata"]["annotations"].is_object() {
            object["metadata"]["annotations"] = json!({});
        }
        object["metadata"]["annotations"][seen::SENT] = slots::SENT.into();
        let (mut json, mut protobuf) = (None, None);
        for encoding in encodings {
            match encoding {
                Encoding::Json => json = Some(Encoded::new(text(object.clone(), form)?.into_bytes())?),
                Encoding::Protobuf => {
                    let schema = form.schema.ok_or("these objects have no protobuf")?;
                    let bytes = schema.encode(&object).map_err(|error| error.to_string())?;
                    protobuf = Some(Encoded::new(bytes)?);
                }
            }
        }
        let word = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(Self {
            json,
            protobuf,
            identity: ["/metadata/namespace", "/metadata/name", "/metadata/uid"].map(word),
            address: word(form.deep),
        })
    }

    pub(super) fn encoded(&self, encoding: Encoding) -> Option<&Encoded> {
        match encoding {
            Encoding::Json => self.json.as_ref(),
            Encoding::Protobuf => self.protobuf.as_ref(),
        }
    }

    /// Adds what clients should see of it.
    pub(super) fn hash(&self, version: u64, hash: &mut Hash) {
        let [namespace, name, uid] = &self.identity;
        let version = format!("{version:010}");
        hash.add_parts(&[namespace, name, uid, &version], &[namespace, name, &self.address]);
    }
}

impl Encoded {
    fn new(bytes: Vec<u8>) -> Result<Self, String> {
        let slots = Slots::find(&bytes).ok_or("an object of the corpus holds the digits of a slot")?;
        Ok(Self { bytes: bytes.into(), slots })
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Appends the object as it is at this version.
    pub(super) fn write(&self, version: u64, sent: u64, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend_from_slice(&self.bytes);
        self.slots.fill(&mut out[begin..], version, sent);
    }
}

/// The JSON of an object, with its types first.
fn text(mut object: Value, form: &Form) -> Result<String, String> {
    object.sort_all_objects();
    let text = object.to_string();
    if text.starts_with(&form.types()) {
        Ok(text)
    } else {
        Err("an object is not what it should be".to_owned())
    }
}
