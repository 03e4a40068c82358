//! `kubectl diff`, `edit`, `replace` and `delete --cascade`.

use crate::kubectl::{Kubectl, each_kubectl, newest_kubectl};

const BLUE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: colors}\ndata: {sky: blue}\n";

fn sky(kubectl: &Kubectl) -> String {
    kubectl.run("get configmap colors -o jsonpath={.data.sky}")
}

#[test]
fn diff_shows_what_apply_would_change() {
    newest_kubectl(|kubectl| {
        let blue = kubectl.file("blue.yaml", BLUE);
        let gray = kubectl.file("gray.yaml", &BLUE.replace("blue", "gray"));
        assert!(kubectl.output_of_failure(&format!("diff -f {blue}")).contains("+  sky: blue\n"));
        kubectl.run(&format!("apply -f {blue}"));
        assert_eq!(kubectl.run(&format!("diff -f {blue}")), "");
        for flags in ["", "--server-side --force-conflicts"] {
            let diff = kubectl.output_of_failure(&format!("diff {flags} -f {gray}"));
            assert!(diff.contains("-  sky: blue\n+  sky: gray\n"), "{diff}");
        }
        assert_eq!(sky(kubectl), "blue");
        assert!(kubectl.run("apply view-last-applied configmap colors").contains("sky: blue"));
    });
}

#[test]
fn apply_needs_no_flags_and_checks_fields() {
    newest_kubectl(|kubectl| {
        let blue = kubectl.file("blue.yaml", BLUE);
        assert_eq!(kubectl.run(&format!("apply -f {blue}")), "configmap/colors created\n");
        assert_eq!(kubectl.run(&format!("apply -f {blue}")), "configmap/colors unchanged\n");
        kubectl.run(&format!("apply --dry-run=server -f {blue}"));
        assert_eq!(
            kubectl.run(&format!("apply --server-side --force-conflicts -f {blue}")),
            "configmap/colors serverside-applied\n"
        );
        let wrong = kubectl.file("wrong.yaml", &BLUE.replace("\ndata:", "\ndota:"));
        let errors = kubectl.fail(&format!("apply -f {wrong}"));
        assert!(errors.contains(r#"unknown field "dota""#), "{errors}");
    });
}

#[test]
fn edit_sends_what_the_editor_wrote() {
    each_kubectl(|kubectl| {
        kubectl.create(BLUE);
        assert_eq!(kubectl.run("edit configmap colors"), "configmap/colors edited\n");
        assert_eq!(sky(kubectl), "green");
    });
}

#[test]
fn replace_with_force_creates_another_object() {
    each_kubectl(|kubectl| {
        kubectl.create(BLUE);
        let uid = || kubectl.run("get configmap colors -o jsonpath={.metadata.uid}");
        let first = uid();
        let gray = kubectl.file("gray.yaml", &BLUE.replace("blue", "gray"));
        kubectl.run(&format!("replace -f {gray}"));
        assert_eq!((sky(kubectl).as_str(), uid()), ("gray", first.clone()));
        let blue = kubectl.file("blue.yaml", BLUE);
        kubectl.run(&format!("replace --force -f {blue}"));
        assert_eq!(sky(kubectl), "blue");
        assert_ne!(uid(), first);
    });
}

#[test]
fn cascades_reach_owned_objects_or_not() {
    newest_kubectl(|kubectl| {
        for cascade in ["background", "foreground", "orphan"] {
            kubectl.create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: owner}\n");
            let uid = kubectl.run("get configmap owner -o jsonpath={.metadata.uid}");
            let owner = format!("[{{apiVersion: v1, kind: ConfigMap, name: owner, uid: {uid}}}]");
            kubectl.create(&format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {cascade}, ownerReferences: {owner}}}\n"
            ));
            kubectl.run(&format!("delete configmap owner --cascade={cascade}"));
        }
        let line = "get configmaps --field-selector=metadata.name!=kube-root-ca.crt -o name";
        assert_eq!(kubectl.run(line), "configmap/orphan\n");
        let line = "get configmap orphan -o jsonpath={.metadata.ownerReferences}";
        assert_eq!(kubectl.run(line), "");
    });
}
