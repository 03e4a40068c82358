//! The kinds of objects that are compared, with an object of each.

use serde_json::{Value, json};

/// A kind of objects.
pub(super) struct Kind {
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) plural: &'static str,
    pub(super) kind: &'static str,
    /// Values that a client may change: the path, and values of the field.
    pub(super) fields: &'static [Field],
    /// Changes that are refused: the path, and the value.
    pub(super) refused: &'static [(&'static str, &'static str)],
}

/// A field that a client may change.
pub(super) struct Field {
    /// The path as a JSON pointer.
    pub(super) path: &'static str,
    /// The values as JSON; the last one may be `null`, which removes the field.
    pub(super) values: &'static [&'static str],
}

const fn field(path: &'static str, values: &'static [&'static str]) -> Field {
    Field { path, values }
}

const LABEL: Field = field("/metadata/labels/tier", &["\"web\"", "\"db\"", "null"]);
const OTHER_LABEL: Field = field("/metadata/labels/owner", &["\"a\"", "\"b\"", "null"]);
const ANNOTATION: Field = field("/metadata/annotations/note", &["\"first\"", "\"second\"", "null"]);
const INVALID_LABEL: (&str, &str) = ("/metadata/labels", r#"{"-bad-": "x"}"#);
const INVALID_FINALIZER: (&str, &str) = ("/metadata/finalizers", r#"["not valid/x y"]"#);
const OTHER_UID: (&str, &str) = ("/metadata/uid", r#""00000000-0000-0000-0000-000000000001""#);
const OTHER_VERSION: (&str, &str) = ("/metadata/resourceVersion", "\"1\"");
const WRONG_LABELS: (&str, &str) = ("/metadata/labels", "7");

pub(super) static KINDS: [Kind; 5] = [
    Kind {
        group: "",
        version: "v1",
        plural: "configmaps",
        kind: "ConfigMap",
        fields: &[
            LABEL,
            OTHER_LABEL,
            ANNOTATION,
            field("/data/a", &["\"1\"", "\"2\"", "null"]),
            field("/data/b", &["\"3\"", "\"4\"", "null"]),
            field("/binaryData", &[r#"{"c": "AAEC"}"#, "null"]),
        ],
        refused: &[
            INVALID_LABEL,
            INVALID_FINALIZER,
            OTHER_UID,
            OTHER_VERSION,
            WRONG_LABELS,
            ("/data", r#"{"a": 1}"#),
        ],
    },
    Kind {
        group: "",
        version: "v1",
        plural: "pods",
        kind: "Pod",
        fields: &[
            LABEL,
            OTHER_LABEL,
            ANNOTATION,
            field("/spec/containers/0/image", &["\"app:1\"", "\"app:2\""]),
            field("/spec/activeDeadlineSeconds", &["100"]),
        ],
        refused: &[INVALID_LABEL, OTHER_UID, OTHER_VERSION, WRONG_LABELS, ("/spec/containers", "\"none\"")],
    },
    Kind {
        group: "",
        version: "v1",
        plural: "services",
        kind: "Service",
        fields: &[
            LABEL,
            OTHER_LABEL,
            ANNOTATION,
            field("/spec/selector/app", &["\"a\"", "\"b\""]),
            field("/spec/ports/0/targetPort", &["8080", "\"http\""]),
            field("/spec/sessionAffinity", &["\"ClientIP\"", "\"None\""]),
        ],
        refused: &[INVALID_LABEL, OTHER_UID, OTHER_VERSION, WRONG_LABELS, ("/spec/ports", "{}")],
    },
    Kind {
        group: "apps",
        version: "v1",
        plural: "deployments",
        kind: "Deployment",
        fields: &[
            LABEL,
            OTHER_LABEL,
            ANNOTATION,
            field("/spec/replicas", &["1", "2", "3", "null"]),
            field("/spec/paused", &["true", "null"]),
            field("/spec/template/spec/containers/0/image", &["\"app:1\"", "\"app:2\""]),
            field(
                "/spec/template/spec/containers/0/env",
                &[r#"[{"name": "A", "value": "1"}]"#, r#"[{"name": "B"}]"#, "null"],
            ),
            field("/spec/strategy", &[r#"{"type": "Recreate", "rollingUpdate": null}"#, "null"]),
        ],
        refused: &[
            INVALID_LABEL,
            INVALID_FINALIZER,
            OTHER_UID,
            OTHER_VERSION,
            WRONG_LABELS,
            ("/spec/selector/matchLabels", r#"{"app": "other"}"#),
            ("/spec/replicas", "\"many\""),
        ],
    },
    Kind {
        group: "random.example.com",
        version: "v1",
        plural: "gadgets",
        kind: "Gadget",
        fields: &[
            LABEL,
            OTHER_LABEL,
            ANNOTATION,
            field("/spec/size", &["1", "2", "3"]),
            field("/spec/color", &["\"red\"", "\"blue\"", "null"]),
            field(
                "/spec/parts",
                &[r#"[{"name": "a", "count": 1}]"#, r#"[{"name": "a"}, {"name": "b"}]"#, "null"],
            ),
            field("/spec/tags", &[r#"["x", "y"]"#, r#"["y"]"#, "null"]),
            field("/spec/unknown", &["\"dropped\""]),
        ],
        refused: &[
            INVALID_LABEL,
            OTHER_UID,
            OTHER_VERSION,
            WRONG_LABELS,
            ("/spec/size", "11"),
            ("/spec/size", "\"big\""),
            ("/spec/color", "\"green\""),
            ("/spec/tags", r#"["x", "x"]"#),
            ("/spec/parts", r#"[{"name": "a"}, {"name": "a"}]"#),
        ],
    },
];

pub(super) const CUSTOM_LIST: &str = "/apis/random.example.com/v1/gadgets";

impl Kind {
    /// Returns the path of the objects in a namespace.
    pub(super) fn folder(&self, namespace: &str) -> String {
        let Self { group, version, plural, .. } = self;
        match *group {
            "" => format!("/api/{version}/namespaces/{namespace}/{plural}"),
            group => format!("/apis/{group}/{version}/namespaces/{namespace}/{plural}"),
        }
    }

    /// Returns a new object of the kind.
    pub(super) fn object(&self, name: &str) -> Value {
        let api_version = match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        };
        let containers = json!([{ "name": "app", "image": "app:0" }]);
        let mut object = match self.kind {
            "Pod" => json!({ "spec": { "containers": containers } }),
            "Service" => json!({ "spec": { "ports": [{ "name": "http", "port": 80 }] } }),
            "Deployment" => {
                let template =
                    json!({ "metadata": { "labels": { "app": "a" } }, "spec": { "containers": containers } });
                json!({ "spec": { "selector": { "matchLabels": { "app": "a" } }, "template": template } })
            }
            "Gadget" => json!({ "spec": { "size": 1 } }),
            _ => json!({}),
        };
        object["apiVersion"] = api_version.into();
        object["kind"] = self.kind.into();
        object["metadata"]["name"] = name.into();
        object
    }
}

/// Returns the definition of the custom resource.
pub(super) fn definition() -> Value {
    let part = json!({ "type": "object", "required": ["name"], "properties": {
        "name": { "type": "string" }, "count": { "type": "integer", "default": 1 },
    } });
    let spec = json!({ "type": "object", "required": ["size"], "properties": {
        "size": { "type": "integer", "minimum": 0, "maximum": 10 },
        "color": { "type": "string", "enum": ["red", "blue"] },
        "parts": { "type": "array", "items": part, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] },
        "tags": { "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set" },
    } });
    let schema = json!({ "type": "object", "properties": { "spec": spec, "status": { "type": "object", "properties": { "ready": { "type": "boolean" } } } } });
    let version = json!({ "name": "v1", "served": true, "storage": true, "subresources": { "status": {} }, "schema": { "openAPIV3Schema": schema } });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "gadgets.random.example.com" },
        "spec": {
            "group": "random.example.com", "scope": "Namespaced",
            "names": { "plural": "gadgets", "kind": "Gadget" }, "versions": [version],
        },
    })
}
