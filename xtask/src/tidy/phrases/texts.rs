//! Collects the texts of a file: comments, error texts, log messages, help texts, test names and Markdown.

use crate::tidy::syntax;
use crate::tidy::tree::RustFile;

/// A sentence or a shorter text with the line at which it starts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) line: usize,
    pub(crate) body: String,
}

const LOG_MACROS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];
const HELP_KEYS: [&str; 4] = ["about", "help", "long_about", "long_help"];

/// Returns the texts of a Rust file.
pub(crate) fn of_rust(file: &RustFile<'_>) -> Vec<Text> {
    let mut texts = of_comments(file.text);
    texts.extend(messages(file));
    texts.extend(test_names(file));
    texts
}

/// Returns the sentences of the comments of a Rust file; comments after code on the same line are skipped.
pub(crate) fn of_comments(text: &str) -> Vec<Text> {
    let mut paragraphs = Paragraphs::default();
    let mut marker = "";
    for (index, line) in text.lines().enumerate() {
        let (found, body) = comment(line.trim_start());
        if found != marker {
            paragraphs.close();
            paragraphs.is_code = false;
            marker = found;
        }
        if !found.is_empty() {
            paragraphs.push(index + 1, body.trim());
        }
    }
    paragraphs.finish()
}

/// Returns the sentences of a Markdown file.
pub(crate) fn of_markdown(text: &str) -> Vec<Text> {
    let mut paragraphs = Paragraphs::default();
    for (index, line) in text.lines().enumerate() {
        paragraphs.push(index + 1, line.trim().trim_start_matches("> "));
    }
    paragraphs.finish()
}

/// Splits a line into its comment marker, empty if there is none, and the text after it.
fn comment(line: &str) -> (&'static str, &str) {
    for marker in ["////", "///", "//!", "//"] {
        if let Some(body) = line.strip_prefix(marker) {
            return (marker, body);
        }
    }
    ("", line)
}

/// Joins lines into paragraphs.
#[derive(Debug, Default)]
struct Paragraphs {
    texts: Vec<Text>,
    open: Vec<(usize, String)>,
    is_code: bool,
}

impl Paragraphs {
    fn push(&mut self, line: usize, text: &str) {
        if text.starts_with("```") {
            self.is_code = !self.is_code;
            self.close();
        } else if self.is_code {
        } else if text.is_empty() || is_heading(text) {
            self.close();
        } else if text.starts_with('|') {
            self.close();
            self.texts.push(Text { line, body: text.to_owned() });
        } else {
            let item = list_item(text);
            if item.is_some() {
                self.close();
            }
            self.open.push((line, item.unwrap_or(text).to_owned()));
        }
    }

    /// Ends the paragraph and splits it into sentences.
    fn close(&mut self) {
        let lines = std::mem::take(&mut self.open);
        let paragraph = lines.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(" ");
        for (start, body) in sentences(&paragraph) {
            let mut end = 0;
            let is_at = |(_, text): &&(usize, String)| {
                end += text.len() + 1;
                start < end
            };
            if let Some((line, _)) = lines.iter().find(is_at) {
                self.texts.push(Text { line: *line, body: body.to_owned() });
            }
        }
    }

    fn finish(mut self) -> Vec<Text> {
        self.close();
        self.texts
    }
}

/// Splits a paragraph at full stops, question marks and exclamation marks that a capital letter follows.
///
/// Returns the byte offset of each sentence with its text.
fn sentences(paragraph: &str) -> Vec<(usize, &str)> {
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

fn is_heading(text: &str) -> bool {
    text.trim_start_matches('#').starts_with(' ') && text.starts_with('#')
}

/// Returns the text of a list item without its bullet, number or bold label.
fn list_item(text: &str) -> Option<&str> {
    let number = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = if number.len() < text.len() { number.strip_prefix(". ") } else { None };
    let item = text.strip_prefix("- ").or_else(|| text.strip_prefix("* ")).or(numbered)?;
    let labeled = item.strip_prefix("**").and_then(|rest| rest.split_once("** "));
    Some(labeled.map_or(item, |(_, after)| after))
}

/// Returns the texts of `#[error(..)]`, of log macros and of help settings.
fn messages(file: &RustFile<'_>) -> Vec<Text> {
    let tokens = &file.tokens;
    let mut texts = Vec::new();
    let mut push = |at: usize| {
        if let Some(body) = tokens.literal(at).and_then(string) {
            texts.push(Text { line: tokens.line(at), body });
        }
    };
    for attribute in syntax::attributes(tokens) {
        if tokens.is_word(attribute.body.start, "error") {
            attribute.body.for_each(&mut push);
        }
    }
    for at in 0..tokens.len() {
        let Some(word) = tokens.word(at) else { continue };
        if LOG_MACROS.contains(&word) && tokens.is_mark(at + 1, '!') && tokens.is_open(at + 2, '(') {
            (at + 3..tokens.pair(at + 2)).for_each(&mut push);
        } else if HELP_KEYS.contains(&word) && (tokens.is_mark(at + 1, '=') || tokens.is_open(at + 1, '(')) {
            push(at + 2);
        }
    }
    texts
}

/// Returns the contents of a string literal, with placeholders as code.
fn string(literal: &str) -> Option<String> {
    let inside = literal.split_once('"')?.1.rsplit_once('"')?.0;
    Some(inside.replace(['{', '}'], "`"))
}

fn test_names(file: &RustFile<'_>) -> impl Iterator<Item = Text> {
    file.functions.iter().filter(|function| function.is_test).filter_map(|function| {
        let body = file.tokens.word(function.name)?.replace('_', " ");
        Some(Text { line: file.tokens.line(function.name), body })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::{Tree, files};

    fn bodies(texts: &[Text]) -> Vec<(usize, &str)> {
        texts.iter().map(|text| (text.line, text.body.as_str())).collect()
    }

    #[test]
    fn sentences_end_before_a_capital_letter() {
        let found: Vec<_> =
            sentences("One, e.g. two. `Three`? Four").into_iter().map(|(_, text)| text).collect();
        assert_eq!(found, ["One, e.g. two.", "`Three`?", "Four"]);
    }

    #[test]
    fn comments_are_split_into_sentences_with_their_lines() {
        let text = "//! One. Two\n//! goes here. Three.\n//!\n//! ```\n//! code\n//! ```\n//! - Four.\nfn a() {}\n// Five.";
        let texts = of_comments(text);
        let expected = [(1, "One."), (1, "Two goes here."), (2, "Three."), (7, "Four."), (9, "Five.")];
        assert_eq!(bodies(&texts), expected);
    }

    #[test]
    fn markdown_headings_and_code_are_skipped() {
        let texts = of_markdown("# Title\n\nOne\ntwo.\n\n```\ncode\n```\n1. **R3** Three.\n| a | b |");
        assert_eq!(bodies(&texts), [(3, "One two."), (9, "Three."), (10, "| a | b |")]);
    }

    #[test]
    fn messages_and_test_names_are_collected() {
        let text = "#[error(\"invalid {key}\")] struct E;\n#[arg(help = \"the key\")] struct A;\nfn a() { debug!(v = 1, \"relisting\"); }\n#[test] fn keeps_order() {}";
        let files = files(&[("a/src/b.rs", text)]);
        let texts = of_rust(&Tree::new(&files).rust[0]);
        let expected = [(1, "invalid `key`"), (3, "relisting"), (2, "the key"), (4, "keeps order")];
        let mut found = bodies(&texts);
        let mut expected = expected.to_vec();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}
