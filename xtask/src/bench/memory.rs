//! The memory of this machine: how much there is, what a client takes of it, and how it is made ready.

use std::fs;
use std::hint::black_box;

use crate::bench::contender::Contender;

/// Memory that is not known is taken to be this.
const UNKNOWN: f64 = 8e9;
/// The size of a page, or of a part of one.
const PAGE: usize = 4096;
/// What a client takes beside its objects, and a little more.
const FIXED: f64 = 64e6;
/// So much of what is free is made ready at most.
const MOST: f64 = 0.5;

/// How many bytes of memory there are.
pub(crate) fn all() -> f64 {
    of("MemTotal:").unwrap_or(UNKNOWN)
}

/// What a pod takes in this client, and what it takes during a relist, by the rows W3 and W5 and a little more.
pub(crate) fn bytes_of(client: Contender) -> (f64, f64) {
    match client {
        Contender::OursLazy | Contender::OursStrippedLazy => (14_000.0, 16_000.0),
        _ if client.is_compact() => (2_500.0, 3_500.0),
        Contender::Go | Contender::GoStripped => (35_000.0, 68_000.0),
        _ => (102_000.0, 110_000.0),
    }
}

/// Touches as much memory as a client will take, and gives it back.
///
/// Where a machine is a guest, memory that nobody has had for some seconds may belong to the host again, and whoever is the first to
/// touch it waits until it comes back: a sync then takes a tenth or two longer, by who ran before it.
pub(crate) fn make_ready(client: Contender, count: u64) {
    let wanted = bytes_of(client).1 * count as f64 + FIXED;
    let bytes = wanted.min(of("MemAvailable:").unwrap_or(UNKNOWN) * MOST);
    let mut block = vec![0_u8; bytes as usize];
    block.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
    black_box(&block);
}

fn of(name: &str) -> Option<f64> {
    read(&fs::read_to_string("/proc/meminfo").unwrap_or_default(), name)
}

fn read(meminfo: &str, name: &str) -> Option<f64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read() {
        let meminfo = "MemTotal:       1000 kB\nMemFree: 7 kB\nMemAvailable:   10 kB\n";
        assert_eq!(read(meminfo, "MemTotal:"), Some(1_024_000.0));
        assert_eq!(read(meminfo, "MemAvailable:"), Some(10_240.0));
        assert_eq!(read("", "MemTotal:"), None);
    }
}
