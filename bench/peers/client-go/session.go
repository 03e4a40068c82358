package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
)

// usage is the memory and processor time of this process.
type usage struct {
	rss, peakRSS uint64
	cpuSeconds   float64
}

func currentUsage() usage {
	var used usage
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kibibytes, _ := strconv.ParseUint(fields[1], 10, 64)
		switch fields[0] {
		case "VmRSS:":
			used.rss = kibibytes * 1024
		case "VmHWM:":
			used.peakRSS = kibibytes * 1024
		}
	}
	var rusage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &rusage) == nil {
		used.cpuSeconds = float64(rusage.Utime.Nano()+rusage.Stime.Nano()) / 1e9
	}
	return used
}

func (u usage) report(event string) map[string]any {
	return map[string]any{"event": event, "rss": u.rss, "peak_rss": u.peakRSS, "cpu_seconds": u.cpuSeconds}
}

// printLine prints a line. If it fails, the reader has exited and standard input is closed too.
func printLine(report map[string]any) {
	line, _ := json.Marshal(report)
	_, _ = os.Stdout.Write(append(line, '\n'))
}

// executeCommands executes commands until the input is closed.
func executeCommands(from io.Reader, recorder *recorder, informer cache.SharedIndexInformer) error {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		numbers := make([]uint64, 2)
		for i := range words[1:] {
			number, err := strconv.ParseUint(words[i+1], 10, 64)
			if err != nil || i > 1 {
				return fmt.Errorf("unknown command %q", lines.Text())
			}
			numbers[i] = number
		}
		kinds := map[string]int{"any": goalAny, "newer": goalNewer, "timed": goalTimed}
		kind, isGoal := kinds[words[0]]
		switch {
		case words[0] == "read":
			printLine(read(informer.GetStore()))
		case words[0] == "events":
			printLine(map[string]any{"event": "events", "events": recorder.count()})
		case words[0] == "index":
			if err := informer.AddIndexers(cache.Indexers{"node": byNode}); err != nil {
				return err
			}
			printLine(map[string]any{"event": "indexed"})
		case isGoal:
			report, err := awaitGoal(goal{kind: kind, wanted: numbers[0], version: numbers[1]}, recorder)
			if err != nil {
				return err
			}
			printLine(report)
		default:
			return fmt.Errorf("unknown command %q", lines.Text())
		}
	}
	return lines.Err()
}

func awaitGoal(g goal, recorder *recorder) (map[string]any, error) {
	before := currentUsage().cpuSeconds
	// Without permission the peak is that of the entire run, which is never too low.
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	recorder.expect(g)
	printLine(map[string]any{"event": "ready"})
	record, reached := recorder.wait()
	if !reached {
		return nil, fmt.Errorf("only %d of %d events", recorder.count(), g.wanted)
	}
	used := currentUsage()
	used.cpuSeconds -= before
	report := used.report("done")
	if g.kind == goalTimed {
		report["p50"], report["p99"] = quantile(record.latencies, 0.5), quantile(record.latencies, 0.99)
	}
	report["first_at"] = record.firstAt
	report["done_at"] = record.doneAt
	return report, nil
}

// nestedField returns the field of the fingerprint.
func nestedField(object metav1.Object) string {
	switch object := object.(type) {
	case *corev1.Pod:
		return object.Status.PodIP
	case *unstructured.Unstructured:
		endpoint, _, _ := unstructured.NestedString(object.Object, "status", "endpoint")
		return endpoint
	default:
		return ""
	}
}

// read computes the fingerprint of the store.
func read(store cache.Store) map[string]any {
	start := time.Now()
	var count, identity, nested uint64
	for _, one := range store.List() {
		object := one.(metav1.Object)
		count++
		identity ^= fnv(object.GetNamespace(), object.GetName(), string(object.GetUID()), object.GetResourceVersion())
		nested ^= fnv(object.GetNamespace(), object.GetName(), nestedField(object))
	}
	return map[string]any{
		"event":        "read",
		"read_seconds": time.Since(start).Seconds(),
		"count":        count,
		"identity":     fmt.Sprintf("%016x", identity),
		"nested":       fmt.Sprintf("%016x", nested),
	}
}

// fnv returns the FNV-1a hash of the parts, with a zero byte after each.
func fnv(parts ...string) uint64 {
	hash := uint64(0xcbf29ce484222325)
	for _, part := range parts {
		for i := range len(part) {
			hash = (hash ^ uint64(part[i])) * 0x100000001b3
		}
		hash *= 0x100000001b3
	}
	return hash
}
