//! The steps of `cargo xtask test`, in their order.

use clap::ValueEnum;

/// One step.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The code is formatted
    Fmt,
    /// No warnings of clippy and the compiler
    Clippy,
    /// Layout rules and wording
    Tidy,
    /// Licenses, duplicate versions and reasons of dependencies
    Deps,
    /// Unit tests of the library crates and pipeline tests of the informer: a part of `tests`
    #[value(skip)]
    QuickTests,
    /// Unit and integration tests
    Tests,
    /// Every decoder processes hostile input, for 40 seconds in total
    Fuzz,
    /// Some hundred seeds of the simulation
    Simulate,
    /// The field tables match the Go types, and every kind decodes as from JSON (needs Go)
    Tables,
    /// The devserver applies as the libraries of kube-apiserver do (needs Go)
    Oracle,
    /// kubectl and client-go against the devserver (needs Go)
    Interop,
    /// kube-controller-manager and kube-scheduler against the devserver (needs Go); runs only if it is named
    Controllers,
    /// Programs of other projects in Go against the devserver (needs Go); runs only if it is named
    Programs,
    /// The conformance tests against kube-apiserver (needs Go)
    Cluster,
    /// The page of `informer web`: its bundle is current, and its tests pass in Chromium (needs Node)
    Web,
    /// A minimal run of the benchmarks and of the load test, which compare every cache with the server
    Bench,
    /// The examples in doc comments
    DocTests,
    /// rustdoc without warnings
    Docs,
    /// Concurrency tests with the model checker
    Model,
    /// Every program in examples/ runs to its end
    Examples,
    /// A generated operator builds, passes its tests and runs
    Operator,
}

impl Step {
    /// The steps that do not run code.
    pub(crate) const LINT: [Self; 3] = [Self::Fmt, Self::Clippy, Self::Tidy];

    /// The steps before each commit.
    pub(crate) const CHECK: [Self; 4] = [Self::Fmt, Self::Clippy, Self::Tidy, Self::QuickTests];

    /// Returns the steps that run by default. The programs of the others take minutes to build.
    pub(crate) fn unless_named() -> Vec<Self> {
        let is_quick = |step: &Self| !matches!(step, Self::Controllers | Self::Programs);
        Self::value_variants().iter().copied().filter(is_quick).collect()
    }

    pub(crate) fn name(self) -> String {
        let name = self.to_possible_value().map(|value| value.get_name().to_owned());
        name.unwrap_or_else(|| "tests".to_owned())
    }

    pub(crate) fn description(self) -> String {
        let help = self.to_possible_value().and_then(|value| value.get_help().map(ToString::to_string));
        help.unwrap_or_else(|| "unit and pipeline tests".to_owned())
    }

    /// Returns true if the step is skipped when the code does not compile.
    pub(crate) fn needs_build(self) -> bool {
        !matches!(self, Self::Fmt | Self::Clippy | Self::Tidy | Self::Deps | Self::QuickTests | Self::Tests)
    }
}
