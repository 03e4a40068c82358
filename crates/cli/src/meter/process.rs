//! The resource usage of this process, if the system reports it.

/// Memory and processor time of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    pub(crate) rss_bytes: Option<u64>,
    pub(crate) peak_rss_bytes: Option<u64>,
    pub(crate) cpu_seconds: Option<f64>,
}

/// The ticks of `/proc/self/stat` per second, which are the same on every platform of Linux.
const TICKS: f64 = 100.0;

impl Usage {
    /// Returns the current usage.
    pub(crate) fn now() -> Self {
        let read = |name: &str| std::fs::read_to_string(format!("/proc/self/{name}")).unwrap_or_default();
        Self::of(&read("status"), &read("stat"))
    }

    fn of(status: &str, stat: &str) -> Self {
        let size = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
            Some(kilobytes * 1024)
        };
        // The name of the program, in parentheses, may hold anything; user and system time are the 14th and 15th field.
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let field = |at: usize| rest.split_whitespace().nth(at)?.parse::<f64>().ok();
        Self {
            rss_bytes: size("VmRSS:"),
            peak_rss_bytes: size("VmHWM:"),
            cpu_seconds: field(11).zip(field(12)).map(|(user, system)| (user + system) / TICKS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_read() {
        let status = "Name:\tinformer\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n";
        let stat = "7 (in) former) S 1 7 7 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 3 0 100 200 300";
        let expected =
            Usage { rss_bytes: Some(1 << 20), peak_rss_bytes: Some(2 << 20), cpu_seconds: Some(2.0) };
        assert_eq!(Usage::of(status, stat), expected);
        assert_eq!(Usage::of("", ""), Usage::default());
    }
}
