// Package kinds lists the kinds that the Kubernetes API serves as protobuf, by reflection over the registered scheme.
package kinds

import (
	"cmp"
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgo "k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// Kind is a kind of one version of the API, and its Go type.
type Kind struct {
	APIVersion, Kind string
	Type             reflect.Type
}

// Scheme contains all built-in kinds.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgo.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1beta1.AddToScheme(scheme))
	utilruntime.Must(apiregistrationv1.AddToScheme(scheme))
	utilruntime.Must(metav1.AddMetaToScheme(scheme))
	return scheme
}

// All returns the kinds with a protobuf encoding, in the order of version and name.
func All() []Kind {
	metaPackage := reflect.TypeFor[metav1.ObjectMeta]().PkgPath()
	var all []Kind
	for gvk, t := range Scheme().AllKnownTypes() {
		version := gvk.GroupVersion().String()
		// Kinds of all groups are registered with each group.
		isCommon := t.PkgPath() == metaPackage && version != "v1" && version != "meta.k8s.io/v1"
		_, saysKind := t.FieldByName("TypeMeta")
		if gvk.Version == runtime.APIVersionInternal || isCommon || !saysKind || !HasProtobuf(t) {
			continue
		}
		all = append(all, Kind{APIVersion: version, Kind: gvk.Kind, Type: t})
	}
	slices.SortFunc(all, func(a, b Kind) int {
		return cmp.Or(cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}

// HasProtobuf returns true if a type is a protobuf message.
func HasProtobuf(t reflect.Type) bool {
	_, found := reflect.PointerTo(t).MethodByName("Unmarshal")
	return found
}
