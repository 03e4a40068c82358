//! Resources that a CustomResourceDefinition adds.

use crate::kubectl::{Kubectl, each_kubectl};

const DEFINITION: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
";

const WIDGET: &str = "\
apiVersion: example.com/v1
kind: Widget
metadata:
  name: knob
spec:
  size: 7
";

fn with_widgets(test: impl Fn(&Kubectl)) {
    each_kubectl(|kubectl| {
        kubectl.create(DEFINITION);
        kubectl.run("wait --for=condition=Established crd/widgets.example.com --timeout=60s");
        assert_eq!(kubectl.create(WIDGET), "widget.example.com/knob created\n");
        test(kubectl);
    });
}

#[test]
fn are_served_under_each_of_their_names() {
    with_widgets(|kubectl| {
        for name in ["widgets", "widget", "wd", "widgets.example.com"] {
            assert_eq!(kubectl.run(&format!("get {name} -o name")).trim(), "widget.example.com/knob");
        }
        assert!(kubectl.run("api-resources --api-group=example.com").contains("widgets"));
    });
}

#[test]
fn are_changed_like_any_other() {
    with_widgets(|kubectl| {
        kubectl.run(r#"patch widget knob --type=merge -p '{"spec":{"size":9}}'"#);
        assert_eq!(kubectl.run("get widget knob -o jsonpath={.spec.size}"), "9");
        let widget = kubectl.file("widget.yaml", &WIDGET.replace("7", "8"));
        kubectl.run(&format!("apply --server-side=false --validate=false -f {widget}"));
        assert_eq!(kubectl.run("get widget knob -o jsonpath={.spec.size}"), "8");
        kubectl.run("scale widget knob --replicas=5");
        assert_eq!(kubectl.run("get widget knob -o jsonpath={.spec.replicas}"), "5");
        kubectl.run("delete widget knob");
        assert!(kubectl.fail("get widget knob").contains("NotFound"));
    });
}

#[test]
fn print_the_columns_that_they_define() {
    with_widgets(|kubectl| {
        let table = kubectl.run("get widgets");
        let rows: Vec<Vec<_>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!((&rows[0][..2], &rows[1][..2]), (&["NAME", "SIZE"][..], &["knob", "7"][..]), "{table}");
    });
}

#[test]
fn go_with_their_definition() {
    with_widgets(|kubectl| {
        kubectl.run("delete crd widgets.example.com");
        assert!(!kubectl.run("api-resources").contains("widgets"));
        assert!(kubectl.fail("get widgets").contains("the server"));
    });
}
