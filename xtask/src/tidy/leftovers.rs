//! No `todo!`, and no allowed lint without a reason.

use crate::tidy::syntax;
use crate::tidy::tree::{RustFile, Tree};
use crate::tidy::violation::Violation;

const RULE: &str = "leftovers";

pub(crate) fn check(tree: &Tree<'_>) -> Vec<Violation> {
    tree.rust.iter().flat_map(|file| unfinished(file).chain(silenced(file))).collect()
}

fn unfinished<'a>(file: &'a RustFile<'_>) -> impl Iterator<Item = Violation> + 'a {
    let tokens = &file.tokens;
    ["todo", "unimplemented"].into_iter().flat_map(move |name| {
        let calls =
            tokens.find(name).filter(|at| tokens.is_mark(at + 1, '!') && !tokens.is_mark(at + 2, '='));
        calls.map(move |at| {
            let problem = format!("`{name}!` is left in the code");
            file.violation(RULE, tokens.line(at), problem, "implement it, or return an error")
        })
    })
}

fn silenced<'a>(file: &'a RustFile<'_>) -> impl Iterator<Item = Violation> + 'a {
    let tokens = &file.tokens;
    let allowing = |name: &str| name == "allow" || name == "expect";
    let attributes = syntax::attributes(tokens).into_iter();
    attributes.flat_map(|attribute| attribute.body).filter_map(move |at| {
        let name = tokens.word(at).filter(|name| allowing(name) && tokens.is_open(at + 1, '('))?;
        let has_reason = (at + 1..tokens.pair(at + 1)).any(|inside| tokens.is_word(inside, "reason"));
        let problem = || format!("`{name}` gives no reason");
        let fix = "fix the warning, or add `reason = \"..\"`";
        (!has_reason).then(|| file.violation(RULE, tokens.line(at), problem(), fix))
    })
}

#[cfg(test)]
mod tests {
    use crate::tidy::tree::found;

    fn check(text: &str, expected: &[&str]) {
        let expected: Vec<_> =
            expected.iter().map(|problem| format!("a/src/b.rs:1: leftovers: {problem}")).collect();
        assert_eq!(found(super::check, &[("a/src/b.rs", text)]), expected);
    }

    #[test]
    fn names_of_functions_and_variables_pass() {
        check("fn todo() { let todo = list.expect(\"a list\"); let a = todo != 1; }", &[]);
    }

    #[test]
    fn unfinished_code_is_caught() {
        check("fn a() { todo!() }", &["`todo!` is left in the code"]);
        check("fn a() { unimplemented!(\"later\") }", &["`unimplemented!` is left in the code"]);
    }

    #[test]
    fn a_reason_is_enough() {
        check("#[allow(dead_code, reason = \"read by the debugger\")] fn a() {}", &[]);
        check("#![expect(unused, reason = \"shown in the docs\")]", &[]);
    }

    #[test]
    fn silence_without_reason_is_caught() {
        check("#[allow(dead_code)] fn a() {}", &["`allow` gives no reason"]);
        check("#![cfg_attr(docsrs, allow(unused))]", &["`allow` gives no reason"]);
        check("fn a() { #[expect(unused)] let b = 1; }", &["`expect` gives no reason"]);
    }
}
