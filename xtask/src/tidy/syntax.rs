//! Finds attributes, functions, modules and test code in the tokens of a file.

use std::ops::Range;

use crate::tidy::tokens::Tokens;

/// An attribute, from `#` to the closing bracket.
#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) start: usize,
    pub(crate) body: Range<usize>,
    is_inner: bool,
}

/// A function with a body.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: usize,
    /// The attributes, signature and body.
    pub(crate) all: Range<usize>,
    pub(crate) close: usize,
    pub(crate) is_test: bool,
}

/// A `mod` declaration; inline modules have a body.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) name: usize,
    pub(crate) body: Option<Range<usize>>,
}

/// Returns all attributes, including those in functions and macros.
pub(crate) fn attributes(tokens: &Tokens) -> Vec<Attribute> {
    let attribute = |start| {
        let is_inner = tokens.is_mark(start + 1, '!');
        let open = start + 1 + usize::from(is_inner);
        let is_attribute = tokens.is_mark(start, '#') && tokens.is_open(open, '[');
        is_attribute.then(|| Attribute { start, body: open + 1..tokens.pair(open), is_inner })
    };
    (0..tokens.len()).filter_map(attribute).collect()
}

/// Returns all functions with a body.
pub(crate) fn functions(tokens: &Tokens) -> Vec<Function> {
    tokens.find("fn").filter_map(|at| function(tokens, at)).collect()
}

/// Returns all declared modules.
pub(crate) fn modules(tokens: &Tokens) -> Vec<Module> {
    let module = |at| {
        let name = at + 1;
        tokens.word(name)?;
        let body = tokens.is_open(name + 1, '{').then(|| name + 2..tokens.pair(name + 1));
        (body.is_some() || tokens.is_mark(name + 1, ';')).then_some(Module { name, body })
    };
    tokens.find("mod").filter_map(module).collect()
}

/// Returns the items with `#[cfg(test)]`, or the entire file with `#![cfg(test)]`.
pub(crate) fn test_code(tokens: &Tokens) -> Vec<Range<usize>> {
    let tests = attributes(tokens).into_iter().filter(|attribute| is_cfg_test(tokens, &attribute.body));
    let range = |attribute: Attribute| {
        if attribute.is_inner {
            return 0..tokens.len();
        }
        attribute.start..item_end(tokens, attribute.body.end + 1)
    };
    tests.map(range).collect()
}

fn function(tokens: &Tokens, at: usize) -> Option<Function> {
    let name = at + 1;
    tokens.word(name)?;
    let close = item_end(tokens, name).checked_sub(1).filter(|&end| tokens.is_close(end, '{'))?;
    let (start, is_test) = before_function(tokens, at);
    Some(Function { name, all: start..close + 1, close, is_test })
}

/// Returns the start of the attributes of a function, and whether one of them marks a test.
fn before_function(tokens: &Tokens, at: usize) -> (usize, bool) {
    let mut start = at;
    let mut is_test = false;
    while let Some(last) = start.checked_sub(1) {
        let open = tokens.pair(last);
        let is_attribute = tokens.is_close(last, '[') && open > 0 && tokens.is_mark(open - 1, '#');
        let is_qualifier =
            ["pub", "async", "const", "unsafe", "extern"].iter().any(|w| tokens.is_word(last, w));
        if is_attribute {
            is_test |= names_test(tokens, open + 1..last);
            start = open - 1;
        } else if is_qualifier || tokens.is_literal(last) {
            start = last;
        } else if tokens.is_close(last, '(') && open > 0 && tokens.is_word(open - 1, "pub") {
            start = open - 1;
        } else {
            break;
        }
    }
    (start, is_test)
}

/// Returns true for `test`, `tokio::test(..)` and similar attributes.
fn names_test(tokens: &Tokens, body: Range<usize>) -> bool {
    let end = body.clone().find(|&at| tokens.is_open(at, '(')).unwrap_or(body.end);
    end > body.start && tokens.is_word(end - 1, "test")
}

/// Returns true for `cfg(test)` and `cfg(all(test, ..))`, but not with `any` or `not`.
fn is_cfg_test(tokens: &Tokens, body: &Range<usize>) -> bool {
    let rest = |at: usize| at..body.end;
    tokens.is_word(body.start, "cfg")
        && rest(body.start).any(|at| tokens.is_word(at, "test"))
        && !rest(body.start).any(|at| tokens.is_word(at, "any") || tokens.is_word(at, "not"))
}

/// Returns the end of an item: after its first `;` or its body.
fn item_end(tokens: &Tokens, from: usize) -> usize {
    let mut at = from;
    while at < tokens.len() {
        if tokens.is_mark(at, ';') {
            return at + 1;
        }
        let close = tokens.pair(at);
        if close < at {
            return at;
        }
        if tokens.is_open(at, '{') {
            return close + 1;
        }
        at = close + 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Tokens {
        Tokens::parse(text).unwrap()
    }

    fn names(text: &str) -> Vec<(String, bool)> {
        let tokens = parsed(text);
        let name = |f: Function| (tokens.word(f.name).unwrap().to_owned(), f.is_test);
        functions(&tokens).into_iter().map(name).collect()
    }

    #[test]
    fn functions_are_those_with_a_body() {
        let text = "trait T { fn a(); fn b() -> fn() {} } pub(crate) const fn c<const N: usize>() {}";
        assert_eq!(names(text), [("b".into(), false), ("c".into(), false)]);
    }

    #[test]
    fn tests_are_found_by_their_attribute() {
        let text = "#[test] #[should_panic] fn a() {} #[tokio::test(start_paused = true)] async fn b() {}";
        assert_eq!(names(text), [("a".into(), true), ("b".into(), true)]);
    }

    #[test]
    fn only_the_item_under_the_attribute_is_test_code() {
        let tokens = parsed("#[cfg(test)] #[rustfmt::skip] mod tests { fn a() {} } fn b() {}");
        let found = test_code(&tokens);
        let inside = |word| tokens.find(word).all(|at| found.iter().any(|range| range.contains(&at)));
        assert!(inside("a") && !inside("b"));
    }

    #[test]
    fn code_for_tests_and_others_is_not_test_code() {
        assert!(test_code(&parsed("#[cfg(any(test, feature = \"x\"))] fn a() {}")).is_empty());
        assert!(test_code(&parsed("#[cfg(not(test))] fn a() {}")).is_empty());
    }

    #[test]
    fn modules_are_inline_or_in_files() {
        let found = modules(&parsed("mod a; pub mod b { mod c; }"));
        assert_eq!(
            found.iter().map(|module| module.body.is_some()).collect::<Vec<_>>(),
            [false, true, false]
        );
    }
}
