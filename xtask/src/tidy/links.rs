//! Links and paths in documents refer to existing files.

use crate::tidy::tree::{SourceFile, Tree};
use crate::tidy::violation::Violation;

const RULE: &str = "links";

/// The document with the code map, in which code paths are checked too.
const CODE_MAP: &str = "ARCHITECTURE.md";

pub(crate) fn check(tree: &Tree<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in tree.files.iter().filter(|file| is_document(&file.path)) {
        for (line, text) in prose(&file.text) {
            let links = links(text).into_iter().map(|link| (link, resolve(&file.path, link)));
            let mapped = code_paths(text).map(|path| (path, Some(path.to_owned())));
            let is_map = file.path == CODE_MAP;
            for (written, path) in links.chain(mapped.filter(|_| is_map)) {
                if !path.is_some_and(|path| tree.has(&path)) {
                    violations.push(dead(file, line, written));
                }
            }
        }
    }
    violations
}

fn dead(file: &SourceFile, line: usize, written: &str) -> Violation {
    Violation {
        file: file.path.clone(),
        line,
        rule: RULE,
        problem: format!("`{written}` does not exist"),
        fix: "write a path of the tree, relative to this file in a link".to_owned(),
    }
}

/// Returns true for documents in the root, in docs/ and in crates/.
fn is_document(path: &str) -> bool {
    path.ends_with(".md") && (!path.contains('/') || path.starts_with("docs/") || path.starts_with("crates/"))
}

/// Returns the lines outside of fenced code, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then_some((index + 1, line))
    })
}

/// Returns the targets of `[text](target)` and `[text]: target` that are files of this repository.
fn links(line: &str) -> Vec<&str> {
    let inline = line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    let defined =
        line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|(_, target)| target.trim());
    let is_ours = |target: &&str| {
        !target.contains("://") && !target.starts_with(['#']) && !target.starts_with("mailto:")
    };
    inline.chain(defined).filter(is_ours).collect()
}

/// Returns the code in backquotes that starts with `crates/`, without patterns and placeholders.
fn code_paths(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split('`').skip(1).step_by(2);
    quoted.filter(|text| {
        text.starts_with("crates/") && !text.contains(['*', '{', '<', ' ']) && !text.contains("..")
    })
}

/// Returns the path of a link from the root; `None` if it leaves the repository.
fn resolve(document: &str, link: &str) -> Option<String> {
    let link = link.split('#').next()?;
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::found;

    const CODE: (&str, &str) = ("crates/wire/src/key.rs", "");

    fn passes(path: &str, text: &str) {
        assert_eq!(found(check, &[CODE, (path, text)]), [""; 0]);
    }

    fn fails(path: &str, text: &str, written: &str) {
        let expected = format!("{path}:1: links: `{written}` does not exist");
        assert_eq!(found(check, &[CODE, (path, text)]), [expected]);
    }

    #[test]
    fn links_to_files_and_folders_pass() {
        passes("README.md", "[key](crates/wire/src/key.rs#L3), [wire](./crates/wire/), [here](#usage)");
        passes("docs/guide.md", "[key](../crates/wire/src/key.rs) [self](guide.md) [web](https://a.b/c)");
        passes("README.md", "```\n[a](b)\n```");
        passes("README.md", "[key]: crates/wire/src/key.rs");
    }

    #[test]
    fn dead_links_are_caught() {
        fails("README.md", "[key](crates/wire/key.rs)", "crates/wire/key.rs");
        fails("docs/guide.md", "[key](crates/wire)", "crates/wire");
        fails("docs/guide.md", "[up](../../elsewhere.md)", "../../elsewhere.md");
        fails("README.md", "[key]: nowhere.md", "nowhere.md");
    }

    #[test]
    fn paths_of_the_code_map_are_checked() {
        passes("ARCHITECTURE.md", "`crates/wire`, `crates/wire/src/key.rs`, `crates/*/src`");
        fails("ARCHITECTURE.md", "`crates/wire/src/lib.rs`", "crates/wire/src/lib.rs");
        passes("CONTRIBUTING.md", "`crates/name`");
    }
}
