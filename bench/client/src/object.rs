//! The fields of an object that the benchmarks read.

use k8s_openapi::{api::core::v1::Pod, apimachinery::pkg::apis::meta::v1::ObjectMeta};

/// An object that is counted, hashed and timed.
pub trait BenchObject {
    /// Returns the metadata.
    fn metadata(&self) -> &ObjectMeta;
    /// Returns a nested field: `status.podIP` of a pod, `status.endpoint` of a widget.
    fn nested_field(&self) -> &str;
}

impl BenchObject for Pod {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn nested_field(&self) -> &str {
        self.status.as_ref().and_then(|status| status.pod_ip.as_deref()).unwrap_or_default()
    }
}

impl<O: BenchObject + ?Sized> BenchObject for &O {
    fn metadata(&self) -> &ObjectMeta {
        (**self).metadata()
    }

    fn nested_field(&self) -> &str {
        (**self).nested_field()
    }
}

/// The group, version, kind and plural name of the custom resource.
pub const WIDGETS: [&str; 4] = ["example.kube-informer.dev", "v1", "Widget", "widgets"];

/// The JSON pointer of the nested field of a widget.
pub const WIDGET_NESTED_FIELD: &str = "/status/endpoint";
