//! Config maps and secrets.

use crate::validation::field::{Errors, Field};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The maximum total size of the values in bytes.
const LARGEST: usize = 1 << 20;

/// Checks a config map.
pub(super) fn check_config_map(e: &mut Errors, object: &Field<'_, '_>) {
    let (data, binary) = (object.get("data"), object.get("binaryData"));
    let mut size = 0;
    for (key, value) in data.entries() {
        e.config_key(&value, key);
        if binary.key(key).is_set() {
            e.invalid(&value, "duplicate of key present in binaryData");
        }
        size += value.len();
    }
    for (key, value) in binary.entries() {
        e.config_key(&value, key);
        size += decoded_length(value.text());
    }
    if size > LARGEST {
        e.too_long(object, LARGEST);
    }
}

fn decoded_length(text: &str) -> usize {
    let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
    (text.len() / 4 * 3).saturating_sub(padding)
}

/// Checks a secret.
pub(super) fn check_secret(e: &mut Errors, object: &Field<'_, '_>) {
    let data = object.get("data");
    let mut size = 0;
    for (key, value) in data.entries() {
        e.config_key(&value, key);
        size += decoded_length(value.text());
    }
    if size > LARGEST {
        e.too_long(&data, LARGEST);
    }
    let require = |e: &mut Errors, key: &'static str| {
        if !data.key(key).is_set() {
            e.required(&data.key(key), "");
        }
    };
    match object.get("type").text() {
        "kubernetes.io/service-account-token" => {
            let metadata = object.get("metadata");
            let annotations = metadata.get("annotations");
            e.present(&annotations.key("kubernetes.io/service-account.name"));
        }
        "kubernetes.io/dockercfg" => check_json(e, &data.key(".dockercfg")),
        "kubernetes.io/dockerconfigjson" => check_json(e, &data.key(".dockerconfigjson")),
        "kubernetes.io/basic-auth" if !data.key("username").is_set() && !data.key("password").is_set() => {
            require(e, "username");
            require(e, "password");
        }
        "kubernetes.io/ssh-auth" => drop(e.present(&data.key("ssh-privatekey"))),
        "kubernetes.io/tls" => {
            require(e, "tls.crt");
            require(e, "tls.key");
        }
        _ => {}
    }
}

/// Requires an object in JSON, encoded in base64.
fn check_json(e: &mut Errors, field: &Field<'_, '_>) {
    if !field.is_set() {
        return e.required(field, "");
    }
    let decoded = STANDARD.decode(field.text()).unwrap_or_default();
    let parsed = serde_json::from_slice::<serde_json::Value>(&decoded);
    if !parsed.is_ok_and(|value| value.is_object() || value.is_null()) {
        e.push(crate::invalid::FieldError::invalid(
            &field.to_string(),
            &"<secret contents redacted>".into(),
            "must be an object in JSON",
        ));
    }
}
