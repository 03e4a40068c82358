//! Licence expressions, as crates write them.

use std::collections::BTreeSet;

/// Whether an expression such as `(MIT OR Apache-2.0) AND Unicode-3.0` can be satisfied with these licences alone.
///
/// A slash stands for `OR`, as in older crates. What cannot be read cannot be satisfied.
pub(crate) fn is_satisfied(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut reader = Reader { words: spaced.split_whitespace().collect(), at: 0, allowed };
    reader.any() == Some(true) && reader.at == reader.words.len()
}

struct Reader<'a> {
    words: Vec<&'a str>,
    at: usize,
    allowed: &'a BTreeSet<String>,
}

impl Reader<'_> {
    fn any(&mut self) -> Option<bool> {
        let mut is_satisfied = self.all()?;
        while self.take("OR") {
            is_satisfied |= self.all()?;
        }
        Some(is_satisfied)
    }

    fn all(&mut self) -> Option<bool> {
        let mut is_satisfied = self.one()?;
        while self.take("AND") {
            is_satisfied &= self.one()?;
        }
        Some(is_satisfied)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let is_satisfied = self.any()?;
            return self.take(")").then_some(is_satisfied);
        }
        let name = *self.words.get(self.at).filter(|word| !matches!(**word, "OR" | "AND" | "WITH" | ")"))?;
        self.at += 1;
        if self.take("WITH") {
            // An exception gives more rights, and is a licence of its own all the same.
            let exception = *self.words.get(self.at)?;
            self.at += 1;
            return Some(self.allowed.contains(&format!("{name} WITH {exception}")));
        }
        Some(self.allowed.contains(name))
    }

    fn take(&mut self, word: &str) -> bool {
        let is_next = self.words.get(self.at) == Some(&word);
        self.at += usize::from(is_next);
        is_next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expression: &str, expected: bool) {
        let allowed = ["MIT", "Unicode-3.0"].map(str::to_owned).into();
        assert_eq!(is_satisfied(expression, &allowed), expected, "{expression}");
    }

    #[test]
    fn one_of_several_is_enough() {
        for expression in ["MIT", "GPL-3.0 OR MIT", "GPL-3.0/MIT", "(MIT OR GPL-3.0) AND Unicode-3.0"] {
            check(expression, true);
        }
    }

    #[test]
    fn all_of_several_are_needed() {
        for expression in ["GPL-3.0", "MIT AND GPL-3.0", "GPL-3.0 OR MIT AND ISC", "MIT WITH exception"] {
            check(expression, false);
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_allowed() {
        for expression in ["", "MIT OR", "MIT MIT", "(MIT", "MIT)", "AND MIT", "mit"] {
            check(expression, false);
        }
    }
}
