//! The steps of `cargo xtask test`, in the order in which they run.

/// One thing that the test command checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Fmt,
    Clippy,
    Tidy,
    Deps,
    Tests,
    Fuzz,
    Simulate,
    Tables,
    Oracle,
    Interop,
    Cluster,
    Bench,
    DocTests,
    Docs,
    Model,
    Examples,
}

impl Step {
    pub(crate) const ALL: [Self; 16] = [
        Self::Fmt,
        Self::Clippy,
        Self::Tidy,
        Self::Deps,
        Self::Tests,
        Self::Fuzz,
        Self::Simulate,
        Self::Tables,
        Self::Oracle,
        Self::Interop,
        Self::Cluster,
        Self::Bench,
        Self::DocTests,
        Self::Docs,
        Self::Model,
        Self::Examples,
    ];

    /// The steps that judge the text and do not run it.
    pub(crate) const LINT: [Self; 3] = [Self::Fmt, Self::Clippy, Self::Tidy];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fmt => "fmt",
            Self::Clippy => "clippy",
            Self::Tidy => "tidy",
            Self::Deps => "deps",
            Self::Tests => "tests",
            Self::Fuzz => "fuzz",
            Self::Simulate => "simulate",
            Self::Tables => "tables",
            Self::Oracle => "oracle",
            Self::Interop => "interop",
            Self::Cluster => "cluster",
            Self::Bench => "bench",
            Self::DocTests => "doc-tests",
            Self::Docs => "docs",
            Self::Model => "model",
            Self::Examples => "examples",
        }
    }

    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Fmt => "the code is formatted",
            Self::Clippy => "clippy and the compiler have nothing to say",
            Self::Tidy => "the tree keeps the layout rules",
            Self::Deps => "every dependency has a reason, an allowed licence and one version",
            Self::Tests => "unit and integration tests",
            Self::Fuzz => "every decoder bears input that means harm, for 40 seconds in all",
            Self::Simulate => "some hundred seeds of the simulation",
            Self::Tables => {
                "the field tables are those of the Go types, and every kind decodes as from JSON (needs Go)"
            }
            Self::Oracle => "the devserver applies as the libraries of kube-apiserver do (needs Go)",
            Self::Interop => "kubectl and client-go work against the devserver (needs Go)",
            Self::Cluster => "the conformance tests against a real kube-apiserver (needs Go)",
            Self::Bench => {
                "the benchmarks and a short soak run, and every client holds what the server has (client-go needs Go)"
            }
            Self::DocTests => "the examples in doc comments",
            Self::Docs => "rustdoc builds without warnings",
            Self::Model => "concurrency tests under the model checker",
            Self::Examples => "every program under examples/ runs and ends well",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.name() == name)
    }

    /// Whether the step has nothing to say about code that does not compile.
    pub(crate) fn needs_build(self) -> bool {
        match self {
            Self::Fmt | Self::Clippy | Self::Tidy | Self::Deps | Self::Tests => false,
            Self::Fuzz | Self::Simulate | Self::Tables | Self::Oracle | Self::Interop => true,
            Self::Cluster | Self::Bench => true,
            Self::DocTests | Self::Docs | Self::Model | Self::Examples => true,
        }
    }
}
