//! Runs a target for a bounded time.

use crate::{corpus, mutate::mutate, target::Target};
use peak_alloc::PeakAlloc;
use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};
use testkit::Random;

/// The duration and the seed of a run.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// The duration; all inputs of the corpus are run in any case.
    pub time: Duration,
    /// The seed of the inputs.
    pub seed: u64,
}

/// An input of a target.
#[derive(Clone, Debug)]
pub struct Input {
    /// The number of the input, which reproduces it with the same seed.
    pub number: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The number of inputs.
    pub inputs: u64,
    /// The peak of allocated bytes; zero without the counting allocator.
    pub peak: usize,
    /// The first failure, which ended the run.
    pub failure: Option<(Input, Failure)>,
}

/// The failure of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A panic, whose message is on stderr.
    Panicked,
    /// More memory than allowed.
    Memory {
        /// The peak in bytes.
        peak: usize,
        /// The limit in bytes.
        allowed: usize,
    },
    /// More time than allowed.
    Slow(Duration),
}

/// The maximum duration of one input, on a loaded machine.
const SLOW: Duration = Duration::from_secs(10);

/// Runs a target with its corpus, then with mutations until the time is over. `before` is called with each input.
///
/// # Errors
/// If the corpus cannot be read.
pub fn run(target: &Target, budget: Budget, mut before: impl FnMut(&Input)) -> io::Result<Outcome> {
    let corpus = corpus::of(target.name)?;
    let (began, mut outcome) = (Instant::now(), Outcome::default());
    while (outcome.inputs as usize) < corpus.len() || began.elapsed() < budget.time {
        let number = outcome.inputs;
        let mut random = Random::from_state(budget.seed ^ number.rotate_left(32));
        let existing = usize::try_from(number).ok().and_then(|number| corpus.get(number));
        let bytes = existing.cloned().unwrap_or_else(|| mutate(&corpus, target.words, &mut random));
        let input = Input { number, bytes };
        before(&input);
        outcome.inputs += 1;
        match attempt(target, &input.bytes) {
            Ok(peak) => outcome.peak = outcome.peak.max(peak),
            Err(failure) => {
                outcome.failure = Some((input, failure));
                break;
            }
        }
    }
    Ok(outcome)
}

/// Runs a target with one input, and returns the peak of allocated bytes.
///
/// # Errors
/// [`Failure`] if it panics, or exceeds a limit.
pub fn attempt(target: &Target, input: &[u8]) -> Result<usize, Failure> {
    let before = PeakAlloc.current_usage();
    PeakAlloc.reset_peak_usage();
    let began = Instant::now();
    catch_unwind(AssertUnwindSafe(|| (target.check)(input))).map_err(|_| Failure::Panicked)?;
    let (took, peak) = (began.elapsed(), PeakAlloc.peak_usage().saturating_sub(before));
    let allowed = target.memory.allowed(input.len());
    match () {
        () if peak > allowed => Err(Failure::Memory { peak, allowed }),
        () if took > SLOW => Err(Failure::Slow(took)),
        () => Ok(peak),
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Panicked => write!(f, "panicked"),
            Self::Memory { peak, allowed } => write!(f, "allocated {peak} bytes, more than {allowed}"),
            Self::Slow(took) => write!(f, "took {took:?}"),
        }
    }
}
