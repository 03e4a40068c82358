package main

import (
	"fmt"
	"reflect"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"
)

// filler creates random objects.
type filler struct {
	random *randfill.Filler
	// True if times may be unset in some objects; JSON has null for them.
	unsets bool
	// True if times may be unset in this object.
	unset bool
	// The nesting depth of the current schema.
	depth int
}

func newFiller(seed int64, unsets bool) *filler {
	f := &filler{unsets: unsets}
	f.random = randfill.NewWithSeed(seed).NilChance(0.4).NumElements(1, 3).MaxDepth(15).Funcs(
		f.time, f.microTime, fillQuantity, fillIntOrString, fillRaw, fillFields, fillInt64, fillFloat64,
		func(j *apiextensionsv1.JSON, c randfill.Continue) { j.Raw = randomJSON(c) },
		func(j *apiextensionsv1beta1.JSON, c randfill.Continue) { j.Raw = randomJSON(c) },
		func(s *apiextensionsv1.JSONSchemaProps, c randfill.Continue) { f.schema(s, c) },
		func(s *apiextensionsv1beta1.JSONSchemaProps, c randfill.Continue) { f.schema(s, c) },
		func(s *apiextensionsv1.JSONSchemaPropsOrBool, c randfill.Continue) { orBool(&s.Allows, &s.Schema, c) },
		func(s *apiextensionsv1beta1.JSONSchemaPropsOrBool, c randfill.Continue) {
			orBool(&s.Allows, &s.Schema, c)
		},
		func(s *apiextensionsv1.JSONSchemaPropsOrArray, c randfill.Continue) {
			orList(&s.Schema, &s.JSONSchemas, c)
		},
		func(s *apiextensionsv1beta1.JSONSchemaPropsOrArray, c randfill.Continue) {
			orList(&s.Schema, &s.JSONSchemas, c)
		},
		func(s *apiextensionsv1.JSONSchemaPropsOrStringArray, c randfill.Continue) {
			orList(&s.Schema, &s.Property, c)
		},
		func(s *apiextensionsv1beta1.JSONSchemaPropsOrStringArray, c randfill.Continue) {
			orList(&s.Schema, &s.Property, c)
		},
	)
	return f
}

func (f *filler) object(t reflect.Type) any {
	object := reflect.New(t).Interface()
	f.unset = f.unsets && !f.unset
	f.random.Fill(object)
	return object
}

// schema fills a recursive type to a limited depth.
func (f *filler) schema(schema any, c randfill.Continue) {
	if f.depth > 3 || f.depth > 0 && c.Intn(12) != 0 {
		return
	}
	f.depth++
	c.FillNoCustom(schema)
	f.depth--
}

// orBool fills one of two fields: the JSON of a schema does not contain the boolean.
func orBool[S any](allows *bool, schema **S, c randfill.Continue) {
	*allows = c.Bool()
	if c.Bool() {
		*allows, *schema = true, new(S)
		c.Fill(*schema)
	}
}

// orList fills one of two fields: the JSON contains only one of them.
func orList[S, E any](schema **S, list *[]E, c randfill.Continue) {
	if c.Bool() {
		*schema = new(S)
		c.Fill(*schema)
		return
	}
	*list = make([]E, 1+c.Intn(2))
	for i := range *list {
		c.Fill(&(*list)[i])
	}
}

// A time in a year with four digits.
func (f *filler) anyTime(c randfill.Continue) time.Time {
	if f.unset && c.Intn(4) == 0 {
		return time.Time{}
	}
	return time.Unix(c.Int63n(253_402_300_800+62_135_596_800)-62_135_596_800, 0).UTC()
}

func (f *filler) time(t *metav1.Time, c randfill.Continue) {
	t.Time = f.anyTime(c)
}

func (f *filler) microTime(t *metav1.MicroTime, c randfill.Continue) {
	if t.Time = f.anyTime(c); !t.IsZero() {
		t.Time = t.Add(time.Duration(c.Intn(1_000_000)) * time.Microsecond)
	}
}

func fillQuantity(q *resource.Quantity, c randfill.Continue) {
	suffixes := []string{"", "m", "k", "Ki", "Mi", "Gi", "e3", "u"}
	*q = resource.MustParse(fmt.Sprintf("%d%s", c.Int63n(1000000)-1000, suffixes[c.Intn(len(suffixes))]))
}

func fillIntOrString(i *intstr.IntOrString, c randfill.Continue) {
	*i = intstr.FromInt32(int32(c.Uint32()))
	if c.Bool() {
		*i = intstr.FromString(c.String(0))
	}
}

func fillRaw(r *runtime.RawExtension, c randfill.Continue) {
	r.Raw = randomJSON(c)
}

func fillFields(f *metav1.FieldsV1, c randfill.Continue) {
	f.SetRawBytes(randomJSON(c))
}

// Small numbers, including zero, are as likely as large ones.
func fillInt64(i *int64, c randfill.Continue) {
	*i = int64(c.Uint64()) >> c.Intn(64)
}

// The JSON decoder of the test may differ in the last bit of a long fraction.
func fillFloat64(f *float64, c randfill.Continue) {
	*f = float64(c.Int63n(1<<20)-1<<19) / 8
}

// The keys are sorted, as in every encoded map.
func randomJSON(c randfill.Continue) []byte {
	texts := []string{
		`{}`, `{"a":1}`, `{"a":"<ä>","b":[1,2.5,null,true],"c":{"d":{}}}`, `{"f:metadata":{"f:labels":{".":{},"f:app":{}}}}`,
		`{"k:{\"name\":\"a\"}":{".":{}}}`,
	}
	return []byte(texts[c.Intn(len(texts))])
}
