//! What the docs show in Rust compiles: every snippet stands here, line by line.

mod shown;

/// The docs that show Rust, but for the README, which is a doc test.
const DOCS: [(&str, &str); 7] = [
    ("concepts.md", include_str!("../../../../docs/concepts.md")),
    ("devserver.md", include_str!("../../../../docs/devserver.md")),
    ("from-client-go.md", include_str!("../../../../docs/from-client-go.md")),
    ("from-kube-rs.md", include_str!("../../../../docs/from-kube-rs.md")),
    ("memory.md", include_str!("../../../../docs/memory.md")),
    ("restarts.md", include_str!("../../../../docs/restarts.md")),
    ("testing.md", include_str!("../../../../docs/testing.md")),
];

/// The lines of a text that say something: without comments, indentation and what stands for a reader's own code.
fn lines(text: &str) -> Vec<&str> {
    let code = text.lines().map(|line| {
        line.find("//").map_or(line, |comment| match line[..comment].ends_with(':') {
            // That of a URL is none.
            true => line,
            false => &line[..comment],
        })
    });
    code.map(str::trim).filter(|line| !line.is_empty() && !line.contains("(..)")).collect()
}

/// The snippets of a document.
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
fn every_snippet_stands_in_what_is_compiled() {
    let compiled = lines(include_str!("shown.rs"));
    let mut count = 0;
    for (name, document) in DOCS {
        let snippets = snippets(document);
        assert!(!snippets.is_empty(), "{name} shows nothing any more");
        for snippet in snippets {
            let shown = lines(snippet);
            let is_there = compiled.windows(shown.len()).any(|part| part == shown);
            assert!(
                is_there && !shown.is_empty(),
                "not in shown.rs as it is in {name}:\n{}",
                shown.join("\n")
            );
            count += 1;
        }
    }
    assert!(count >= 14, "{count}");
}

#[test]
fn every_document_that_shows_rust_is_looked_at() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for file in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = file.file_name().into_string().unwrap();
        let shows = || std::fs::read_to_string(file.path()).unwrap().contains("```rust");
        let is_known = DOCS.iter().any(|(known, _)| *known == name);
        assert!(!name.ends_with(".md") || is_known || !shows(), "{name}");
    }
}
