//! The memory and processor time of this process, from `/proc`.

use std::fs;

/// Memory and processor time of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Resident memory, in bytes.
    pub rss: u64,
    /// The peak of the resident memory since the last [`Usage::reset_peak`], in bytes.
    pub peak_rss: u64,
    /// Processor seconds in user and system mode.
    pub cpu_seconds: f64,
}

/// The ticks per second of `/proc/self/stat`, the same on all Linux platforms.
const TICKS: f64 = 100.0;

impl Usage {
    /// Returns the current usage.
    #[must_use]
    pub fn now() -> Self {
        let read = |name: &str| fs::read_to_string(format!("/proc/self/{name}")).unwrap_or_default();
        Self::of(&read("status"), &read("stat"))
    }

    /// Returns the processor seconds of a server: of the process, or of its child if that is a kube-apiserver.
    #[must_use]
    pub fn of_server(pid: u64) -> f64 {
        let read =
            |pid: u64, name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let others = fs::read_dir("/proc").into_iter().flatten().flatten();
        let others = others.filter_map(|entry| entry.file_name().to_str()?.parse::<u64>().ok());
        let is_server = |other: &u64| {
            let stat = read(*other, "stat");
            let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
            parent == Some(pid.to_string().as_str()) && read(*other, "cmdline").contains("apiserver")
        };
        let server = others.into_iter().find(is_server).unwrap_or(pid);
        Self::of("", &read(server, "stat")).cpu_seconds
    }

    /// Resets [`Usage::peak_rss`].
    pub fn reset_peak() {
        // Without permission the peak is that of the entire run, which is never too low.
        _ = fs::write("/proc/self/clear_refs", "5");
    }

    fn of(status: &str, stat: &str) -> Self {
        let size = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
        };
        // The name in parentheses may contain any characters; user and system time are the fields 14 and 15.
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let ticks = rest.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
        Self {
            rss: size("VmRSS:").unwrap_or_default(),
            peak_rss: size("VmHWM:").unwrap_or_default(),
            cpu_seconds: ticks.sum::<f64>() / TICKS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_parsed() {
        let status = "Name:\tbench\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n";
        let stat = "7 (be) nch) S 1 7 7 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 3 0 100 200 300";
        assert_eq!(Usage::of(status, stat), Usage { rss: 1 << 20, peak_rss: 2 << 20, cpu_seconds: 2.0 });
    }
}
