//! The clients that are measured.

use kube_informer_bench_client::options::Kind;

/// A program with the options of one configuration.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) name: &'static str,
    pub(crate) program: Program,
    pub(crate) kind: Kind,
    options: &'static str,
}

/// The program of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Program {
    KubeInformer,
    KubeRs,
    ClientGo,
    /// kube-apiserver and etcd.
    Cluster,
}

use Program::{ClientGo, Cluster, KubeInformer, KubeRs};

/// All clients. Without options, an informer drops managed fields, and kube-rs and client-go keep them. Tuned clients drop them too, and
/// kube-rs requests a streamed list.
///
/// Clients that are compared with each other are neighbors, because the speed of the machine changes over time.
pub(crate) const CLIENTS: &[Client] = &[
    pods("decoded, JSON", KubeInformer, "--encoding json"),
    pods("compressed, JSON", KubeInformer, "--encoding json --storage compressed"),
    pods("kube-rs", KubeRs, "--encoding json --strategy list --managed-fields keep"),
    pods("kube-rs, tuned", KubeRs, "--encoding json --strategy stream --managed-fields drop"),
    pods("client-go, JSON", ClientGo, "--encoding json --managed-fields keep"),
    pods("decoded", KubeInformer, "--encoding protobuf"),
    pods("client-go", ClientGo, "--encoding protobuf --managed-fields keep"),
    pods("client-go, tuned", ClientGo, "--encoding protobuf --managed-fields drop"),
    pods("lazy", KubeInformer, "--encoding protobuf --storage lazy"),
    pods("compressed", KubeInformer, "--encoding protobuf --storage compressed"),
    pods("decoded, all fields", KubeInformer, "--encoding protobuf --managed-fields keep"),
    pods("lazy, all fields", KubeInformer, "--encoding protobuf --managed-fields keep --storage lazy"),
    pods(
        "compressed, all fields",
        KubeInformer,
        "--encoding protobuf --managed-fields keep --storage compressed",
    ),
    pods("decoded, saved", KubeInformer, "--encoding protobuf"),
    pods("compressed, saved", KubeInformer, "--encoding protobuf --storage compressed"),
    widgets("decoded, untyped", KubeInformer, "--encoding json"),
    widgets("compressed, untyped", KubeInformer, "--encoding json --storage compressed"),
    widgets("kube-rs, untyped", KubeRs, "--encoding json --strategy list --managed-fields keep"),
    widgets("client-go, untyped", ClientGo, "--encoding json"),
    pods("kube-informer", KubeInformer, ""),
    pods("kube-apiserver", Cluster, ""),
];

const fn pods(name: &'static str, program: Program, options: &'static str) -> Client {
    Client { name, program, kind: Kind::Pods, options }
}

const fn widgets(name: &'static str, program: Program, options: &'static str) -> Client {
    Client { name, program, kind: Kind::Widgets, options }
}

impl Client {
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &'static str> + use<> {
        let kind = match self.kind {
            Kind::Pods => "pods",
            Kind::Widgets => "widgets",
        };
        self.options.split_whitespace().chain(["--kind", kind])
    }

    /// Returns true if the client requests JSON.
    pub(crate) fn uses_json(&self) -> bool {
        self.options.contains("--encoding json")
    }
}
