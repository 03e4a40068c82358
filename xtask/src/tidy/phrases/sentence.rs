//! Splits prose into sentences, and sentences into lower-case words.

/// Marks that count as words.
const MARKS: [char; 3] = [',', ';', ':'];

/// A word that stands for anything in code quotes.
pub(crate) const CODE: &str = "#";
/// A word that marks the start of a sentence.
pub(crate) const START: &str = "^";
/// A word that marks the end of a sentence.
pub(crate) const END: &str = "$";

/// Splits a paragraph at full stops, question marks and exclamation marks that a capital letter follows.
///
/// Returns the byte offset of each sentence with its text.
pub(crate) fn sentences(paragraph: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut start = 0;
    for (at, space) in paragraph.char_indices().filter(|(_, c)| c.is_whitespace()) {
        let next = at + space.len_utf8();
        let ends = paragraph[start..at].ends_with(['.', '!', '?']);
        let starts =
            paragraph[next..].starts_with(|first: char| first.is_uppercase() || first == '`' || first == '[');
        if ends && starts {
            found.push((start, &paragraph[start..at]));
            start = next;
        }
    }
    found.push((start, &paragraph[start..]));
    found
}

/// Returns the words of a sentence between [`START`] and [`END`]; digits and other marks are dropped.
pub(crate) fn words(sentence: &str) -> Vec<String> {
    let mut words = vec![START.to_owned()];
    // Odd parts are in code quotes.
    for (index, part) in without_link_targets(sentence).split('`').enumerate() {
        if index % 2 == 1 {
            words.push(CODE.to_owned());
        } else {
            push_words(part, &mut words);
        }
    }
    words.push(END.to_owned());
    words
}

fn push_words(text: &str, words: &mut Vec<String>) {
    let lower = text.to_lowercase();
    for chunk in lower.split(|c: char| !(c.is_ascii_lowercase() || c == '\'' || MARKS.contains(&c))) {
        let mut rest = chunk;
        while let Some(at) = rest.find(MARKS) {
            push_word(&rest[..at], words);
            words.push(rest[at..=at].to_owned());
            rest = &rest[at + 1..];
        }
        push_word(rest, words);
    }
}

fn push_word(word: &str, words: &mut Vec<String>) {
    let word = word.trim_matches('\'');
    if !word.is_empty() {
        words.push(word.to_owned());
    }
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
    fn sentences_end_before_a_capital_letter() {
        let found: Vec<_> =
            sentences("One, e.g. two. `Three`? Four").into_iter().map(|(_, text)| text).collect();
        assert_eq!(found, ["One, e.g. two.", "`Three`?", "Four"]);
    }

    #[test]
    fn links_code_and_marks_become_words() {
        let found = words("See [`Queue`](crate::Queue), or [the docs][docs]: it's 2 days' work.");
        let expected = ["^", "see", "#", ",", "or", "the", "docs", ":", "it's", "days", "work", "$"];
        assert_eq!(found, expected);
    }
}
