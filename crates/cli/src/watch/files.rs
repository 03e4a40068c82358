//! The files written at the end.
//!
//! They are opened at the start, so that a path that cannot be written is reported at once.

use super::{once::sorted, stats::Stats};
use crate::args::Watch;
use crate::informers::WatchedResource;
use crate::safe::clean_json;
use anyhow::Context;
use serde_json::json;
use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

/// The files of `--dump` and `--stats`.
pub(super) struct Files {
    dump: Option<Target>,
    stats: Option<Target>,
}

/// An open file, or stdout for `-`.
struct Target {
    path: PathBuf,
    out: Box<dyn Write + Send>,
}

impl Files {
    pub(super) fn open(args: &Watch) -> anyhow::Result<Self> {
        let open = |path: &Option<PathBuf>| path.as_deref().map(Target::open).transpose();
        Ok(Self { dump: open(&args.dump)?, stats: open(&args.stats)? })
    }

    /// Writes the objects and the statistics.
    pub(super) fn write(
        self,
        watched: &[WatchedResource],
        stats: impl FnOnce() -> Stats,
    ) -> anyhow::Result<()> {
        if let Some(target) = self.dump {
            target.write(|out| dump(out, watched))?;
        }
        if let Some(target) = self.stats {
            let text = serde_json::to_string_pretty(&stats())?;
            target.write(|out| writeln!(out, "{text}"))?;
        }
        Ok(())
    }
}

impl Target {
    fn open(path: &Path) -> anyhow::Result<Self> {
        let out: Box<dyn Write + Send> = if path == Path::new("-") {
            Box::new(io::stdout())
        } else {
            let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
            Box::new(BufWriter::new(file))
        };
        Ok(Self { path: path.to_owned(), out })
    }

    fn write(mut self, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
        let written = content(&mut self.out).and_then(|()| self.out.flush());
        written.with_context(|| format!("cannot write {}", self.path.display()))
    }
}

/// Writes one line per object: its key, uid and version, and its resource if there are several.
fn dump(out: &mut dyn Write, watched: &[WatchedResource]) -> io::Result<()> {
    for one in watched {
        let snapshot = one.informer.snapshot();
        for entry in sorted(&snapshot) {
            let object = entry.object();
            let meta = &object.metadata;
            let mut line = json!({"key": entry.key().as_str(), "uid": meta.uid, "resourceVersion": meta.resource_version});
            if watched.len() > 1 {
                line["resource"] = one.resource().into();
            }
            writeln!(out, "{}", clean_json(&line.to_string()))?;
        }
    }
    Ok(())
}
