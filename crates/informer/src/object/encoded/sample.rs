//! When to make a dictionary, and of what.

/// Objects to make a dictionary of: every so many-th of those that came, so that few stand for all.
///
/// A list comes in the order of names, and neighbours are alike.
pub(super) struct Sample {
    objects: Vec<Box<[u8]>>,
    bytes: usize,
    seen: usize,
    step: usize,
}

/// How well objects pack, held against how well they did when the dictionary was new.
#[derive(Debug, Default)]
pub(super) struct Ratio {
    objects: usize,
    before: u64,
    after: u64,
    at_first: Option<f64>,
}

/// So long are all objects of a dictionary. Half of it packs pods with managed fields a twentieth worse; more packs no better.
const LONGEST: usize = 100 << 10;

/// So much of objects is held, to choose from.
const SAMPLE: usize = 6 * LONGEST;

/// So much of one object is in a dictionary at most.
const PART: usize = 16 << 10;

/// After so many objects there is a dictionary, and a better one after more: a list comes in the order of names, so that the
/// first are not like all.
const STAGES: [usize; 3] = [256, 4096, 65_536];

/// If no more are to come, so many do.
const FEWEST: usize = 16;

/// The ratio is taken over so many objects at a time.
const WINDOW: usize = 2048;

/// A dictionary that packs so many times worse than it did is not made of such objects.
const WORSE: f64 = 1.5;

impl Sample {
    pub(super) fn new() -> Self {
        Self { objects: Vec::new(), bytes: 0, seen: 0, step: 1 }
    }

    pub(super) fn add(&mut self, object: &[u8]) {
        if self.seen.is_multiple_of(self.step) {
            let part = &object[..object.len().min(PART)];
            self.objects.push(part.into());
            self.bytes += part.len();
        }
        self.seen += 1;
        while self.bytes > SAMPLE {
            let mut is_second = true;
            self.objects.retain(|_| {
                is_second = !is_second;
                !is_second
            });
            self.bytes = self.objects.iter().map(|object| object.len()).sum();
            self.step *= 2;
        }
    }

    /// Whether it is time for a dictionary.
    pub(super) fn is_due(&self) -> bool {
        STAGES.contains(&self.seen)
    }

    /// Whether it has seen all that it is to see.
    pub(super) fn is_full(&self) -> bool {
        self.seen >= STAGES[STAGES.len() - 1]
    }

    /// Whether it is worth a dictionary.
    pub(super) fn suffices(&self) -> bool {
        self.seen >= FEWEST
    }

    /// What the dictionary is made of: as many as there is room for, spread over what there is.
    pub(super) fn content(&self) -> Vec<u8> {
        let (mut content, mut passed) = (Vec::with_capacity(LONGEST), 0);
        for object in &self.objects {
            // Where the dictionary would be if all objects went in, each a little shortened.
            let due = passed * LONGEST / self.bytes.max(LONGEST);
            if content.len() <= due && content.len() + object.len() <= LONGEST {
                content.extend_from_slice(object);
            }
            passed += object.len();
        }
        content
    }
}

impl Ratio {
    /// Counts objects of so many bytes that were packed into so many. Says whether they pack much worse than at first.
    pub(super) fn count(&mut self, objects: usize, before: usize, after: usize) -> bool {
        self.objects += objects;
        self.before += before as u64;
        self.after += after as u64;
        if self.objects < WINDOW {
            return false;
        }
        let now = self.before as f64 / self.after.max(1) as f64;
        let at_first = *self.at_first.get_or_insert(now);
        (self.objects, self.before, self.after) = (0, 0, 0);
        now * WORSE < at_first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_that_falls_far_is_noticed_once_a_window() {
        let mut ratio = Ratio::default();
        let mut window = |after: usize| (0..WINDOW).filter(|_| ratio.count(1, 1000, after)).count();
        assert_eq!(window(100), 0, "this is what it is held against");
        assert_eq!(window(149), 0);
        assert_eq!(window(151), 1);
        assert_eq!(window(50), 0);
    }

    #[test]
    fn a_sample_is_spread_over_what_came_and_bounded() {
        let mut sample = Sample::new();
        for number in 0..STAGES[0] {
            assert!(!sample.is_due());
            sample.add(&[number as u8; 10_000]);
        }
        assert!(sample.is_due() && !sample.is_full());
        let content = sample.content();
        assert!((LONGEST - PART..=LONGEST).contains(&content.len()), "{}", content.len());
        let firsts: Vec<_> = content.chunks(10_000).map(|object| object[0]).collect();
        assert!(firsts.len() == 10 && firsts[0] == 0 && firsts[9] >= 208, "{firsts:?}");
        assert!(firsts.windows(2).all(|pair| (16..=32).contains(&(pair[1] - pair[0]))), "{firsts:?}");
        let mut large = Sample::new();
        (0..100).for_each(|_| large.add(&[0; 1 << 20]));
        assert!(large.content().len() <= LONGEST && large.suffices());
    }
}
