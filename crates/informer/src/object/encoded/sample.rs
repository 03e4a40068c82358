//! Decides when to create a dictionary, and from which objects.

/// Objects to create a dictionary from: every `step`-th object, so that a bounded number represents all.
///
/// A list is ordered by name and neighbors are similar, so the first objects do not represent it.
pub(super) struct Sample {
    objects: Vec<Box<[u8]>>,
    bytes: usize,
    seen: usize,
    step: usize,
}

/// Compares how well objects compress now with how well they did when the dictionary was new.
#[derive(Debug, Default)]
pub(super) struct CompressionRatio {
    objects: usize,
    original: u64,
    compressed: u64,
    first: Option<f64>,
}

/// The maximum length of a dictionary. Half of it makes pods with managed fields a twentieth larger; more has no effect.
const MAX_DICTIONARY_BYTES: usize = 100 << 10;

/// The maximum length of all sampled objects.
const MAX_SAMPLE_BYTES: usize = 6 * MAX_DICTIONARY_BYTES;

/// The maximum number of bytes taken from one object.
const MAX_OBJECT_BYTES: usize = 16 << 10;

/// A dictionary is created after each of these numbers of objects, since a longer list gives a better sample.
const DICTIONARY_AFTER: [usize; 3] = [256, 4096, 65_536];

/// The minimum number of objects for a dictionary when the list is complete.
const MIN_OBJECTS: usize = 16;

/// The number of objects over which a ratio is measured.
const RATIO_WINDOW: usize = 2048;

/// The dictionary is replaced when the ratio falls by this factor.
const MAX_RATIO_LOSS: f64 = 1.5;

impl Sample {
    pub(super) fn new() -> Self {
        Self { objects: Vec::new(), bytes: 0, seen: 0, step: 1 }
    }

    pub(super) fn add(&mut self, object: &[u8]) {
        if self.seen.is_multiple_of(self.step) {
            let part = &object[..object.len().min(MAX_OBJECT_BYTES)];
            self.objects.push(part.into());
            self.bytes += part.len();
        }
        self.seen += 1;
        while self.bytes > MAX_SAMPLE_BYTES {
            self.drop_every_second();
        }
    }

    fn drop_every_second(&mut self) {
        let mut is_kept = false;
        self.objects.retain(|_| {
            is_kept = !is_kept;
            is_kept
        });
        self.bytes = self.objects.iter().map(|object| object.len()).sum();
        self.step *= 2;
    }

    /// Returns whether to create a dictionary now.
    pub(super) fn is_due(&self) -> bool {
        DICTIONARY_AFTER.contains(&self.seen)
    }

    /// Returns whether no more objects are needed.
    pub(super) fn is_complete(&self) -> bool {
        self.seen >= DICTIONARY_AFTER[DICTIONARY_AFTER.len() - 1]
    }

    /// Returns whether there are enough objects for a dictionary if no more are expected.
    pub(super) fn suffices(&self) -> bool {
        self.seen >= MIN_OBJECTS
    }

    /// Returns as many objects as fit into a dictionary, evenly spread over the sample.
    pub(super) fn dictionary_content(&self) -> Vec<u8> {
        let mut content = Vec::with_capacity(MAX_DICTIONARY_BYTES);
        let mut visited = 0;
        for object in &self.objects {
            // The length the content would have by now if each object contributed an equal share.
            let share = visited * MAX_DICTIONARY_BYTES / self.bytes.max(MAX_DICTIONARY_BYTES);
            if content.len() <= share && content.len() + object.len() <= MAX_DICTIONARY_BYTES {
                content.extend_from_slice(object);
            }
            visited += object.len();
        }
        content
    }
}

impl CompressionRatio {
    /// Records a block. Returns whether objects compress much worse than at first.
    pub(super) fn record(&mut self, objects: usize, original: usize, compressed: usize) -> bool {
        self.objects += objects;
        self.original += original as u64;
        self.compressed += compressed as u64;
        if self.objects < RATIO_WINDOW {
            return false;
        }
        let ratio = self.original as f64 / self.compressed.max(1) as f64;
        let first = *self.first.get_or_insert(ratio);
        *self = Self { first: Some(first), ..Self::default() };
        ratio * MAX_RATIO_LOSS < first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_much_worse_ratio_is_reported_once_per_window() {
        let mut ratio = CompressionRatio::default();
        let mut window =
            |compressed: usize| (0..RATIO_WINDOW).filter(|_| ratio.record(1, 1000, compressed)).count();
        assert_eq!(window(100), 0, "the first window is the reference");
        assert_eq!(window(149), 0);
        assert_eq!(window(151), 1);
        assert_eq!(window(50), 0);
    }

    #[test]
    fn a_sample_is_bounded_and_spread_over_all_objects() {
        let mut sample = Sample::new();
        for number in 0..DICTIONARY_AFTER[0] {
            assert!(!sample.is_due());
            sample.add(&[number as u8; 10_000]);
        }
        assert!(sample.is_due() && !sample.is_complete());
        let content = sample.dictionary_content();
        let expected = MAX_DICTIONARY_BYTES - MAX_OBJECT_BYTES..=MAX_DICTIONARY_BYTES;
        assert!(expected.contains(&content.len()), "{}", content.len());
        let firsts: Vec<_> = content.chunks(10_000).map(|object| object[0]).collect();
        assert!(firsts.len() == 10 && firsts[0] == 0 && firsts[9] >= 208, "{firsts:?}");
        assert!(firsts.windows(2).all(|pair| (16..=32).contains(&(pair[1] - pair[0]))), "{firsts:?}");
        let mut large = Sample::new();
        (0..100).for_each(|_| large.add(&[0; 1 << 20]));
        assert!(large.dictionary_content().len() <= MAX_DICTIONARY_BYTES && large.suffices());
    }
}
