// Package kinds knows every kind that the Kubernetes API serves as protobuf, by reflection over the registered scheme.
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

// Kind is one kind of one version of the API, and the Go type behind it.
type Kind struct {
	APIVersion, Kind string
	Type             reflect.Type
}

// Scheme is everything that clients of the API know by heart.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgo.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1beta1.AddToScheme(scheme))
	utilruntime.Must(apiregistrationv1.AddToScheme(scheme))
	utilruntime.Must(metav1.AddMetaToScheme(scheme))
	return scheme
}

// All lists the kinds that have a protobuf form, in order of version and name.
func All() []Kind {
	metaPackage := reflect.TypeFor[metav1.ObjectMeta]().PkgPath()
	var all []Kind
	for gvk, t := range Scheme().AllKnownTypes() {
		version := gvk.GroupVersion().String()
		// The kinds that all groups have in common are registered with each of them.
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

// HasProtobuf says whether a type is a protobuf message of its own.
func HasProtobuf(t reflect.Type) bool {
	_, found := reflect.PointerTo(t).MethodByName("Unmarshal")
	return found
}
