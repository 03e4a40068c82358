//! The banned phrases with their replacements, and the weights by which the style of a sentence is judged.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::phrases::sentence;

const PHRASES: &str = include_str!("phrases.txt");
const WORDING: &str = include_str!("wording.txt");

/// The longest run of words that has a weight.
const LONGEST: usize = 3;
/// A word without a meaning for the style.
const OTHER: &str = "@";

/// The phrases by their first word, and the weights.
#[derive(Debug)]
pub(crate) struct Table {
    phrases: BTreeMap<&'static str, Vec<Phrase>>,
    style_words: BTreeSet<&'static str>,
    weights: BTreeMap<&'static str, i32>,
    /// A sentence whose weights add up to more is flagged.
    limit: i32,
}

#[derive(Debug)]
struct Phrase {
    text: &'static str,
    words: Vec<&'static str>,
    advice: &'static str,
}

/// A phrase in a text, or a run of words that adds to its score.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hit {
    pub(crate) phrase: String,
    pub(crate) advice: String,
}

impl Table {
    /// Parses the two data files.
    pub(crate) fn new() -> Self {
        let mut table = Self {
            phrases: BTreeMap::new(),
            style_words: BTreeSet::new(),
            weights: BTreeMap::new(),
            limit: 0,
        };
        table.read_phrases();
        table.read_wording();
        table
    }

    fn read_phrases(&mut self) {
        let mut advice = "";
        for line in PHRASES.lines() {
            if let Some(heading) = line.strip_prefix("= ") {
                advice = heading;
            } else if let Some(list) = line.strip_prefix("| ") {
                for text in list.split(" | ") {
                    let words: Vec<_> = text.split(' ').collect();
                    self.phrases.entry(words[0]).or_default().push(Phrase { text, words, advice });
                }
            }
        }
    }

    fn read_wording(&mut self) {
        for line in WORDING.lines() {
            let Some((key, list)) = line.split_once(" = ") else { continue };
            match key {
                "words" => self.style_words.extend(list.split(' ')),
                "limit" => self.limit = list.parse().expect("the limit is a number"),
                weight => {
                    let weight = weight.parse().expect("a weight is a number");
                    self.weights.extend(list.split(" | ").map(|run| (run, weight)));
                }
            }
        }
    }

    /// Returns the banned phrases of a text.
    pub(crate) fn phrases(&self, text: &str) -> Vec<Hit> {
        let words = sentence::words(text);
        let mut hits = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let candidates = self.phrases.get(word.as_str()).into_iter().flatten();
            hits.extend(candidates.filter(|phrase| phrase.matches(&words[at..])).map(Phrase::hit));
        }
        hits
    }

    /// Returns the runs of words with the largest weights if the sentence as a whole is over the limit.
    pub(crate) fn style(&self, text: &str) -> Option<Hit> {
        let mut runs: Vec<(i32, String)> = self.runs(text).into_iter().collect();
        let score: i32 = runs.iter().map(|(weight, _)| weight).sum();
        if score <= self.limit {
            return None;
        }
        runs.sort_by(|a, b| b.cmp(a));
        let worst: Vec<_> = runs.iter().take(3).map(|(_, run)| format!("\"{run}\"")).collect();
        Some(Hit {
            phrase: format!("style: {}", worst.join(", ")),
            advice: "rewrite the sentence: a concrete subject, a verb, the usual term".to_owned(),
        })
    }

    /// Returns the distinct runs of words that have a weight.
    fn runs(&self, text: &str) -> BTreeSet<(i32, String)> {
        let words = sentence::words(text);
        let words: Vec<&str> = words.iter().map(|word| self.style_word(word)).collect();
        let runs = (1..=LONGEST).flat_map(|length| words.windows(length)).map(|run| run.join(" "));
        runs.filter_map(|run| self.weights.get(run.as_str()).map(|weight| (*weight, run))).collect()
    }

    fn style_word<'a>(&self, word: &'a str) -> &'a str {
        if self.style_words.contains(word) { word } else { OTHER }
    }
}

impl Phrase {
    fn matches(&self, words: &[String]) -> bool {
        let is_equal = |(phrase, word): (&&str, &String)| *phrase == "*" || phrase == word;
        words.len() >= self.words.len() && self.words.iter().zip(words).all(is_equal)
    }

    fn hit(&self) -> Hit {
        Hit { phrase: format!("\"{}\"", self.text), advice: self.advice.to_owned() }
    }
}
