//! `kubectl explain`, from the OpenAPI documents.

use crate::kubectl::newest_kubectl;

#[test]
fn describes_fields_of_built_in_kinds() {
    newest_kubectl(|kubectl| {
        let pods = kubectl.run("explain pods");
        assert!(pods.contains("KIND:       Pod\nVERSION:    v1\n"), "{pods}");
        assert!(pods.contains("Pod is a collection of containers that can run on a host."), "{pods}");
        let replicas = kubectl.run("explain deployment.spec.replicas");
        assert!(
            replicas.contains("GROUP:      apps\nKIND:       Deployment\nVERSION:    v1\n"),
            "{replicas}"
        );
        assert!(replicas.contains("FIELD: replicas <integer>"), "{replicas}");
        let old = kubectl.run("explain hpa --api-version=autoscaling/v1");
        assert!(old.contains("VERSION:    v1\n"), "{old}");
        assert!(kubectl.fail("explain pods.spec.colour").contains("field \"colour\" does not exist"));
    });
}

#[test]
fn lists_all_fields_recursively() {
    newest_kubectl(|kubectl| {
        let fields = kubectl.run("explain pods --recursive");
        for field in
            ["containers\t<[]Container> -required-", "livenessProbe\t<Probe>", "metadata\t<ObjectMeta>"]
        {
            assert!(fields.contains(field), "no {field} in\n{fields}");
        }
        // Every built-in kind has a schema.
        let names = kubectl.run("api-resources -o name");
        // kubectl takes the name of the other events for a field of those of the core group.
        for name in names.lines().filter(|name| *name != "events.events.k8s.io") {
            assert!(kubectl.run(&format!("explain {name}")).contains("DESCRIPTION:"), "{name}");
        }
    });
}

const DEFINITION: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        description: A widget with a size.
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: integer, description: The size in millimeters.}
";

#[test]
fn describes_custom_resources() {
    newest_kubectl(|kubectl| {
        kubectl.create(DEFINITION);
        let widget = kubectl.run("explain widgets --recursive");
        assert!(widget.contains("GROUP:      example.com\nKIND:       Widget\n"), "{widget}");
        assert!(
            widget.contains("A widget with a size.") && widget.contains("size\t<integer> -required-"),
            "{widget}"
        );
        assert!(kubectl.run("explain widgets.spec.size").contains("The size in millimeters."));
        assert!(kubectl.run("explain widgets.metadata").contains("creationTimestamp"));
        kubectl.run("delete crd widgets.example.com");
        kubectl.fail("explain widgets");
    });
}
