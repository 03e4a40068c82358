//! `informer new-operator`: the written files, and the errors.
//!
//! `cargo xtask test operator` checks that the project builds and passes its tests.

use crate::folder::folder;
use crate::program::{Ended, run};
use std::path::Path;

async fn generate(arguments: &[&str]) -> Ended {
    run(&[&["new-operator"], arguments].concat()).await
}

/// Returns the paths of all files below a folder, sorted.
fn files(folder: &Path) -> Vec<String> {
    let mut paths = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap().map(Result::unwrap) {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                paths.push(entry.path().strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    paths.sort_unstable();
    paths
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_has_code_tests_and_manifests() {
    let target = folder().join("new/website");
    let ended = generate(&["website-operator", "--dir", target.to_str().unwrap()]).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert!(ended.stdout.contains("an operator for Website (websites.example.com)"), "{}", ended.stdout);
    assert!(ended.stdout.contains("cargo test"), "{}", ended.stdout);
    let expected = [
        ".dockerignore",
        ".gitignore",
        "Cargo.toml",
        "Dockerfile",
        "README.md",
        "examples/local.rs",
        "manifests/crd.yaml",
        "manifests/deployment.yaml",
        "manifests/example.yaml",
        "manifests/rbac.yaml",
        "src/lib.rs",
        "src/main.rs",
        "src/operator.rs",
        "src/resource.rs",
        "tests/manifests.rs",
        "tests/operator.rs",
    ];
    assert_eq!(files(&target), expected);
    let read = |path: &str| std::fs::read_to_string(target.join(path)).unwrap();
    assert!(read("Cargo.toml").contains("name = \"website-operator\""));
    assert!(read("src/main.rs").contains("use website_operator::operator::"));
    for path in expected.into_iter().filter(|path| path.ends_with(".yaml")) {
        for document in read(path).split("\n---\n") {
            let parsed: serde_json::Value = serde_saphyr::from_str(document).unwrap();
            assert!(parsed["kind"].is_string(), "{path}: {parsed}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_with_files_is_not_changed() {
    let target = folder();
    std::fs::write(target.join("notes.txt"), "mine").unwrap();
    let ended = generate(&["website-operator", "--dir", target.to_str().unwrap()]).await;
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("is not empty") && ended.stderr.contains("--dir"), "{}", ended.stderr);
    assert_eq!(files(&target), ["notes.txt"]);

    let file = target.join("notes.txt");
    let ended = generate(&["website-operator", "--dir", file.to_str().unwrap()]).await;
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("is not a folder"), "{}", ended.stderr);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "mine");
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_names_are_refused_before_anything_is_written() {
    let target = folder().join("project");
    let dir = target.to_str().unwrap();
    for (arguments, words) in [
        (vec!["Website", "--dir", dir], "invalid name \"Website\": use lower-case letters"),
        (vec!["../up", "--dir", dir], "invalid name \"../up\""),
        (vec!["self", "--dir", dir], "invalid name \"self\": it is a keyword of Rust"),
        (vec!["action-operator", "--dir", dir], "invalid kind \"Action\": the generated code uses this name"),
        (vec!["web", "--group", "web", "--dir", dir], "invalid group \"web\": use a domain"),
        (vec!["web", "--source", "/does/not/exist", "--dir", dir], "is not a checkout of kube-informer"),
    ] {
        let ended = generate(&arguments).await;
        assert_ne!(ended.code, Some(0), "{arguments:?}");
        assert!(ended.stderr.contains(words), "{arguments:?}: {}", ended.stderr);
        assert!(!target.exists(), "{arguments:?}");
    }
}
