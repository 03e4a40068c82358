//! `kubectl auth`, `config` and `cluster-info`.

use crate::kubectl::newest_kubectl;

#[test]
fn shows_the_user_and_its_permissions() {
    newest_kubectl(|kubectl| {
        assert!(kubectl.run("auth whoami").contains("system:admin"));
        assert_eq!(kubectl.run("auth can-i create pods"), "yes\n");
        assert_eq!(kubectl.output_of_failure("auth can-i get pods --as=jane"), "no\n");
        kubectl.run("create role reader --verb=get --resource=pods");
        kubectl.run("create rolebinding reader --role=reader --user=jane");
        assert_eq!(kubectl.run("auth can-i get pods --as=jane"), "yes\n");
        assert!(kubectl.run("auth can-i --list --as=jane").contains("pods"));
        assert!(kubectl.fail("get secrets --as=jane").contains("Forbidden"));
    });
}

#[test]
fn contexts_select_the_namespace() {
    newest_kubectl(|kubectl| {
        kubectl.run("create namespace ops");
        kubectl.run("create configmap colors --namespace=ops");
        kubectl.run("config set-context --current --namespace=ops");
        assert_eq!(kubectl.run("get configmap colors -o name"), "configmap/colors\n");
        assert_eq!(kubectl.run("config view --minify -o jsonpath={..namespace}"), "ops");
        assert_eq!(kubectl.run("config current-context").trim(), "devserver");
        assert!(kubectl.run("cluster-info").contains("http://127.0.0.1:"));
    });
}
