//! Runs a target for a bounded time.

use crate::{corpus, mutate::make, random::Random, target::Target};
use peak_alloc::PeakAlloc;
use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

/// How long a target runs, and on which numbers.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// When it ends. The corpus is run whole in any case.
    pub time: Duration,
    /// What the input follows from.
    pub seed: u64,
}

/// What a target is run on.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its number, by which it comes again.
    pub number: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What came of a run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// How many inputs there were.
    pub inputs: u64,
    /// The most that was allocated at once; nothing if nobody counts.
    pub peak: usize,
    /// What ended the run early.
    pub failure: Option<(Input, Failure)>,
}

/// What is wrong with a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It panicked; the message is on stderr.
    Panicked,
    /// It took more memory than it may.
    Memory {
        /// So much it took.
        peak: usize,
        /// So much it may take.
        allowed: usize,
    },
    /// It took too long.
    Slow(Duration),
}

/// So long may one input take, on a machine that is busy with other things.
const SLOW: Duration = Duration::from_secs(10);

/// Runs a target on its corpus, and then on what can be made of it until time is up. `before` is told of each input.
///
/// # Errors
/// If the corpus cannot be read.
pub fn run(target: &Target, budget: Budget, mut before: impl FnMut(&Input)) -> io::Result<Outcome> {
    let corpus = corpus::of(target.name)?;
    let (began, mut outcome) = (Instant::now(), Outcome::default());
    while (outcome.inputs as usize) < corpus.len() || began.elapsed() < budget.time {
        let number = outcome.inputs;
        let mut random = Random::new(budget.seed ^ number.rotate_left(32));
        let kept = usize::try_from(number).ok().and_then(|number| corpus.get(number));
        let bytes = kept.cloned().unwrap_or_else(|| make(&corpus, target.words, &mut random));
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

/// Runs a target on one input, and says how much it allocated at once.
///
/// # Errors
/// [`Failure`] if it panics, takes too much memory or too long.
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
            Self::Memory { peak, allowed } => write!(f, "allocated {peak} bytes, and may {allowed}"),
            Self::Slow(took) => write!(f, "took {took:?}"),
        }
    }
}
