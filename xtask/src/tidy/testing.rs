//! Tests are never ignored, do not sleep on the real clock, and have claims as names.

use crate::tidy::syntax::{self, Function};
use crate::tidy::tree::{RustFile, Tree};
use crate::tidy::violation::Violation;

const RULE: &str = "testing";

pub(crate) fn check(tree: &Tree<'_>) -> Vec<Violation> {
    tree.rust.iter().flat_map(|file| ignored(file).chain(sleeping(file)).chain(named(file))).collect()
}

fn ignored<'a>(file: &'a RustFile<'_>) -> impl Iterator<Item = Violation> + 'a {
    let tokens = &file.tokens;
    let attributes = syntax::attributes(tokens).into_iter();
    let ignoring = attributes.filter(|attribute| {
        let start = attribute.body.start;
        tokens.is_word(start, "ignore")
            || tokens.is_word(start, "cfg_attr")
                && attribute.body.clone().any(|at| tokens.is_word(at, "ignore"))
    });
    ignoring.map(|attribute| {
        let line = tokens.line(attribute.start);
        file.violation(RULE, line, "a test is ignored", "make it run everywhere, or delete it")
    })
}

fn sleeping<'a>(file: &'a RustFile<'_>) -> impl Iterator<Item = Violation> + 'a {
    let in_tests = file.tokens.find("sleep").filter(|&at| file.is_test(at));
    in_tests.filter_map(move |at| {
        let problem = if is_path(file, at, "thread") {
            "a test sleeps on the real clock"
        } else if is_call(file, at) && !is_paused(file, at) {
            "a test sleeps and time is not paused"
        } else {
            return None;
        };
        let fix = "use `#[tokio::test(start_paused = true)]`, or wait for the event itself";
        Some(file.violation(RULE, file.tokens.line(at), problem, fix))
    })
}

fn named<'a>(file: &'a RustFile<'_>) -> impl Iterator<Item = Violation> + 'a {
    let tests = file.functions.iter().filter(|function| function.is_test);
    tests.filter_map(|test| {
        let name = file.tokens.word(test.name)?;
        let is_claim = !name.starts_with("test_") && !name.split('_').any(|word| word == "should");
        let problem = || format!("`{name}` is not a claim");
        let fix = "state the behavior, as in `keeps_order_per_key`";
        (!is_claim).then(|| file.violation(RULE, file.tokens.line(test.name), problem(), fix))
    })
}

/// Returns true if the word follows `parent::`.
fn is_path(file: &RustFile<'_>, at: usize, parent: &str) -> bool {
    at >= 3 && file.tokens.is_path_separator(at - 2) && file.tokens.is_word(at - 3, parent)
}

/// Returns true for a call of a function, but not of a method, and not for a definition.
fn is_call(file: &RustFile<'_>, at: usize) -> bool {
    let is_own = at > 0 && (file.tokens.is_mark(at - 1, '.') || file.tokens.is_word(at - 1, "fn"));
    file.tokens.is_open(at + 1, '(') && !is_own
}

/// Returns true if time is paused in this function, or in tests of this file that call it.
fn is_paused(file: &RustFile<'_>, at: usize) -> bool {
    let is_pause = |at| {
        file.tokens.is_word(at, "start_paused")
            || file.tokens.is_word(at, "pause") && is_path(file, at, "time")
    };
    let around: Vec<&Function> =
        file.functions.iter().filter(|function| function.all.contains(&at)).collect();
    let is_in_test = around.iter().any(|function| function.is_test);
    let is_marked = around.iter().any(|function| function.all.clone().any(is_pause));
    is_marked || !is_in_test && (0..file.tokens.len()).any(is_pause)
}

#[cfg(test)]
mod tests {
    use crate::tidy::tree::found;

    fn check(path: &str, text: &str, expected: &[&str]) {
        let expected: Vec<_> =
            expected.iter().map(|problem| format!("{path}:1: testing: {problem}")).collect();
        assert_eq!(found(super::check, &[(path, text)]), expected);
    }

    #[test]
    fn ignored_tests_are_caught() {
        check("a/src/b.rs", "#[test] fn keeps_order() {}", &[]);
        check("a/src/b.rs", "#[test] #[ignore = \"slow\"] fn keeps_order() {}", &["a test is ignored"]);
        check("a/src/b.rs", "#[cfg_attr(miri, ignore)] #[test] fn keeps_order() {}", &["a test is ignored"]);
    }

    #[test]
    fn names_without_a_claim_are_caught() {
        check("a/src/b.rs", "fn test_server() {} fn should_resync() {}", &[]);
        check("a/src/b.rs", "#[test] fn test_order() {}", &["`test_order` is not a claim"]);
        check(
            "a/src/b.rs",
            "#[tokio::test] async fn it_should_work() {}",
            &["`it_should_work` is not a claim"],
        );
    }

    #[test]
    fn code_may_sleep() {
        check("a/src/b.rs", "async fn a() { tokio::time::sleep(d).await }", &[]);
    }

    #[test]
    fn tests_in_paused_time_may_sleep() {
        let paused = "#[tokio::test(start_paused = true)] async fn a() { b().await; time::sleep(d).await }";
        check("a/tests/b.rs", paused, &[]);
        check("a/tests/b.rs", &format!("{paused} async fn b() {{ sleep(d).await }}"), &[]);
        check("a/tests/b.rs", "#[tokio::test] async fn a() { time::pause(); time::sleep(d).await }", &[]);
    }

    #[test]
    fn tests_that_sleep_are_caught() {
        let problem = ["a test sleeps and time is not paused"];
        check("a/tests/b.rs", "#[tokio::test] async fn a() { tokio::time::sleep(d).await }", &problem);
        check("a/src/b.rs", "#[cfg(test)] mod tests { async fn a() { sleep(d).await } }", &problem);
        check("a/tests/b.rs", "#[test] fn a() { thread::sleep(d) }", &["a test sleeps on the real clock"]);
    }
}
