//! Checks of what is depended upon: licences, versions that are there twice, and a reason for each dependency.

mod licence;
mod graph;
mod document;
mod check;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Where dependencies, duplicates and licences are listed, each with its reason.
const DOCUMENT: &str = "docs/dependencies.md";

/// Prints what is wrong, and says how much that is.
pub(crate) fn print(root: &Path) -> Result<usize> {
    let path = root.join(DOCUMENT);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {DOCUMENT}"))?;
    let graph = graph::load()?;
    let wrong = check::check(&graph, &document::read(&text));
    for line in &wrong {
        println!("{DOCUMENT}: {line}");
    }
    println!("{} packages of others, {} of them asked for by name", graph.packages.len(), graph.direct.len());
    Ok(wrong.len())
}
