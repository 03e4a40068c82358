//! Over TLS, and with a token.

use crate::{cluster::Cluster, kubectl::each_kubectl_of};

#[test]
fn reads_and_changes_over_tls_with_a_token() {
    each_kubectl_of(Cluster::start_secure, |kubectl| {
        kubectl.create_config_map("colours");
        let watch = kubectl.start("get configmaps --watch");
        watch.line_with(|line| line.starts_with("colours "));
        assert_eq!(kubectl.run("get configmap colours -o jsonpath={.data.sky}"), "blue");
    });
}

#[test]
fn a_wrong_token_is_refused() {
    each_kubectl_of(Cluster::start_secure, |kubectl| {
        let errors = kubectl.fail("get configmaps --token=wrong");
        assert!(errors.contains("logged in") || errors.contains("Unauthorized"), "{errors}");
    });
}
