//! What is written to files at the end.

use super::{once::sorted, stats::Stats};
use crate::follow::Followed;
use crate::safe::clean_json;
use anyhow::Context;
use serde_json::json;
use std::{
    fs::File,
    io::{BufWriter, Write},
    path::Path,
};

/// One line per object: its key, uid and version, and its resource where there are several.
pub(super) fn dump(path: &Path, followed: &[Followed]) -> anyhow::Result<()> {
    let write = || {
        let mut file = BufWriter::new(File::create(path)?);
        for one in followed {
            let snapshot = one.informer.snapshot();
            for entry in sorted(&snapshot) {
                let object = entry.object();
                let meta = &object.metadata;
                let mut line = json!({"key": entry.key().as_str(), "uid": meta.uid, "resourceVersion": meta.resource_version});
                if followed.len() > 1 {
                    line["resource"] = one.kind.resource().into();
                }
                writeln!(file, "{}", clean_json(&line.to_string()))?;
            }
        }
        file.flush()
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// The figures of the run.
pub(super) fn stats(path: &Path, stats: &Stats) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(stats)? + "\n";
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
