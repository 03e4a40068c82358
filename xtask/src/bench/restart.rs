//! A client that is ended and started again, with a cache that outlived it.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::bench::contender::Contender;
use crate::bench::life::{CHANGED, Stage};
use crate::bench::measured::Measured;
use crate::bench::stolen::Ticks;
use crate::bench::talk::{Talk, number};

/// Restarts are short, and a cache to begin from is not: there are some of each kind for each.
const TURNS: usize = 2;

/// Lives once to leave a cache, and then in turn when the server knows what changed since, and when it has forgotten.
pub(crate) fn live(
    stage: &mut Stage<'_>,
    contender: Contender,
    command: &dyn Fn() -> Command,
    folder: &Path,
) -> Result<Measured> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot clear {}", folder.display()))?;
    }
    stage.server.ask("reset")?;
    let mut measured = Measured::default();
    let once = |stage: &mut Stage<'_>, is_checked: bool| -> Result<Value> {
        let mut command = command();
        command.args(contender.arguments()).arg("--kubeconfig").arg(stage.kubeconfig);
        command.args(["--n", &stage.count.to_string(), "--save-to"]).arg(folder);
        let mut client = Talk::start(&mut command)?;
        let synced = client.hear_of("synced")?;
        client.hear_of("settled")?;
        if is_checked {
            stage.check(&mut client)?;
        }
        // It writes the rest of its cache when its orders end, which is when it is dropped.
        Ok(synced)
    };
    once(stage, true).context("the first life")?;
    let (change, begin) = (format!("change {CHANGED}"), Ticks::now());
    for turn in 1..=TURNS {
        // To read everything takes longer than all the rest. What one life has wrong, the next begins from.
        let is_checked = turn == TURNS;
        stage.server.ask(&change)?;
        let known = once(stage, is_checked).context("with a version that is known")?;
        measured.add("restart_window_seconds", number(&known, "sync_seconds")?);
        measured.add("first_read_seconds", number(&known, "first_read_seconds")?);
        stage.server.ask(&change)?;
        stage.server.ask("forget")?;
        let forgotten = once(stage, is_checked).context("with a version that is forgotten")?;
        measured.add("restart_gone_seconds", number(&forgotten, "sync_seconds")?);
    }
    // One life is too short for a share of its own.
    measured.scale(begin.own());
    fs::remove_dir_all(folder).with_context(|| format!("cannot clear {}", folder.display()))?;
    Ok(measured)
}
