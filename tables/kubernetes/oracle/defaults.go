package main

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-informer/kube-informer/tables/kubernetes/models"
)

// defaulted returns the object as it is decoded and filled in by the defaulting functions of its version.
func defaulted(r *request) answer {
	gvk := schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)
	for _, scheme := range models.Schemes() {
		if !scheme.Recognizes(gvk) {
			continue
		}
		filled, err := fill(scheme, gvk, r.New)
		if err != nil {
			return answer{Error: err.Error()}
		}
		return answer{Default: filled}
	}
	return answer{Error: "no such kind"}
}

func fill(scheme *runtime.Scheme, gvk schema.GroupVersionKind, content map[string]any) (map[string]any, error) {
	object, err := scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, object); err != nil {
		return nil, err
	}
	scheme.Default(object)
	object.GetObjectKind().SetGroupVersionKind(gvk)
	text, err = json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var filled map[string]any
	return filled, json.Unmarshal(text, &filled)
}
