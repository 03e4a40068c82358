package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	apiservice "k8s.io/kubernetes/pkg/api/service"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/coordination/lease"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	"k8s.io/kubernetes/pkg/registry/core/secret"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	"k8s.io/kubernetes/pkg/registry/networking/ingress"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
)

// strategy decides on the creation and the update of objects of a kind.
type strategy interface {
	rest.RESTCreateStrategy
	rest.RESTUpdateStrategy
}

// strategies are those of the registry of kube-apiserver.
var strategies = map[string]strategy{
	"ClusterRole":             clusterrole.Strategy,
	"ClusterRoleBinding":      clusterrolebinding.Strategy,
	"ConfigMap":               configmap.Strategy,
	"CronJob":                 cronjob.Strategy,
	"DaemonSet":               daemonset.Strategy,
	"Deployment":              deployment.Strategy,
	"HorizontalPodAutoscaler": horizontalpodautoscaler.Strategy,
	"Ingress":                 ingress.Strategy,
	"Job":                     job.Strategy,
	"Lease":                   lease.Strategy,
	"LimitRange":              limitrange.Strategy,
	"Namespace":               namespace.Strategy,
	"NetworkPolicy":           networkpolicy.Strategy,
	"PersistentVolumeClaim":   persistentvolumeclaim.Strategy,
	"Pod":                     pod.Strategy,
	"PodDisruptionBudget":     poddisruptionbudget.Strategy,
	"ReplicaSet":              replicaset.Strategy,
	"ResourceQuota":           resourcequota.Strategy,
	"Role":                    role.Strategy,
	"RoleBinding":             rolebinding.Strategy,
	"Secret":                  secret.Strategy,
	"Service":                 service.Strategy,
	"ServiceAccount":          serviceaccount.Strategy,
	"StatefulSet":             statefulset.Strategy,
}

// validated creates the new object, or updates the live one, without storing the result.
func validated(r *request) (result answer) {
	defer func() {
		if reason := recover(); reason != nil {
			result = answer{Error: fmt.Sprint("panic: ", reason)}
		}
	}()
	err := validate(r)
	if err == nil {
		return answer{Accepted: true}
	}
	result = answer{Error: err.Error()}
	if status, ok := err.(errors.APIStatus); ok {
		s := status.Status()
		result.Status = &s
	}
	return result
}

func validate(r *request) error {
	strategy, ok := strategies[r.Kind]
	if !ok {
		return fmt.Errorf("no strategy for the kind %q", r.Kind)
	}
	object, err := decoded(r.New)
	if err != nil {
		return err
	}
	ctx := contextOf(r, strategy)
	if r.Live == nil {
		return create(ctx, strategy, object)
	}
	live, err := decoded(r.Live)
	if err != nil {
		return err
	}
	allocate(object)
	allocate(live)
	if err := condition(strategy, object, live); err != nil {
		return err
	}
	return rest.BeforeUpdate(strategy, ctx, object, live)
}

func create(ctx context.Context, strategy strategy, object runtime.Object) error {
	metadata, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	if version, err := strconv.ParseUint(metadata.GetResourceVersion(), 10, 64); err == nil && version != 0 {
		return fmt.Errorf("resourceVersion should not be set on objects to be created")
	}
	rest.FillObjectMetaSystemFields(metadata)
	if metadata.GetName() == "" && metadata.GetGenerateName() != "" {
		metadata.SetName(strategy.GenerateName(metadata.GetGenerateName()))
	}
	allocate(object)
	return rest.BeforeCreate(strategy, ctx, object)
}

// condition gives an unconditional update the version of the stored object, as the storage does.
func condition(strategy strategy, object, live runtime.Object) error {
	metadata, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	stored, err := meta.Accessor(live)
	if err == nil && metadata.GetResourceVersion() == "" && strategy.AllowUnconditionalUpdate() {
		metadata.SetResourceVersion(stored.GetResourceVersion())
	}
	return err
}

// allocate does what the storage of services does before it validates them.
func allocate(object runtime.Object) {
	service, ok := object.(*core.Service)
	if !ok {
		return
	}
	if spec := &service.Spec; len(spec.ClusterIPs) == 0 && spec.ClusterIP != "" {
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
	if apiservice.NeedsHealthCheck(service) && service.Spec.HealthCheckNodePort == 0 {
		service.Spec.HealthCheckNodePort = 30000
	}
}

// decoded is the object with its defaults, in the internal version.
func decoded(content map[string]any) (runtime.Object, error) {
	text, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	return runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), text)
}

// contextOf describes the request for strategies that validate by version and namespace.
func contextOf(r *request, strategy strategy) context.Context {
	gvk := schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	info := &genericapirequest.RequestInfo{
		IsResourceRequest: true,
		Verb:              "create",
		APIPrefix:         "apis",
		APIGroup:          gvk.Group,
		APIVersion:        gvk.Version,
		Resource:          resource.Resource,
	}
	namespace := metav1.NamespaceNone
	if strategy.NamespaceScoped() {
		namespace = metav1.NamespaceDefault
		info.Namespace = namespace
	}
	if r.Live != nil {
		info.Verb = "update"
	}
	ctx := genericapirequest.WithNamespace(genericapirequest.NewContext(), namespace)
	return genericapirequest.WithRequestInfo(ctx, info)
}
