//! Real processes share the keys of a controller, and are killed, suspended, stopped and started.
//!
//! This program starts itself as each replica. A replica appends a line to a log for each step of a reconcile. Afterwards the log is
//! checked: no key was reconciled by two replicas at the same time, and in each calm phase every change was reconciled in time.
//!
//! `cargo xtask leases-soak --minutes 10` runs the long form, with the default durations of leases and 10,000 objects. With `--cluster` it runs
//! against kube-apiserver.

#![expect(clippy::unwrap_used, reason = "a failure fails the test")]

mod plan;
mod replica;
mod log;
mod server;
mod parent;

use plan::Plan;
use std::{path::PathBuf, process::ExitCode};

fn main() -> ExitCode {
    if let Some(settings) = replica::Settings::of_replica() {
        replica::run(&settings);
        return ExitCode::SUCCESS;
    }
    let plan = Plan::of_environment();
    println!("\nrunning 1 test");
    let folder =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("leases-processes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    parent::run(&plan, &folder);
    std::fs::remove_dir_all(&folder).unwrap();
    println!("test no_key_is_reconciled_by_two_replicas_at_once ... ok\n");
    println!(
        "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
    );
    ExitCode::SUCCESS
}
