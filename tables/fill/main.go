// Command fill writes random objects of every kind, each in JSON and in protobuf, which must decode to the same value.
//
// An object has four parts, each after its length as a big-endian 32-bit number: version, kind, JSON, protobuf.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/kube-informer/kube-informer/tables/kinds"
)

func main() {
	seed := flag.Int64("seed", 1, "the objects are other ones with another seed")
	count := flag.Int("count", 20, "how many objects of each kind")
	unset := flag.Bool("unset", true, "let times be unset in every other object, also behind pointers, where JSON cannot say so")
	only := flag.String("kind", "", "only this kind")
	flag.Parse()
	out := bufio.NewWriter(os.Stdout)
	err := fill(out, newFiller(*seed, *unset), *count, *only)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fill:", err)
		os.Exit(1)
	}
}

func fill(out *bufio.Writer, filler *filler, count int, only string) error {
	scheme := kinds.Scheme()
	toProtobuf := protobuf.NewSerializer(scheme, scheme)
	toJSON := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{})
	for _, kind := range kinds.All() {
		if only != "" && kind.Kind != only {
			continue
		}
		for range count {
			object, err := stored(filler.object(kind.Type), kind.Type)
			if err != nil {
				return fmt.Errorf("%s %s: %w", kind.APIVersion, kind.Kind, err)
			}
			object.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind))
			var text, binary bytes.Buffer
			if err := toJSON.Encode(object, &text); err != nil {
				return fmt.Errorf("%s %s: %w", kind.APIVersion, kind.Kind, err)
			}
			if err := toProtobuf.Encode(object, &binary); err != nil {
				return fmt.Errorf("%s %s: %w", kind.APIVersion, kind.Kind, err)
			}
			write(out, []byte(kind.APIVersion), []byte(kind.Kind), text.Bytes(), binary.Bytes())
		}
	}
	return nil
}

// message is implemented by every type with a protobuf encoding.
type message interface {
	runtime.Object
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// stored returns an object as an API server reads it from storage, where null and empty are the same.
func stored(object any, t reflect.Type) (runtime.Object, error) {
	binary, err := object.(message).Marshal()
	if err != nil {
		return nil, err
	}
	read := reflect.New(t).Interface().(message)
	return read, read.Unmarshal(binary)
}

func write(out *bufio.Writer, texts ...[]byte) {
	for _, text := range texts {
		// A buffered writer returns its error when it is flushed.
		_ = binary.Write(out, binary.BigEndian, uint32(len(text)))
		_, _ = out.Write(text)
	}
}
