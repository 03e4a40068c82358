//! An object as the benchmarks look at it, of whatever kind it is.

use k8s_openapi::{api::core::v1::Pod, apimachinery::pkg::apis::meta::v1::ObjectMeta};

/// An object that is counted, hashed and timed.
pub trait Subject {
    /// Its metadata.
    fn metadata(&self) -> &ObjectMeta;
    /// A field that stands deep in it: `status.podIP` of a pod, `status.endpoint` of a widget.
    fn deep(&self) -> &str;
}

impl Subject for Pod {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn deep(&self) -> &str {
        self.status.as_ref().and_then(|status| status.pod_ip.as_deref()).unwrap_or_default()
    }
}

impl<S: Subject + ?Sized> Subject for &S {
    fn metadata(&self) -> &ObjectMeta {
        (**self).metadata()
    }

    fn deep(&self) -> &str {
        (**self).deep()
    }
}

/// The group, version, kind and plural name of the custom resource.
pub const WIDGETS: [&str; 4] = ["example.kube-informer.dev", "v1", "Widget", "widgets"];

/// Where the deep field of a widget stands.
pub const WIDGET_DEEP: &str = "/status/endpoint";
