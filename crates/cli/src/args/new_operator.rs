//! The options of `informer new-operator`.

use clap::Args;
use std::path::PathBuf;

/// The options of `informer new-operator`.
#[derive(Args, Clone, Debug)]
pub(crate) struct NewOperator {
    /// The name of the project: lower-case letters, digits and hyphens, such as website-operator
    pub(crate) name: String,

    /// The folder to write to, which must be empty or absent; the default is NAME in the current folder
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    /// The kind of the custom resource; the default is NAME without "-operator", such as Website
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,

    /// The API group of the custom resource
    #[arg(long, value_name = "GROUP", default_value = "example.com")]
    pub(crate) group: String,

    /// Depend on the crates in this checkout of kube-informer instead of the published ones
    #[arg(long, value_name = "DIR")]
    pub(crate) source: Option<PathBuf>,
}
