//! The processors that programs run on.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::Once;

/// Those that this process may use, and so all that it starts, as the kernel lists them; nothing where it does not.
fn allowed() -> Option<String> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(list.trim().to_owned())
}

/// The last of a list such as `0-2,5`.
fn last(list: &str) -> Option<&str> {
    list.rsplit([',', '-']).next().filter(|number| number.parse::<u32>().is_ok())
}

/// Holds some processes on one processor together, until this is dropped.
///
/// Who wakes somebody on another one waits until that comes back from its sleep, on a guest from its host: that is most of a short
/// way, differs between two lives of one program, and is nothing of the program's.
#[derive(Debug)]
pub(crate) struct Together {
    processes: Vec<u32>,
    before: String,
}

impl Together {
    /// Nothing where that cannot be done, and a word the first time.
    pub(crate) fn hold(processes: &[u32]) -> Option<Self> {
        static TOLD: Once = Once::new();
        let together = Self::try_hold(processes);
        if together.is_none() {
            TOLD.call_once(|| {
                eprintln!(
                    "no `taskset` holds programs on one processor: latencies are of all, and differ more"
                )
            });
        }
        together
    }

    fn try_hold(processes: &[u32]) -> Option<Self> {
        let before = allowed()?;
        let one = last(&before)?;
        let is_held = processes.iter().all(|process| place(*process, one));
        // What is held already is let go with it.
        let together = Self { processes: processes.to_vec(), before };
        is_held.then_some(together)
    }
}

impl Drop for Together {
    fn drop(&mut self) {
        for process in &self.processes {
            place(*process, &self.before);
        }
    }
}

/// Puts all threads of a process on these processors; threads to come follow the one that starts them.
fn place(process: u32, processors: &str) -> bool {
    let process = process.to_string();
    let mut command = Command::new("taskset");
    command.args(["--all-tasks", "--pid", "--cpu-list", processors, &process]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_a_list_is_one_processor() {
        assert_eq!(["3", "0-1", "0-2,5", "0,2-11"].map(last), ["3", "1", "5", "11"].map(Some));
        assert_eq!(["", "0-", "all"].map(last), [None; 3]);
    }

    /// What the processors of a process are, by its status.
    fn of(process: u32) -> String {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_owned()
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn processes_are_held_together_and_let_go() {
        let mut child = Command::new("sh").args(["-c", "read x"]).stdin(Stdio::piped()).spawn().unwrap();
        let before = allowed().unwrap();
        let together = Together::hold(&[child.id()]).unwrap();
        assert_eq!(of(child.id()), last(&before).unwrap());
        drop(together);
        assert_eq!(of(child.id()), before);
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
