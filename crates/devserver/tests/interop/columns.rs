//! `kubectl get` with columns, templates and an order, `describe` and `events`.

use crate::kubectl::newest_kubectl;

#[test]
fn prints_columns_templates_and_an_order() {
    newest_kubectl(|kubectl| {
        for (name, sky) in [("b", "blue"), ("a", "gray")] {
            kubectl.run(&format!("create configmap {name} --from-literal=sky={sky}"));
            kubectl.run(&format!("label configmap {name} kind=color"));
        }
        let columns = "get configmaps -l kind=color -o custom-columns=NAME:.metadata.name,SKY:.data.sky";
        assert_eq!(kubectl.run(columns), "NAME   SKY\na      gray\nb      blue\n");
        let line = format!("{columns} --sort-by=.data.sky --no-headers");
        assert_eq!(kubectl.run(&line), "b     blue\na     gray\n");
        let line = "get configmaps -l kind=color -o 'go-template={{range .items}}{{.data.sky}} {{end}}'";
        assert_eq!(kubectl.run(line), "gray blue ");
        let wide = kubectl.run("get configmaps a -o wide --show-kind --show-labels");
        assert!(wide.contains("configmap/a") && wide.contains("kind=color"), "{wide}");
    });
}

#[test]
fn describes_objects_with_their_events() {
    newest_kubectl(|kubectl| {
        kubectl.run("run web --image=nginx");
        let uid = kubectl.run("get pod web -o jsonpath={.metadata.uid}");
        kubectl.create(&format!(
            "apiVersion: v1\nkind: Event\nmetadata: {{name: web.1, namespace: default}}\nreason: Pulled\nmessage: image is here\n\
             type: Normal\ncount: 1\ninvolvedObject: {{apiVersion: v1, kind: Pod, name: web, namespace: default, uid: {uid}}}\n"
        ));
        let pod = kubectl.run("describe pod web");
        assert!(pod.contains("Image:        nginx") && pod.contains("image is here"), "{pod}");
        assert!(kubectl.run("events --for pod/web").contains("image is here"));
        assert!(kubectl.run("get events").contains("pod/web"));
        kubectl.run("create deployment site --image=nginx");
        assert!(kubectl.run("describe deployment site").contains("25% max unavailable"));
        assert!(kubectl.run("get all").contains("deployment.apps/site"));
    });
}
