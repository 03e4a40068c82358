// Package models builds the merge schema of every built-in type as kube-apiserver does it: from the OpenAPI definitions of
// the Go types.
package models

import (
	"cmp"
	"slices"

	apiextensionsapiserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/openapi"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	// Registers every built-in group.
	_ "k8s.io/kubernetes/pkg/controlplane"
	generatedopenapi "k8s.io/kubernetes/pkg/generated/openapi"
)

// Kind is a kind in one version, and the name of its OpenAPI model.
type Kind struct {
	GVK   schema.GroupVersionKind
	Model string
}

// Schemes lists the schemes of kube-apiserver.
func Schemes() []*runtime.Scheme {
	return []*runtime.Scheme{legacyscheme.Scheme, apiextensionsapiserver.Scheme, aggregatorscheme.Scheme}
}

// Build returns the OpenAPI models of all kinds with metadata, and these kinds in order of version and name.
func Build() (map[string]*spec.Schema, []Kind, error) {
	definitions := openapi.GetOpenAPIDefinitionsWithoutDisabledFeatures(generatedopenapi.GetOpenAPIDefinitions)
	config := genericapiserver.DefaultOpenAPIV3Config(definitions, openapinamer.NewDefinitionNamer(Schemes()...))
	known := definitions(func(name string) spec.Ref { return spec.MustCreateRef(name) })
	var names []string
	var kinds []Kind
	for _, scheme := range Schemes() {
		for gvk := range scheme.AllKnownTypes() {
			if gvk.Version == runtime.APIVersionInternal {
				continue
			}
			object, err := scheme.New(gvk)
			if err != nil {
				return nil, nil, err
			}
			if _, hasMetadata := object.(metav1.ObjectMetaAccessor); !hasMetadata {
				continue
			}
			name := util.GetCanonicalTypeName(object)
			if modelNamer, ok := object.(interface{ OpenAPIModelName() string }); ok {
				name = modelNamer.OpenAPIModelName()
			}
			if _, ok := known[name]; !ok {
				continue
			}
			model, _ := config.GetDefinitionName(name)
			names = append(names, name)
			kinds = append(kinds, Kind{gvk, model})
		}
	}
	models, err := builder3.BuildOpenAPIDefinitionsForResources(config, names...)
	slices.SortFunc(kinds, func(a, b Kind) int {
		return cmp.Or(cmp.Compare(a.GVK.GroupVersion().String(), b.GVK.GroupVersion().String()), cmp.Compare(a.GVK.Kind, b.GVK.Kind))
	})
	return models, kinds, err
}
