//! The tables of the document that lists dependencies, duplicates and licences.

use std::collections::{BTreeMap, BTreeSet};

/// What the document lists; each with what stands beside it.
#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(crate) direct: BTreeMap<String, String>,
    pub(crate) twice: BTreeMap<String, String>,
    pub(crate) licences: BTreeSet<String>,
    /// Packages whose licence is allowed to them alone.
    pub(crate) exceptions: BTreeMap<String, String>,
}

/// Reads the rows below each heading: a name between backticks, and a reason in the last cell.
pub(crate) fn read(text: &str) -> Document {
    let (mut document, mut heading) = (Document::default(), "");
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            heading = name.trim();
        }
        let Some((name, reason)) = row(line) else { continue };
        match heading {
            "Asked for by name" => drop(document.direct.insert(name, reason)),
            "There twice" => drop(document.twice.insert(name, reason)),
            "Licences" => drop(document.licences.insert(name)),
            "Exceptions" => drop(document.exceptions.insert(name, reason)),
            _ => {}
        }
    }
    document
}

fn row(line: &str) -> Option<(String, String)> {
    let cells: Vec<_> = line.trim().strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
    let name = cells.first()?.strip_prefix('`')?.strip_suffix('`')?;
    Some((name.to_owned(), (*cells.last()?).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_belong_to_the_heading_above_them() {
        let text = "# Title\n| `no` | x |\n## Asked for by name\n| name | why |\n|---|---|\n| `serde` | reads |\n\
                    ## Licences\n| `MIT` | short |\n## There twice\n| `syn` | two worlds |\n## Exceptions\n| `imbl` | MPL-2.0+ | tests |";
        let document = read(text);
        assert_eq!(document.direct, [("serde".to_owned(), "reads".to_owned())].into());
        assert_eq!(document.licences, ["MIT".to_owned()].into());
        assert_eq!(document.twice, [("syn".to_owned(), "two worlds".to_owned())].into());
        assert_eq!(document.exceptions, [("imbl".to_owned(), "tests".to_owned())].into());
    }
}
