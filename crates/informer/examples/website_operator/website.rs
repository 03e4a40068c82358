//! The custom resource: a website with a page and a number of replicas.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The specification of a website. The macro generates the type `Website` and its custom resource definition.
#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, Serialize)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Website",
    namespaced,
    status = "WebsiteStatus",
    shortname = "ws",
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type=='Ready')].status"}"#
)]
pub(crate) struct WebsiteSpec {
    /// The text of the page.
    pub(crate) page: String,
    /// The number of pods.
    #[schemars(range(min = 0))]
    pub(crate) replicas: i32,
}

/// The observed state of a website.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WebsiteStatus {
    /// The number of pods that are ready.
    #[serde(default)]
    pub(crate) ready_replicas: i32,
    /// The conditions, such as `Ready`.
    #[serde(default)]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub(crate) conditions: Vec<Condition>,
}

impl WebsiteSpec {
    pub(crate) fn new(page: &str, replicas: i32) -> Self {
        Self { page: page.into(), replicas }
    }
}
