//! Generates the `managedFields` of an object.

use serde_json::{Map, Value, json};

/// The two managers of an object: that of its metadata and spec, and that of its status.
#[derive(Clone, Copy, Debug)]
pub(super) struct Managers {
    pub(super) spec: &'static str,
    pub(super) status: &'static str,
}

/// Writes `managedFields` into an object.
pub(super) fn write(object: &mut Value, managers: Managers) {
    let entry = |manager: &str, fields: Value| {
        json!({
            "manager": manager,
            "operation": "Update",
            "apiVersion": object["apiVersion"],
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        })
    };
    let kept = ["annotations", "finalizers", "generateName", "labels", "ownerReferences"];
    let of_spec = json!({
        "f:metadata": tree_of(&object["metadata"], |name| kept.contains(&name)),
        // Other components set these fields.
        "f:spec": tree_of(&object["spec"], |name| name != "nodeName" && name != "tolerations"),
    });
    let of_status = json!({"f:status": tree_of(&object["status"], |name| name != "qosClass")});
    let mut first = entry(managers.spec, of_spec);
    let mut second = entry(managers.status, of_status);
    first["time"] = "${created}".into();
    second["time"] = "${ready}".into();
    second["subresource"] = "status".into();
    object["metadata"]["managedFields"] = json!([first, second]);
}

fn tree_of(object: &Value, is_kept: impl Fn(&str) -> bool) -> Value {
    let fields = object.as_object().into_iter().flatten().filter(|(name, _)| is_kept(name));
    fields.map(|(name, value)| (format!("f:{name}"), tree(name, value))).collect::<Map<_, _>>().into()
}

/// Returns the tree of the fields below a field of this name.
fn tree(name: &str, value: &Value) -> Value {
    match value {
        Value::Object(fields) if !fields.is_empty() && !is_atomic(name) => {
            let mut tree = tree_of(value, |_| true);
            tree["."] = json!({});
            tree
        }
        Value::Array(items) if !keys(name).is_empty() => {
            let items = items.iter().filter(|item| !is_projected(item));
            let mut tree: Map<_, _> = items.map(|item| item_tree(name, item)).collect();
            tree.insert(".".to_owned(), json!({}));
            tree.into()
        }
        _ => json!({}),
    }
}

/// Returns the key of a list item, and the tree of its fields.
fn item_tree(name: &str, item: &Value) -> (String, Value) {
    let Value::Object(fields) = item else {
        // A slot for items has a corresponding slot for the trees of these items.
        let slot = item.as_str().and_then(|text| text.strip_suffix("*}")).unwrap_or_default();
        return (format!("{slot}_fields*}}"), json!({}));
    };
    let identity: Map<_, _> =
        keys(name).iter().filter_map(|key| Some(((*key).to_owned(), fields.get(*key)?.clone()))).collect();
    let mut tree = tree_of(item, |_| true);
    tree["."] = json!({});
    (format!("k:{}", Value::Object(identity)), if name == "ownerReferences" { json!({}) } else { tree })
}

/// Returns true if the item is a volume that the server adds to a pod.
fn is_projected(item: &Value) -> bool {
    item["name"].as_str().is_some_and(|name| name.starts_with("kube-api-access"))
}

fn is_atomic(name: &str) -> bool {
    matches!(
        name,
        "labelSelector" | "nodeSelector" | "secretKeyRef" | "fieldRef" | "resourceFieldRef" | "configMapRef"
    )
}

/// Returns the key fields of the items of a list; empty if the list is atomic.
fn keys(name: &str) -> &'static [&'static str] {
    match name {
        "containers" | "initContainers" | "volumes" | "env" | "imagePullSecrets" => &["name"],
        "volumeMounts" => &["mountPath"],
        "ports" => &["containerPort", "protocol"],
        "ownerReferences" => &["uid"],
        "conditions" => &["type"],
        "hostIPs" | "podIPs" => &["ip"],
        "topologySpreadConstraints" => &["topologyKey", "whenUnsatisfiable"],
        _ => &[],
    }
}
