//! Functions have named parameters, not tuples of them.

use crate::tidy::syntax::Function;
use crate::tidy::tree::{RustFile, Tree};
use crate::tidy::violation::Violation;

const RULE: &str = "parameters";

pub(crate) fn check(tree: &Tree<'_>) -> Vec<Violation> {
    tree.rust.iter().flat_map(check_file).collect()
}

fn check_file<'a>(file: &'a RustFile<'_>) -> impl Iterator<Item = Violation> + 'a {
    // The parameter of `From::from` is the type that the trait names.
    let is_from = |function: &&Function| file.tokens.is_word(function.name, "from");
    let functions = file.functions.iter().filter(|function| !file.is_test(function.name));
    let functions = functions.filter(move |function| !is_from(function));
    functions.filter(|function| has_tuple_parameter(file, function)).map(|function| {
        let name = file.tokens.word(function.name).unwrap_or_default();
        let problem = format!("`{name}` takes a tuple");
        let fix = "pass its parts as parameters, or define a struct";
        file.violation(RULE, file.tokens.line(function.name), problem, fix)
    })
}

/// Returns true if the pattern or the type of a parameter is a tuple; references to tuples count.
fn has_tuple_parameter(file: &RustFile<'_>, function: &Function) -> bool {
    let tokens = &file.tokens;
    let Some(open) = (function.name..function.close).find(|&at| tokens.is_open(at, '(')) else {
        return false;
    };
    let mut at = open + 1;
    let mut starts_type = true;
    while at < tokens.pair(open) {
        let is_prefix = tokens.is_mark(at, '&') || tokens.is_mark(at, '\'') || tokens.is_word(at, "mut");
        let has_parts = |open| (open..tokens.pair(open)).any(|inner| tokens.is_mark(inner, ','));
        if starts_type && tokens.is_open(at, '(') && has_parts(at) {
            return true;
        }
        let is_path = tokens.is_path_separator(at) || at > 0 && tokens.is_path_separator(at - 1);
        let is_start = tokens.is_mark(at, ',') || tokens.is_mark(at, ':') && !is_path;
        starts_type = is_start || starts_type && is_prefix;
        at = tokens.pair(at) + 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::tidy::tree::found;

    fn check(path: &str, text: &str, expected: &[&str]) {
        assert_eq!(found(super::check, &[(path, text)]), expected);
    }

    const PATH: &str = "crates/workqueue/src/a.rs";

    #[test]
    fn closures_functions_and_unit_pass() {
        check(
            PATH,
            "fn a(f: impl Fn(u8) -> (u8, u8), unit: (), v: Vec<u8>) -> (u8, u8) { b(|(c, d)| c) }",
            &[],
        );
        check(PATH, "fn a(f: fn(u8), pair: crate::pair::Pair) {}", &[]);
        check(PATH, "fn a(f: &mut (impl Fn() + ?Sized)) {}", &[]);
        check(PATH, "fn from((a, b): (u8, u8)) {}", &[]);
        check(PATH, "#[cfg(test)] mod tests { fn a(pair: (u8, u8)) {} }", &[]);
    }

    #[test]
    fn tuples_are_caught() {
        let problem = ["crates/workqueue/src/a.rs:1: parameters: `a` takes a tuple"];
        check(PATH, "fn a((b, c): (u8, u8)) {}", &problem);
        check(PATH, "fn a(&self, pair: &mut (u8, u8)) {}", &problem);
    }
}
