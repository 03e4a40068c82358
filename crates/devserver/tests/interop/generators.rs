//! The subcommands of `kubectl create`, and other commands that create objects from flags.

use crate::kubectl::newest_kubectl;

#[test]
fn creates_objects_of_many_kinds_from_flags() {
    let table = [
        ("create namespace shop", "namespace/shop"),
        ("create deployment web --image=nginx:1 --replicas=2", "deployment.apps/web"),
        ("create secret generic key --from-literal=a=b", "secret/key"),
        ("create secret docker-registry pull --docker-username=a --docker-password=b", "secret/pull"),
        ("create serviceaccount robot", "serviceaccount/robot"),
        ("create role reader --verb=get --resource=pods", "role.rbac.authorization.k8s.io/reader"),
        (
            "create rolebinding reader --role=reader --serviceaccount=default:robot",
            "rolebinding.rbac.authorization.k8s.io/reader",
        ),
        (
            "create clusterrole nodes --verb=get,list --resource=nodes",
            "clusterrole.rbac.authorization.k8s.io/nodes",
        ),
        (
            "create clusterrolebinding nodes --clusterrole=nodes --user=jane",
            "clusterrolebinding.rbac.authorization.k8s.io/nodes",
        ),
        ("create quota small --hard=pods=10", "resourcequota/small"),
        ("create priorityclass high --value=1000", "priorityclass.scheduling.k8s.io/high"),
        ("create job once --image=busybox", "job.batch/once"),
        ("create cronjob daily --image=busybox '--schedule=0 0 * * *'", "cronjob.batch/daily"),
        ("create job now --from=cronjob/daily", "job.batch/now"),
        ("create ingress site --rule=example.com/path=web:80", "ingress.networking.k8s.io/site"),
        ("create pdb web --selector=app=web --min-available=1", "poddisruptionbudget.policy/web"),
        ("create service clusterip front --tcp=80:8080", "service/front"),
        ("create service nodeport outside --tcp=80:8080", "service/outside"),
        ("create service externalname other --external-name=example.com", "service/other"),
        ("run shell --image=busybox", "pod/shell"),
    ];
    newest_kubectl(|kubectl| {
        for (line, object) in table {
            assert_eq!(kubectl.run(line), format!("{object} created\n"));
            let again = kubectl.fail(line);
            assert!(again.contains("already exists"), "{line}: {again}");
        }
        assert_eq!(kubectl.run("create token robot").split('.').count(), 3);
        let hard = kubectl.run("create configmap dry --from-literal=a=b --dry-run=server -o name");
        assert_eq!(hard, "configmap/dry\n");
        assert!(kubectl.fail("get configmap dry").contains("NotFound"));
    });
}

#[test]
fn exposed_objects_have_a_service_with_an_address() {
    newest_kubectl(|kubectl| {
        kubectl.run("create deployment web --image=nginx:1");
        assert_eq!(kubectl.run("expose deployment web --port=80"), "service/web exposed\n");
        let address = kubectl.run("get service web -o jsonpath={.spec.clusterIP}");
        assert!(address.starts_with("10."), "{address}");
        let table = kubectl.run("get service web");
        assert!(table.contains(&address), "{table}");
        assert!(kubectl.run("describe service web").contains(&address));
        kubectl.run("expose deployment web --name=outside --port=80 --type=NodePort");
        let port: u16 =
            kubectl.run("get service outside -o jsonpath={.spec.ports[0].nodePort}").parse().unwrap();
        assert!(port >= 30_000, "{port}");
        kubectl.run("autoscale deployment web --min=1 --max=3");
        assert_eq!(kubectl.run("get hpa web -o jsonpath={.spec.maxReplicas}"), "3");
    });
}

#[test]
fn set_changes_templates_and_subjects() {
    newest_kubectl(|kubectl| {
        kubectl.run("create deployment web --image=nginx:1");
        kubectl.run("set image deployment/web nginx=nginx:2");
        kubectl.run("set env deployment/web COLOR=blue");
        kubectl.run("set resources deployment/web --limits=cpu=200m");
        kubectl.run("set serviceaccount deployment web robot");
        let template = "{.spec.template.spec.serviceAccountName} {.spec.template.spec.containers[0].image} \
                        {.spec.template.spec.containers[0].env[0].value} \
                        {.spec.template.spec.containers[0].resources.limits.cpu} {.metadata.generation}";
        let shown = kubectl.run(&format!("get deployment web -o 'jsonpath={template}'"));
        assert_eq!(shown, "robot nginx:2 blue 200m 5");
        kubectl.run("create role reader --verb=get --resource=pods");
        kubectl.run("create rolebinding reader --role=reader --user=jane");
        kubectl.run("set subject rolebinding reader --user=joe");
        assert_eq!(kubectl.run("get rolebinding reader -o jsonpath={.subjects[*].name}"), "jane joe");
        kubectl.run("expose deployment web --port=80");
        kubectl.run("set selector service web tier=front");
        assert_eq!(kubectl.run("get service web -o jsonpath={.spec.selector.tier}"), "front");
    });
}
