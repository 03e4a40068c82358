//! The custom resource: a website with a page and a number of replicas.

use k8s_openapi::{
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta},
};
use kube::core::{NamespaceResourceScope, Resource, TypeMeta};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::borrow::Cow;

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Website {
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub(crate) types: Option<TypeMeta>,
    #[serde(default)]
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: WebsiteSpec,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<WebsiteStatus>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct WebsiteSpec {
    /// The text of the page.
    pub(crate) page: String,
    pub(crate) replicas: i32,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WebsiteStatus {
    #[serde(default)]
    pub(crate) ready_replicas: i32,
    #[serde(default)]
    pub(crate) conditions: Vec<Condition>,
}

/// With kube's `derive` feature, `#[derive(CustomResource)]` writes this.
impl Resource for Website {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        "Website".into()
    }

    fn group((): &()) -> Cow<'_, str> {
        "example.com".into()
    }

    fn version((): &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        "websites".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl Website {
    pub(crate) fn new(name: &str, page: &str, replicas: i32) -> Self {
        Self {
            types: Some(TypeMeta { api_version: "example.com/v1".into(), kind: "Website".into() }),
            metadata: ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() },
            spec: WebsiteSpec { page: page.into(), replicas },
            status: None,
        }
    }

    /// Returns the custom resource definition, with a status subresource.
    pub(crate) fn definition() -> Result<CustomResourceDefinition, serde_json::Error> {
        serde_json::from_value(json!({
            "metadata": { "name": "websites.example.com" },
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": { "plural": "websites", "singular": "website", "kind": "Website" },
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "subresources": { "status": {} },
                    "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
                }],
            },
        }))
    }
}
