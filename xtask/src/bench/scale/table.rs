//! The numbers of objects one below the other, client by client.

use std::fmt::Write;

use serde_json::Value;

use crate::bench::figure::Unit;

/// The table of all documents.
pub(super) fn table(documents: &[Value]) -> String {
    let mut text = format!(
        "{:<18}  {:>9}  {:>10}  {:>10}  {:>10}  {:>10}  {:>10}  {:>10}  {:>11}\n",
        "client", "objects", "sync", "per 10k", "steady", "an object", "peak", "relist", "relist peak"
    );
    for name in clients(documents) {
        for document in documents {
            let Some(client) = of(document, &name) else { continue };
            let objects = document["objects"].as_f64().unwrap_or(1.0);
            let show = |key: &str, unit: Unit| match client[key].as_f64() {
                Some(value) => unit.show(value),
                None => "-".to_owned(),
            };
            let each = client["sync_seconds"].as_f64().unwrap_or(0.0) * 1e4 / objects;
            _ = writeln!(
                text,
                "{name:<18}  {objects:>9}  {:>10}  {:>10}  {:>10}  {:>10}  {:>10}  {:>10}  {:>11}",
                show("sync_seconds", Unit::Seconds),
                Unit::Seconds.show(each),
                show("steady_bytes", Unit::Bytes),
                show("bytes_per_object", Unit::Bytes),
                show("peak_bytes", Unit::Bytes),
                show("relist_seconds", Unit::Seconds),
                show("relist_peak", Unit::Times),
            );
        }
    }
    text
}

/// Who is in any of the documents, in the order of the first.
pub(super) fn clients(documents: &[Value]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for client in documents.iter().flat_map(|document| document["clients"].as_array().into_iter().flatten()) {
        let name = client["client"].as_str().unwrap_or_default();
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// One client in a document.
pub(super) fn of<'d>(document: &'d Value, name: &str) -> Option<&'d Value> {
    document["clients"].as_array()?.iter().find(|client| client["client"] == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::contender::Contender::{Ours, OursCompact};
    use crate::bench::scale::document::tests::of as document;

    #[test]
    fn a_client_has_a_line_for_each_number_it_ran_with() {
        let documents = [
            document(10_000, &[(Ours, 1.0, 98_000.0), (OursCompact, 0.8, 1_500.0)]),
            document(1_000_000, &[(OursCompact, 90.0, 1_400.0)]),
        ];
        let text = table(&documents);
        let lines: Vec<_> = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert_eq!(&lines[1][..6], ["whole", "10000", "1.000", "s", "1.000", "s"]);
        assert_eq!(&lines[3][..6], ["compact", "1000000", "90.000", "s", "0.900", "s"]);
    }
}
