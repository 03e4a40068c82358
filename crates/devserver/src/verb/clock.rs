//! The time, as objects carry it.

use kube_informer_wire::rng;

/// The time where chance is fixed, in which objects are not to differ from one run to the next.
const SIMULATED: i64 = 1_767_225_600;

/// Returns the time as objects carry it, in seconds.
pub(crate) fn now() -> String {
    let seconds = if rng::is_seeded() { SIMULATED } else { clock().as_second() };
    jiff::Timestamp::from_second(seconds).unwrap_or_default().to_string()
}

/// Returns the time as leases carry it, in microseconds.
pub(crate) fn now_micro() -> String {
    let micros = if rng::is_seeded() { SIMULATED * 1_000_000 } else { clock().as_microsecond() };
    format!("{:.6}", jiff::Timestamp::from_microsecond(micros).unwrap_or_default())
}

/// Returns the time of day by Tokio's clock, which may be paused and advanced.
pub(crate) fn clock() -> jiff::Timestamp {
    let wall = jiff::Timestamp::now();
    let (tokio, system) = (tokio::time::Instant::now().into_std(), std::time::Instant::now());
    let shifted = match tokio.checked_duration_since(system) {
        Some(ahead) => wall.checked_add(ahead),
        None => wall.checked_sub(system.duration_since(tokio)),
    };
    shifted.unwrap_or(wall)
}
