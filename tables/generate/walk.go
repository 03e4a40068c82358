package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube-informer/kube-informer/tables/kinds"
)

// The types with a custom JSON encoding, and their names in the tables.
var special = map[reflect.Type]string{
	reflect.TypeFor[metav1.Time]():                                       "Time",
	reflect.TypeFor[metav1.MicroTime]():                                  "MicroTime",
	reflect.TypeFor[resource.Quantity]():                                 "Quantity",
	reflect.TypeFor[intstr.IntOrString]():                                "IntOrString",
	reflect.TypeFor[metav1.FieldsV1]():                                   "Json",
	reflect.TypeFor[runtime.RawExtension]():                              "Json",
	reflect.TypeFor[apiextensionsv1.JSON]():                              "Json",
	reflect.TypeFor[apiextensionsv1beta1.JSON]():                         "Json",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]():            "SchemaOrArray",
	reflect.TypeFor[apiextensionsv1beta1.JSONSchemaPropsOrArray]():       "SchemaOrArray",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():             "SchemaOrBool",
	reflect.TypeFor[apiextensionsv1beta1.JSONSchemaPropsOrBool]():        "SchemaOrBool",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray]():      "SchemaOrTexts",
	reflect.TypeFor[apiextensionsv1beta1.JSONSchemaPropsOrStringArray](): "SchemaOrTexts",
}

// The maximum depth of inlined types in the decoder.
const mostInlined = 2

// message is one table.
type message struct {
	name, goName string
	fields       map[int]string
}

// walk visits types and the types of their fields, and creates a table for each.
type walk struct {
	messages map[reflect.Type]*message
}

func newWalk() *walk {
	return &walk{messages: map[reflect.Type]*message{}}
}

func (w *walk) message(t reflect.Type) error {
	if _, known := w.messages[t]; known {
		return nil
	}
	if !kinds.HasProtobuf(t) {
		return fmt.Errorf("%v has no protobuf form", t)
	}
	table := &message{name: name(t), goName: t.PkgPath() + "." + t.Name(), fields: map[int]string{}}
	w.messages[t] = table
	for i := range t.NumField() {
		field := t.Field(i)
		tag := field.Tag.Get("protobuf")
		if tag == "" || tag == "-" {
			if field.Type != reflect.TypeFor[metav1.TypeMeta]() && field.Tag.Get("json") != "-" {
				return fmt.Errorf("%v.%s is in the JSON and not in the protobuf", t, field.Name)
			}
			continue
		}
		number, err := strconv.Atoi(strings.Split(tag, ",")[1])
		if err != nil || number < 1 || number > 63 {
			return fmt.Errorf("%v.%s: no number for these tables in %q", t, field.Name, tag)
		}
		described, err := w.field(field)
		if err != nil {
			return fmt.Errorf("%v.%s: %w", t, field.Name, err)
		}
		if _, taken := table.fields[number]; taken {
			return fmt.Errorf("%v has two fields with the number %d", t, number)
		}
		table.fields[number] = described
	}
	return nil
}

// field returns the description of one field.
func (w *walk) field(field reflect.StructField) (string, error) {
	tag := strings.Split(field.Tag.Get("json"), ",")
	jsonName, omits := tag[0], slices.Contains(tag, "omitempty") || slices.Contains(tag, "omitzero")
	if jsonName == "" && field.Anonymous {
		return w.inlined(field.Type)
	}
	if jsonName == "" || jsonName == "-" {
		return "", fmt.Errorf("no JSON name in %q", field.Tag)
	}
	shape, inner := shapeOf(field.Type)
	value, err := w.value(inner)
	if err != nil {
		return "", err
	}
	described := fmt.Sprintf("%s(%q, %s)", shape, jsonName, value)
	switch {
	// A zero value that is not a pointer is written to protobuf too. A zero struct is also in the JSON, depending on the tag.
	case omits && shape == "one" && (inner.Kind() != reflect.Struct || slices.Contains(tag, "omitzero")):
		if inner.Kind() == reflect.Struct && value != "Time" {
			return "", fmt.Errorf("these tables cannot tell when a %v is zero", inner)
		}
		described += ".omitted()"
	case !omits && (shape != "one" || inner.Kind() == reflect.Slice):
		described += ".null()"
	}
	return described, nil
}

func (w *walk) inlined(t reflect.Type) (string, error) {
	if err := w.message(t); err != nil {
		return "", err
	}
	if depth := inlineDepth(t); depth > mostInlined {
		return "", fmt.Errorf("%v is the outermost of %d that are inlined in one another", t, depth)
	}
	return fmt.Sprintf("inline(&%s)", name(t)), nil
}

// inlineDepth returns the depth of inlined types below a type.
func inlineDepth(t reflect.Type) int {
	deepest := 0
	for i := range t.NumField() {
		field := t.Field(i)
		isInline := field.Anonymous && strings.HasPrefix(field.Tag.Get("json")+",", ",") && field.Tag.Get("protobuf") != ""
		if isInline {
			deepest = max(deepest, inlineDepth(field.Type))
		}
	}
	return deepest + 1
}

// shapeOf returns whether a value is single, optional, a list or a map.
func shapeOf(t reflect.Type) (string, reflect.Type) {
	switch {
	case t.Kind() == reflect.Pointer:
		return "maybe", t.Elem()
	case t.Kind() == reflect.Map:
		return "map", t.Elem()
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 && !kinds.HasProtobuf(t):
		return "many", t.Elem()
	default:
		return "one", t
	}
}

func (w *walk) value(t reflect.Type) (string, error) {
	called, isSpecial := special[t]
	if isSpecial && strings.HasPrefix(called, "SchemaOr") {
		schema, _ := t.FieldByName("Schema")
		return fmt.Sprintf("%s(&%s)", called, name(schema.Type.Elem())), w.message(schema.Type.Elem())
	}
	if isSpecial {
		return called, nil
	}
	marshaler := reflect.TypeFor[json.Marshaler]()
	if t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler) {
		return "", fmt.Errorf("%v writes JSON of its own", t)
	}
	switch {
	case t.Kind() == reflect.Bool:
		return "Bool", nil
	case t.Kind() == reflect.Int32 || t.Kind() == reflect.Int64:
		return "Int", nil
	case t.Kind() == reflect.Float64:
		return "Double", nil
	case t.Kind() == reflect.String:
		return "Text", nil
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return "Bytes", nil
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String && kinds.HasProtobuf(t):
		return "Texts", nil
	case t.Kind() == reflect.Struct:
		return fmt.Sprintf("Of(&%s)", name(t)), w.message(t)
	default:
		return "", fmt.Errorf("no word for %v", t)
	}
}

func (w *walk) sorted() []*message {
	return slices.SortedFunc(maps.Values(w.messages), func(a, b *message) int { return cmp.Compare(a.name, b.name) })
}

func (m *message) write(out io.Writer) {
	numbers := slices.Sorted(maps.Keys(m.fields))
	fmt.Fprintf(out, "\nstatic %s: Message = message(%q, &[\n", m.name, m.goName)
	next := 1
	for _, number := range numbers {
		for ; next < number; next++ {
			fmt.Fprintln(out, "    vacant(),")
		}
		fmt.Fprintf(out, "    %s,\n", m.fields[number])
		next++
	}
	fmt.Fprintln(out, "]);")
}

// name returns the name of a table, such as CORE_V1_POD_SPEC.
func name(t reflect.Type) string {
	parts := strings.Split(t.PkgPath(), "/")
	words := strings.Join(parts[len(parts)-2:], "_")
	if len(parts) > 3 && parts[len(parts)-2] == "api" {
		words = parts[len(parts)-1]
	}
	return strings.ToUpper(words + "_" + snake(t.Name()))
}

// snake inserts an underscore before each word.
func snake(camel string) string {
	letters := []rune(camel)
	var out strings.Builder
	for i, letter := range letters {
		followsLower := i > 0 && !unicode.IsUpper(letters[i-1])
		precedesLower := i > 0 && i+1 < len(letters) && unicode.IsLower(letters[i+1])
		if unicode.IsUpper(letter) && (followsLower || precedesLower) {
			out.WriteByte('_')
		}
		out.WriteRune(letter)
	}
	return out.String()
}
