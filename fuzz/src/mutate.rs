//! Creates inputs by mutation.

use testkit::Random;

/// The maximum length of an input.
const LONGEST: usize = 32 << 10;
/// Bytes with a special meaning in many formats.
const BYTES: [u8; 12] = [0, 1, 2, 0x0a, 0x12, 0x1a, 0x20, 0x7f, 0x80, 0xfe, 0xff, b'"'];

/// Mutates a random input of the corpus.
pub(crate) fn mutate(corpus: &[Vec<u8>], words: &[&[u8]], random: &mut Random) -> Vec<u8> {
    let mut input = if corpus.is_empty() { Vec::new() } else { random.pick(corpus).clone() };
    for _ in 0..=random.index(6) {
        change(&mut input, corpus, words, random);
        input.truncate(LONGEST);
    }
    input
}

fn change(input: &mut Vec<u8>, corpus: &[Vec<u8>], words: &[&[u8]], random: &mut Random) {
    let at = random.index(input.len() + 1);
    let longest = 1 << random.index(8);
    let end = (at + random.index(longest)).min(input.len());
    match random.index(10) {
        0 if at < input.len() => input[at] ^= 1 << random.index(8),
        1 if at < input.len() => input[at] = *random.pick(&BYTES),
        2 => drop(input.drain(at..end)),
        3 => {
            let (copy, to) = (input[at..end].to_vec(), random.index(input.len() + 1));
            drop(input.splice(to..to, copy));
        }
        4 => input.truncate(at),
        5 if !corpus.is_empty() => splice(input, random.pick::<Vec<u8>>(corpus), at, random),
        6 => repeat(input, at..end, random),
        _ => {
            let word = *random.pick(words);
            // Replace a range, or insert before it.
            let end = if random.index(2) == 0 { end } else { at };
            drop(input.splice(at..end, word.iter().copied()));
        }
    }
}

/// Inserts a part of another input.
fn splice(input: &mut Vec<u8>, other: &[u8], at: usize, random: &mut Random) {
    let start = random.index(other.len() + 1);
    let end = start + random.index(other.len() - start + 1);
    drop(input.splice(at..at, other[start..end].iter().copied()));
}

/// Repeats a range, which creates nesting, length bombs and long texts.
fn repeat(input: &mut Vec<u8>, range: std::ops::Range<usize>, random: &mut Random) {
    let times = 1 << random.index(13);
    let length = range.len().max(1);
    let copy = input[range.clone()].repeat(times.min(LONGEST / length));
    drop(input.splice(range.start..range.start, copy));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_creates_the_same_input() {
        let (corpus, words) = ([b"{\"a\":1}".to_vec(), Vec::new()], [&b"[["[..]]);
        let made = |seed| mutate(&corpus, &words, &mut Random::from_state(seed));
        let all: std::collections::HashSet<_> = (0..200).map(made).collect();
        assert!((0..200).all(|seed| all.contains(&made(seed))));
        assert!(all.len() > 100, "{} are different", all.len());
        assert!(all.iter().all(|input| input.len() <= LONGEST));
    }
}
