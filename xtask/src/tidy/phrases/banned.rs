//! The list of banned wording, and the search for it in a sentence.

use std::collections::HashMap;

const LIST: &str = include_str!("banned.txt");

/// Marks that count as words.
const MARKS: [char; 3] = [',', ';', ':'];

/// The parsed list.
#[derive(Debug)]
pub(crate) struct Banned {
    rules: Vec<Rule>,
    /// The rules that may match at a word, by that word or `*`.
    by_first_word: HashMap<&'static str, Vec<usize>>,
}

/// One pattern with its replacement.
#[derive(Debug)]
struct Rule {
    /// The alternatives for each word.
    words: Vec<Vec<&'static str>>,
    replacement: &'static str,
}

/// A banned phrase as it occurs in a sentence.
#[derive(Debug)]
pub(crate) struct Hit {
    pub(crate) phrase: String,
    pub(crate) replacement: &'static str,
}

impl Banned {
    pub(crate) fn new() -> Self {
        let lines = LIST.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let rules: Vec<Rule> = lines.flat_map(rules).collect();
        let mut by_first_word: HashMap<_, Vec<usize>> = HashMap::new();
        for (index, rule) in rules.iter().enumerate() {
            for word in &rule.words[0] {
                by_first_word.entry(*word).or_default().push(index);
            }
        }
        Self { rules, by_first_word }
    }

    /// Returns the banned phrase in the sentence that is first in the list.
    pub(crate) fn find(&self, sentence: &str) -> Option<Hit> {
        let words = words(sentence);
        let mut first: Option<(usize, &[String])> = None;
        for (start, word) in words.iter().enumerate() {
            let rules = [word.as_str(), "*"].map(|first| self.by_first_word.get(first));
            for &index in rules.into_iter().flatten().flatten() {
                let rule = &self.rules[index];
                let window = words.get(start..start + rule.words.len());
                let found = window.filter(|window| rule.matches(window));
                if let Some(found) = found.filter(|_| first.is_none_or(|(first, _)| index < first)) {
                    first = Some((index, found));
                }
            }
        }
        let (index, found) = first?;
        Some(Hit { phrase: found.join(" "), replacement: self.rules[index].replacement })
    }
}

impl Rule {
    fn matches(&self, words: &[String]) -> bool {
        let is_match = |(alternatives, word): (&Vec<&str>, &String)| {
            alternatives.iter().any(|alternative| *alternative == "*" || alternative == word)
        };
        self.words.iter().zip(words).all(is_match)
    }
}

/// Parses a line `pattern | pattern -> replacement`.
fn rules(line: &'static str) -> impl Iterator<Item = Rule> {
    let (patterns, replacement) = line.split_once(" -> ").expect("each line of banned.txt has ` -> `");
    let words = |pattern: &'static str| pattern.split(' ').map(|word| word.split('/').collect()).collect();
    patterns.split(" | ").map(move |pattern| Rule { words: words(pattern), replacement })
}

/// Splits a sentence into lower-case words, between `^` and `$`; code in backquotes is the word `#`.
fn words(sentence: &str) -> Vec<String> {
    let mut words = vec!["^".to_owned()];
    for (index, part) in without_link_targets(sentence).split('`').enumerate() {
        if index % 2 == 1 {
            words.push("#".to_owned());
            continue;
        }
        let part =
            MARKS.iter().fold(part.to_lowercase(), |text, mark| text.replace(*mark, &format!(" {mark} ")));
        let is_word = |c: char| c.is_ascii_lowercase() || c == '\'' || c == '-' || MARKS.contains(&c);
        let found = part.split(|c: char| !is_word(c)).map(|word| word.trim_matches(['\'', '-']));
        words.extend(found.filter(|word| !word.is_empty()).map(str::to_owned));
    }
    words.push("$".to_owned());
    words
}

/// Replaces `[text](target)`, `[text][label]` and `[text]` by `text`.
fn without_link_targets(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        plain.push_str(before);
        let Some((label, after)) = after.split_once(']') else {
            rest = after;
            continue;
        };
        plain.push_str(label);
        rest = after;
        for (open, close) in [('(', ')'), ('[', ']')] {
            if let Some((_, after)) = after.strip_prefix(open).and_then(|target| target.split_once(close)) {
                rest = after;
            }
        }
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_code_and_marks_become_words() {
        let found = words("See [`Queue`](crate::Queue), or [the docs][docs]: it's 2 days' client-go.");
        let expected = ["^", "see", "#", ",", "or", "the", "docs", ":", "it's", "days", "client-go", "$"];
        assert_eq!(found, expected);
    }

    #[test]
    fn alternatives_and_wildcards_match_one_word_each() {
        let rule = rules("what a/an * has -> name it").next().unwrap();
        let matches = |text: &str| rule.matches(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert!(matches("what an object has"));
        assert!(!matches("what the object has") && !matches("what a has it"));
    }
}
