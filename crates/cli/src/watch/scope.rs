//! The resources that are watched in one cluster.

use super::table::Source;
use crate::args::Watch;
use crate::cluster::Connection;
use crate::informers::{Target, namespaces, targets};
use std::time::Duration;

/// The resources and namespaces of one cluster.
pub(super) struct Scope {
    pub(super) connection: Connection,
    /// The name of the context, if there are several.
    pub(super) context: Option<String>,
    pub(super) targets: Vec<Target>,
    /// Whether the user named each target itself. Resources of a category are skipped if they may not be read.
    pub(super) is_named: Vec<bool>,
    /// The namespaces; `None` for all.
    pub(super) namespaces: Option<Vec<String>>,
}

impl Scope {
    /// Requests the resources of the cluster, and finds those on the command line.
    pub(super) async fn resolve(
        connection: Connection,
        context: Option<String>,
        args: &Watch,
        limit: Duration,
    ) -> anyhow::Result<Self> {
        let catalog = connection.catalog(limit).await?;
        let targets = targets(&catalog, &args.resources)?;
        let is_named =
            |target: &Target| target.name.is_some() || catalog.is_named(&target.kind, &args.resources);
        let is_named = targets.iter().map(is_named).collect();
        let namespaces = namespaces(&args.informer_args, connection.namespace.as_deref());
        Ok(Self { connection, context, targets, is_named, namespaces })
    }

    /// Returns the sources of the printer.
    pub(super) fn sources(&self) -> Vec<Source> {
        let source = |target: &Target| Source::new(target.kind.clone(), self.context.clone());
        self.targets.iter().map(source).collect()
    }
}
