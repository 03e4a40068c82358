//! Compiles the Rust snippets of the docs: every snippet is part of `snippets.rs`, line by line.

mod client_go_rows;
mod kube_rs_rows;
mod rows;
mod snippets;

/// The documents with Rust snippets. The README is a doc test instead.
const DOCS: [(&str, &str); 10] = [
    ("concepts.md", include_str!("../../../../docs/concepts.md")),
    ("controllers.md", include_str!("../../../../docs/controllers.md")),
    ("devserver.md", include_str!("../../../../docs/devserver.md")),
    ("from-client-go.md", include_str!("../../../../docs/from-client-go.md")),
    ("from-kube-rs.md", include_str!("../../../../docs/from-kube-rs.md")),
    ("history.md", include_str!("../../../../docs/history.md")),
    ("memory.md", include_str!("../../../../docs/memory.md")),
    ("restarts.md", include_str!("../../../../docs/restarts.md")),
    ("scaling.md", include_str!("../../../../docs/scaling.md")),
    ("testing.md", include_str!("../../../../docs/testing.md")),
];

/// Returns the lines of code: without comments, indentation, blank lines and placeholders (`(..)`).
fn lines(text: &str) -> Vec<&str> {
    let code = text.lines().map(|line| {
        match line.find("//") {
            // Except the slashes of a URL.
            Some(comment) if !line[..comment].ends_with(':') => &line[..comment],
            _ => line,
        }
    });
    code.map(str::trim).filter(|line| !line.is_empty() && !line.contains("(..)")).collect()
}

/// Returns the snippets of a document.
fn snippets(document: &str) -> Vec<&str> {
    let mut blocks = document.split("```rust");
    blocks.next();
    blocks
        .map(|block| {
            block.split_once('\n').and_then(|(_, rest)| rest.split("```").next()).unwrap_or_default()
        })
        .collect()
}

#[test]
fn every_snippet_is_compiled() {
    let compiled = lines(include_str!("snippets.rs"));
    let mut count = 0;
    for (name, document) in DOCS {
        let snippets = snippets(document);
        assert!(!snippets.is_empty(), "{name} has no snippets");
        for snippet in snippets {
            let code = lines(snippet);
            let is_there = compiled.windows(code.len()).any(|part| part == code);
            assert!(
                is_there && !code.is_empty(),
                "not in snippets.rs as it is in {name}:\n{}",
                code.join("\n")
            );
            count += 1;
        }
    }
    assert!(count >= 14, "{count}");
}

#[test]
fn every_document_with_rust_snippets_is_checked() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for file in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = file.file_name().into_string().unwrap();
        let has_snippets = || std::fs::read_to_string(file.path()).unwrap().contains("```rust");
        let is_known = DOCS.iter().any(|(known, _)| *known == name);
        assert!(!name.ends_with(".md") || is_known || !has_snippets(), "{name}");
    }
}
