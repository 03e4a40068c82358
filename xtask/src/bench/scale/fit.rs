//! Which clients fit into the memory of a machine, beside the server.

use crate::bench::contender::Contender;
use crate::bench::memory::bytes_of;
use crate::bench::plan::Entry;
use crate::bench::programs::Programs;
use crate::bench::row::Phase;

/// Who is measured.
const CLIENTS: [Contender; 4] = [Contender::Ours, Contender::OursLazy, Contender::OursCompact, Contender::Go];
/// What the replay server holds of a pod, in protobuf alone.
const SERVED: f64 = 9_500.0;
/// So much of it may be used; the rest is for the system and for being wrong.
const SHARE: f64 = 0.85;

/// Who goes through what with so many objects.
pub(super) fn plan((count, rounds): (u64, usize), memory: f64, programs: &Programs) -> Vec<Entry> {
    let there = CLIENTS.into_iter().filter(|client| programs.has(client.program()));
    let entry = |contender| {
        let phases = vec![(phase(contender, count, memory)?, rounds)];
        Some(Entry { contender, phases })
    };
    there.filter_map(entry).collect()
}

/// Those that would run, had they the room.
pub(super) fn left_out<'p>(
    plan: &'p [Entry],
    programs: &'p Programs,
) -> impl Iterator<Item = Contender> + 'p {
    let there = CLIENTS.into_iter().filter(|client| programs.has(client.program()));
    there.filter(|client| plan.iter().all(|planned| planned.contender != *client))
}

/// How far it comes: through a relist, if that fits, or a sync alone.
fn phase(client: Contender, count: u64, memory: f64) -> Option<Phase> {
    let (steady, peak) = bytes_of(client);
    let fits = |each: f64| (each + SERVED) * count as f64 <= memory * SHARE;
    if fits(peak) { Some(Phase::Relist) } else { fits(steady).then_some(Phase::Sync) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Contender::{Go, Ours, OursCompact, OursLazy};

    #[test]
    fn what_does_not_fit_is_cut_down_and_then_left_out() {
        let memory = 24e9;
        for (client, count, wanted) in [
            (Ours, 100_000, Some(Phase::Relist)),
            (Ours, 300_000, None),
            (OursLazy, 300_000, Some(Phase::Relist)),
            (OursLazy, 1_000_000, None),
            (Go, 100_000, Some(Phase::Relist)),
            (Go, 300_000, Some(Phase::Sync)),
            (Go, 1_000_000, None),
            (OursCompact, 1_000_000, Some(Phase::Relist)),
        ] {
            assert_eq!(phase(client, count, memory), wanted, "{count} of {}", client.name());
        }
    }
}
