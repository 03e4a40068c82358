// Command oracle shows how kube-apiserver changes the managed fields of objects, with its own libraries: one request in
// JSON a line on standard input, one answer a line on standard output.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kube-informer/kube-informer/tables/kubernetes/models"
)

// request is one change of an object.
type request struct {
	APIVersion  string         `json:"apiVersion"`
	Kind        string         `json:"kind"`
	Definition  map[string]any `json:"definition"`
	Operation   string         `json:"operation"`
	Live        map[string]any `json:"live"`
	New         map[string]any `json:"new"`
	Manager     string         `json:"manager"`
	Subresource string         `json:"subresource"`
	Force       bool           `json:"force"`
	Reset       [][]string     `json:"reset"`
}

// answer is the changed object, or the reason why there is none.
type answer struct {
	Object  map[string]any `json:"object,omitempty"`
	Error   string         `json:"error,omitempty"`
	Status  *metav1.Status `json:"status,omitempty"`
	Default map[string]any `json:"default,omitempty"`

	Accepted bool `json:"accepted,omitempty"`
}

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func serve() error {
	o, err := newOracle()
	if err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	out := bufio.NewWriter(os.Stdout)
	for in.Scan() {
		var r request
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			return err
		}
		text, err := json.Marshal(o.answer(&r))
		if err != nil {
			return err
		}
		_, _ = out.Write(append(text, '\n'))
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return in.Err()
}

type oracle struct {
	static      map[string]*spec.Schema
	builtIn     managedfields.TypeConverter
	definitions map[string]managedfields.TypeConverter
}

func newOracle() (*oracle, error) {
	static, _, err := models.Build()
	if err != nil {
		return nil, err
	}
	builtIn, err := managedfields.NewTypeConverter(static, false)
	return &oracle{static: static, builtIn: builtIn, definitions: map[string]managedfields.TypeConverter{}}, err
}

func (o *oracle) answer(r *request) answer {
	switch r.Operation {
	case "default":
		return defaulted(r)
	case "validate":
		return validated(r)
	}
	object, err := o.change(r)
	if err != nil {
		if status, ok := err.(errors.APIStatus); ok {
			s := status.Status()
			return answer{Error: err.Error(), Status: &s}
		}
		return answer{Error: err.Error()}
	}
	return answer{Object: object.(*unstructured.Unstructured).Object}
}

func (o *oracle) change(r *request) (runtime.Object, error) {
	converter, err := o.converter(r.Definition)
	if err != nil {
		return nil, err
	}
	gvk := schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)
	reset := fieldpath.NewSet()
	for _, path := range r.Reset {
		elements := make([]any, len(path))
		for i, name := range path {
			elements[i] = name
		}
		reset.Insert(fieldpath.MakePathOrDie(elements...))
	}
	filters := fieldpath.NewExcludeFilterSetMap(map[fieldpath.APIVersion]*fieldpath.Set{fieldpath.APIVersion(r.APIVersion): reset})
	manager, err := managedfields.NewDefaultCRDFieldManager(
		converter, plain{}, plain{}, plain{}, gvk, gvk.GroupVersion(), r.Subresource, filters)
	if err != nil {
		return nil, err
	}
	live, desired := object(r, r.Live), object(r, r.New)
	if r.Operation == "apply" {
		return manager.Apply(live, desired, r.Manager, r.Force)
	}
	return manager.Update(live, desired, r.Manager)
}

// converter knows the types of a definition, or of built-in kinds where there is none.
func (o *oracle) converter(definition map[string]any) (managedfields.TypeConverter, error) {
	if definition == nil {
		return o.builtIn, nil
	}
	text, err := json.Marshal(definition)
	if err != nil {
		return nil, err
	}
	if known, ok := o.definitions[string(text)]; ok {
		return known, nil
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal(text, crd); err != nil {
		return nil, err
	}
	specs := []*spec3.OpenAPI{{
		Version:    "3.0.0",
		Info:       &spec.Info{InfoProps: spec.InfoProps{Title: "Kubernetes", Version: "v0.1.0"}},
		Components: &spec3.Components{Schemas: o.static},
	}}
	for _, version := range crd.Spec.Versions {
		built, err := builder.BuildOpenAPIV3(crd, version.Name, builder.Options{})
		if err != nil {
			return nil, err
		}
		specs = append(specs, built)
	}
	merged, err := builder.MergeSpecsV3(specs...)
	if err != nil {
		return nil, err
	}
	converter, err := managedfields.NewTypeConverter(merged.Components.Schemas, crd.Spec.PreserveUnknownFields)
	o.definitions[string(text)] = converter
	return converter, err
}

// object is the content with the type of the request, or an empty object.
func object(r *request, content map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	if content != nil {
		u.Object = content
	}
	if r.Operation != "apply" || content == nil {
		u.SetAPIVersion(r.APIVersion)
		u.SetKind(r.Kind)
	}
	return u
}

// plain neither converts objects nor sets defaults.
type plain struct{}

func (plain) Convert(in, out, context any) error { return fmt.Errorf("nothing is converted") }

func (plain) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	kind := in.GetObjectKind().GroupVersionKind()
	target, ok := to.KindForGroupVersionKinds([]schema.GroupVersionKind{kind})
	if !ok {
		return in, nil
	}
	out := in.DeepCopyObject()
	out.GetObjectKind().SetGroupVersionKind(target)
	return out, nil
}

func (plain) ConvertFieldLabel(gvk schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

func (plain) Default(runtime.Object) {}

func (plain) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(kind)
	return u, nil
}
