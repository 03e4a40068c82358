//! The memory of this process: bytes in use and resident bytes.

use kube_informer_bench_client::usage::Usage;
use peak_alloc::PeakAlloc;
use serde_json::{Value, json};

/// The system allocator with a counter.
#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Returns the bytes that were allocated and not freed, without those of C libraries.
pub(crate) fn in_use() -> usize {
    ALLOCATOR.current_usage()
}

/// Returns memory and processor time as JSON.
pub(crate) fn report() -> Value {
    let usage = Usage::now();
    json!({ "in_use": in_use(), "rss": usage.rss, "cpu_seconds": usage.cpu_seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_are_in_use_until_they_are_freed() {
        const LARGE: usize = 64 << 20;
        let before = in_use();
        let mut allocation = Vec::<u8>::with_capacity(LARGE / 2);
        allocation.reserve_exact(LARGE);
        let during = in_use();
        drop(allocation);
        assert!(during >= before + LARGE - LARGE / 8, "{before} {during}");
        assert!(in_use() <= before + LARGE / 8);
    }
}
