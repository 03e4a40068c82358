//! Tests of transforms and encoded storage.

use super::{Ingest, RejectedError};
use crate::object::{Decoder, RawObject, Storage};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_informer_wire::{Format, ManagedFields, Raw};
use serde::Deserialize;
use std::collections::BTreeMap;

const STORAGES: [Storage; 2] = [Storage::Encoded, Storage::Compressed];

/// Decodes config maps, and rejects those without `data`, like a type with a required field.
fn decoder() -> Decoder<ConfigMap> {
    #[derive(Deserialize)]
    struct Required {
        #[serde(rename = "data")]
        _data: BTreeMap<String, String>,
    }
    Decoder::new(|raw: &Raw| {
        raw.decode::<Required>(ManagedFields::Keep)?;
        Ok(raw.decode(ManagedFields::Keep)?)
    })
}

fn map() -> RawObject<ConfigMap> {
    let json = r#"{"metadata":{"name":"a","uid":"u","resourceVersion":"7"},"data":{"k":"v"}}"#;
    RawObject::encoded(Raw::new(Format::Json, json.into()), decoder())
}

#[test]
fn a_transformed_object_that_cannot_be_decoded_again_is_rejected() {
    for storage in STORAGES {
        let ingest = Ingest::new().storage(storage).transform(|map| Ok(ConfigMap { data: None, ..map }));
        let rejected = [
            ingest.watched(map()).map(drop).unwrap_err(),
            ingest.listed(vec![map()]).remove(0).map(drop).unwrap_err(),
        ];
        for error in rejected {
            assert!(matches!(&error, RejectedError::Transform { key, .. } if key.as_str() == "a"), "{error}");
        }
    }
}

#[test]
fn a_transformed_object_is_stored_and_read_as_the_transform_returned_it() {
    for storage in STORAGES {
        let ingest = Ingest::new().storage(storage).transform(|mut map: ConfigMap| {
            map.data.get_or_insert_default().insert("added".into(), "1".into());
            Ok(map)
        });
        let (_, object) = ingest.watched(map()).unwrap();
        let stored = object.to_stored().object();
        assert_eq!(*stored, *object.get(), "{storage:?}");
        assert_eq!(stored.data.as_ref().unwrap().len(), 2, "{storage:?}");
    }
}
