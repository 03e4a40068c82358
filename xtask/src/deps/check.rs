//! Holds what is depended upon against what is written of it.

use std::collections::{BTreeMap, BTreeSet};

use crate::deps::document::Document;
use crate::deps::graph::Graph;
use crate::deps::licence::is_satisfied;

/// What is wrong, one thing a line.
pub(crate) fn check(graph: &Graph, document: &Document) -> Vec<String> {
    let mut wrong = reasons(graph, document);
    wrong.extend(licences(graph, document));
    wrong.extend(duplicates(graph, document));
    wrong
}

fn reasons(graph: &Graph, document: &Document) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, users) in &graph.direct {
        let users: Vec<_> = users.iter().map(String::as_str).collect();
        match document.direct.get(name).map(String::as_str) {
            None => wrong.push(format!("`{name}`, which {} asks for, is not listed", users.join(" and "))),
            Some("") => wrong.push(format!("`{name}` has no reason")),
            Some(_) => {}
        }
    }
    let is_gone = |name: &&String| !graph.direct.contains_key(*name);
    wrong.extend(
        document
            .direct
            .keys()
            .filter(is_gone)
            .map(|name| format!("`{name}` is listed, and nobody asks for it")),
    );
    wrong
}

fn licences(graph: &Graph, document: &Document) -> Vec<String> {
    let (mut wrong, mut excepted) = (Vec::new(), BTreeSet::new());
    for package in &graph.packages {
        if is_satisfied(&package.licence, &document.licences) {
            continue;
        }
        if document.exceptions.contains_key(&package.name) {
            excepted.insert(&package.name);
            continue;
        }
        let (name, version, licence) = (&package.name, &package.version, &package.licence);
        wrong.push(format!("{name} {version} is under `{licence}`, which is not among the licences"));
    }
    let needless = document.exceptions.keys().filter(|name| !excepted.contains(name));
    wrong.extend(needless.map(|name| format!("`{name}` is an exception that is not needed")));
    wrong
}

fn duplicates(graph: &Graph, document: &Document) -> Vec<String> {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in &graph.packages {
        versions.entry(&package.name).or_default().insert(&package.version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    let unknown = versions.iter().filter(|(name, _)| !document.twice.contains_key(**name));
    let mut wrong: Vec<_> = unknown
        .map(|(name, versions)| {
            let versions: Vec<_> = versions.iter().copied().collect();
            format!("`{name}` is there as {}, and that is not listed", versions.join(" and "))
        })
        .collect();
    let once = document.twice.keys().filter(|name| !versions.contains_key(name.as_str()));
    wrong.extend(once.map(|name| format!("`{name}` is listed as there twice, and is not")));
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deps::document;
    use crate::deps::graph::Package;

    fn package((name, version, licence): (&str, &str, &str)) -> Package {
        Package { name: name.into(), version: version.into(), licence: licence.into() }
    }

    /// What is wrong with these packages, of which ours ask for `serde`.
    fn wrong(packages: &[(&str, &str, &str)], text: &str) -> Vec<String> {
        let direct = [("serde".to_owned(), ["informer".to_owned()].into())].into();
        let graph = Graph { packages: packages.iter().copied().map(package).collect(), direct };
        check(&graph, &document::read(text))
    }

    const DOCUMENT: &str = "## Asked for by name\n| `serde` | reads |\n## Licences\n| `MIT` | short |\n";

    #[test]
    fn what_is_listed_passes() {
        assert_eq!(wrong(&[("serde", "1.0.0", "MIT")], DOCUMENT), [""; 0]);
    }

    #[test]
    fn each_dependency_has_a_reason() {
        let text = "## Asked for by name\n| `gone` | why |\n## Licences\n| `MIT` | short |\n";
        let expected =
            ["`serde`, which informer asks for, is not listed", "`gone` is listed, and nobody asks for it"];
        assert_eq!(wrong(&[], text), expected);
        let empty = "## Asked for by name\n| `serde` | |\n";
        assert_eq!(wrong(&[], empty), ["`serde` has no reason"]);
    }

    #[test]
    fn licences_are_allowed_to_all_or_to_one() {
        let packages = [("imbl", "7.0.0", "MPL-2.0+")];
        let expected = ["imbl 7.0.0 is under `MPL-2.0+`, which is not among the licences"];
        assert_eq!(wrong(&packages, DOCUMENT), expected);
        let excepted = format!("{DOCUMENT}## Exceptions\n| `imbl` | tests |\n");
        assert_eq!(wrong(&packages, &excepted), [""; 0]);
        assert_eq!(wrong(&[], &excepted), ["`imbl` is an exception that is not needed"]);
    }

    #[test]
    fn what_is_there_twice_is_listed() {
        let packages = [("syn", "2.0.0", "MIT"), ("syn", "3.0.0", "MIT"), ("syn", "3.0.0", "MIT")];
        assert_eq!(wrong(&packages, DOCUMENT), ["`syn` is there as 2.0.0 and 3.0.0, and that is not listed"]);
        let listed = format!("{DOCUMENT}## There twice\n| `syn` | two worlds |\n");
        assert_eq!(wrong(&packages, &listed), [""; 0]);
        assert_eq!(wrong(&packages[..1], &listed), ["`syn` is listed as there twice, and is not"]);
    }
}
