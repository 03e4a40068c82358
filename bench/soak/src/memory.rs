//! How much memory this process uses: what was allocated and not freed, and what is resident.

use kube_informer_bench_client::usage::Usage;
use peak_alloc::PeakAlloc;
use serde_json::{Value, json};

/// The allocator of the system, which counts.
#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Bytes that were allocated and not freed. What C libraries allocate is not among them.
pub(crate) fn in_use() -> usize {
    ALLOCATOR.current_usage()
}

/// Memory, and processor time, as both programs tell them.
pub(crate) fn report() -> Value {
    let usage = Usage::now();
    json!({ "in_use": in_use(), "rss": usage.rss, "cpu_seconds": usage.cpu_seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_in_use_and_what_is_freed_is_not() {
        const LARGE: usize = 64 << 20;
        let before = in_use();
        let mut held = Vec::<u8>::with_capacity(LARGE / 2);
        held.reserve_exact(LARGE);
        let while_held = in_use();
        drop(held);
        assert!(while_held >= before + LARGE - LARGE / 8, "{before} {while_held}");
        assert!(in_use() <= before + LARGE / 8);
    }
}
