//! A Rust file as a flat list of tokens.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// One token; doc comments are attributes, other comments are skipped.
#[derive(Debug)]
pub(crate) struct Token {
    kind: Kind,
    line: usize,
    /// For a bracket the index of the matching one, else the index of the token.
    pair: usize,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Word(String),
    Mark(char),
    Open(char),
    Close(char),
    Literal(String),
}

/// The tokens of a file; methods accept indexes after the end.
#[derive(Debug, Default)]
pub(crate) struct Tokens(Vec<Token>);

impl Tokens {
    /// Parses a file.
    ///
    /// # Errors
    /// The line of the first syntax error.
    pub(crate) fn parse(text: &str) -> Result<Self, usize> {
        let stream: TokenStream =
            text.parse().map_err(|error: proc_macro2::LexError| error.span().start().line)?;
        let mut tokens = Self::default();
        tokens.extend(stream);
        Ok(tokens)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the identifier or keyword at an index.
    pub(crate) fn word(&self, at: usize) -> Option<&str> {
        match &self.0.get(at)?.kind {
            Kind::Word(word) => Some(word),
            Kind::Mark(_) | Kind::Open(_) | Kind::Close(_) | Kind::Literal(_) => None,
        }
    }

    pub(crate) fn is_word(&self, at: usize, word: &str) -> bool {
        self.word(at) == Some(word)
    }

    pub(crate) fn is_mark(&self, at: usize, mark: char) -> bool {
        self.is(at, &Kind::Mark(mark))
    }

    /// Returns true for an opening bracket; brackets are named by their opening character.
    pub(crate) fn is_open(&self, at: usize, bracket: char) -> bool {
        self.is(at, &Kind::Open(bracket))
    }

    pub(crate) fn is_close(&self, at: usize, bracket: char) -> bool {
        self.is(at, &Kind::Close(bracket))
    }

    pub(crate) fn is_literal(&self, at: usize) -> bool {
        self.literal(at).is_some()
    }

    /// Returns the source text of the literal at an index, quotes included.
    pub(crate) fn literal(&self, at: usize) -> Option<&str> {
        match &self.0.get(at)?.kind {
            Kind::Literal(text) => Some(text),
            Kind::Word(_) | Kind::Mark(_) | Kind::Open(_) | Kind::Close(_) => None,
        }
    }

    /// Returns true for `::`, which has two tokens.
    pub(crate) fn is_path_separator(&self, at: usize) -> bool {
        self.is_mark(at, ':') && self.is_mark(at + 1, ':')
    }

    /// Returns the index of the matching bracket, or of the token itself.
    pub(crate) fn pair(&self, at: usize) -> usize {
        self.0.get(at).map_or(at, |token| token.pair)
    }

    pub(crate) fn line(&self, at: usize) -> usize {
        self.0.get(at).or(self.0.last()).map_or(1, |token| token.line)
    }

    /// Returns the indexes of a word.
    pub(crate) fn find<'a>(&'a self, word: &'a str) -> impl Iterator<Item = usize> + 'a {
        (0..self.len()).filter(move |&at| self.is_word(at, word))
    }

    fn is(&self, at: usize, kind: &Kind) -> bool {
        self.0.get(at).is_some_and(|token| token.kind == *kind)
    }

    fn extend(&mut self, stream: TokenStream) {
        for tree in stream {
            let line = tree.span().start().line;
            match tree {
                TokenTree::Ident(word) => self.push(Kind::Word(word.to_string()), line),
                TokenTree::Punct(mark) => self.push(Kind::Mark(mark.as_char()), line),
                TokenTree::Literal(text) => self.push(Kind::Literal(text.to_string()), line),
                TokenTree::Group(group) => self.extend_group(&group),
            }
        }
    }

    fn extend_group(&mut self, group: &Group) {
        let bracket = match group.delimiter() {
            Delimiter::Parenthesis => '(',
            Delimiter::Brace => '{',
            Delimiter::Bracket => '[',
            Delimiter::None => return self.extend(group.stream()),
        };
        let open = self.len();
        self.push(Kind::Open(bracket), group.span_open().start().line);
        self.extend(group.stream());
        let close = self.len();
        self.push(Kind::Close(bracket), group.span_close().start().line);
        self.0[open].pair = close;
        self.0[close].pair = open;
    }

    fn push(&mut self, kind: Kind, line: usize) {
        let pair = self.len();
        self.0.push(Token { kind, line, pair });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_comments_have_no_words() {
        let tokens = Tokens::parse("// todo\nlet a = \"todo\"; /* todo */ 'x' r#\"todo\"#").unwrap();
        assert_eq!(tokens.find("todo").count(), 0);
        assert_eq!(tokens.line(0), 2);
    }

    #[test]
    fn brackets_match() {
        let tokens = Tokens::parse("f(a, [b])").unwrap();
        assert!(tokens.is_open(1, '(') && tokens.is_close(tokens.pair(1), '('));
        assert_eq!(tokens.pair(tokens.pair(4)), 4);
    }

    #[test]
    fn an_unclosed_bracket_is_found_by_line() {
        assert_eq!(Tokens::parse("fn a() {}\nfn b() {").unwrap_err(), 2);
    }
}
