//! Realistic pods.

use crate::corpus::checksum::Checksum;
use crate::corpus::managed::{self, Managers};
use crate::corpus::plan::{Plan, Shape};
use crate::corpus::template::Template;
use crate::corpus::words::NAMESPACES;
use crate::object::patch;
use crate::registry::Registry;
use serde_json::Value;

/// Pods in any number, each of which is a function of the seed and its index.
///
/// Each has about 11 KB of JSON. 72 % have one container, 10 % have an additional proxy of a service mesh, 13
/// % belong to daemon sets and 5 % to jobs. There are 40 namespaces, 12 pods per owner and 30 per node. Names
/// are unique among the first 14 million.
#[derive(Clone, Debug)]
pub struct Pods {
    seed: u64,
    plain: Template,
    sidecar: Template,
    daemon: Template,
    job: Template,
}

const MANAGERS: Managers = Managers { spec: "kube-controller-manager", status: "kubelet" };

impl Pods {
    /// Creates the pods of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let plain = parsed(include_str!("templates/plain.json"));
        let sidecar = with_sidecar(&plain, &parsed(include_str!("templates/sidecar.json")));
        Self {
            seed,
            plain: managed_template(plain),
            sidecar: managed_template(sidecar),
            daemon: managed_template(parsed(include_str!("templates/daemon.json"))),
            job: managed_template(parsed(include_str!("templates/job.json"))),
        }
    }

    /// Returns a pod as a value.
    #[must_use]
    pub fn pod(&self, index: u64) -> Value {
        serde_json::from_str(&self.json(index)).expect("the templates are JSON, and slots add no quotes")
    }

    /// Returns a pod as JSON.
    #[must_use]
    pub fn json(&self, index: u64) -> String {
        let mut out = String::with_capacity(24 << 10);
        self.write(index, &mut out);
        out
    }

    /// Appends a pod as JSON.
    pub fn write(&self, index: u64, out: &mut String) {
        let plan = Plan::new(self.seed, index);
        let template = match plan.shape() {
            Shape::Plain => &self.plain,
            Shape::Sidecar => &self.sidecar,
            Shape::Daemon => &self.daemon,
            Shape::Job => &self.job,
        };
        template.write(&plan, out);
    }

    /// Returns the namespaces of the pods.
    pub fn namespaces() -> impl Iterator<Item = &'static str> {
        NAMESPACES.into_iter()
    }

    /// Returns the checksum of the first pods, as JSON.
    #[must_use]
    pub fn checksum(&self, count: u64) -> Checksum {
        let mut sum = Checksum::new();
        let mut text = String::new();
        for index in 0..count {
            text.clear();
            self.write(index, &mut text);
            sum.add(text.as_bytes());
        }
        sum
    }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("a template of this crate is JSON")
}

fn managed_template(mut pod: Value) -> Template {
    managed::write(&mut pod, MANAGERS);
    Template::new(pod)
}

/// Applies the changes of a service mesh to a pod, as a patch.
fn with_sidecar(pod: &Value, patch: &Value) -> Value {
    let registry = Registry::new();
    let resource = registry.resource("", "v1", "pods").expect("pods are built in");
    let mut merged = patch::strategic(resource, pod, patch).expect("the templates fit each other");
    // A merge patch replaces the statuses of containers as one value.
    let statuses = "/status/containerStatuses";
    let first = pod.pointer(statuses).and_then(Value::as_array).cloned().unwrap_or_default();
    if let Some(Value::Array(merged)) = merged.pointer_mut(statuses) {
        merged.splice(0..0, first);
    }
    merged
}
