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

// usage is what this process uses of the machine.
type usage struct {
	rss, peakRSS uint64
	cpuSeconds   float64
}

func usageNow() usage {
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

// say prints a line. Whoever reads has gone away when this fails, and standard input ends with it.
func say(report map[string]any) {
	line, _ := json.Marshal(report)
	_, _ = os.Stdout.Write(append(line, '\n'))
}

// obey takes orders until there are no more.
func obey(from io.Reader, seen *seen, informer cache.SharedIndexInformer) error {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		numbers := make([]uint64, 2)
		for i := range words[1:] {
			number, err := strconv.ParseUint(words[i+1], 10, 64)
			if err != nil || i > 1 {
				return fmt.Errorf("the order %q is not understood", lines.Text())
			}
			numbers[i] = number
		}
		kinds := map[string]int{"any": goalAny, "newer": goalNewer, "timed": goalTimed}
		kind, isGoal := kinds[words[0]]
		switch {
		case words[0] == "read":
			say(read(informer.GetStore()))
		case words[0] == "seen":
			say(map[string]any{"event": "seen", "events": seen.count()})
		case words[0] == "index":
			if err := informer.AddIndexers(cache.Indexers{"node": byNode}); err != nil {
				return err
			}
			say(map[string]any{"event": "indexed"})
		case isGoal:
			report, err := await(goal{kind: kind, wanted: numbers[0], version: numbers[1]}, seen)
			if err != nil {
				return err
			}
			say(report)
		default:
			return fmt.Errorf("the order %q is not understood", lines.Text())
		}
	}
	return lines.Err()
}

func await(g goal, seen *seen) (map[string]any, error) {
	before := usageNow().cpuSeconds
	// Where this is not allowed, the height is that of the whole run, which is never too little.
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	seen.expect(g)
	say(map[string]any{"event": "ready"})
	sight, reached := seen.wait()
	if !reached {
		return nil, fmt.Errorf("only %d events of %d", seen.count(), g.wanted)
	}
	used := usageNow()
	used.cpuSeconds -= before
	report := used.report("done")
	if g.kind == goalTimed {
		report["p50"], report["p99"] = windows(sight.timed, 0.5), windows(sight.timed, 0.99)
		report["in_time"] = inTime(sight.timed, g.wanted)
	}
	report["events"] = sight.events
	report["first_at"] = sight.firstAt
	report["done_at"] = sight.doneAt
	return report, nil
}

// deep is a field that stands deep in an object.
func deep(object metav1.Object) string {
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

// read hashes every object in the store, as a user would read it.
func read(store cache.Store) map[string]any {
	began := time.Now()
	var count, identity, address uint64
	for _, one := range store.List() {
		object := one.(metav1.Object)
		count++
		identity ^= fnv(object.GetNamespace(), object.GetName(), string(object.GetUID()), object.GetResourceVersion())
		address ^= fnv(object.GetNamespace(), object.GetName(), deep(object))
	}
	return map[string]any{
		"event":        "read",
		"read_seconds": time.Since(began).Seconds(),
		"count":        count,
		"identity":     fmt.Sprintf("%016x", identity),
		"address":      fmt.Sprintf("%016x", address),
	}
}

// fnv is FNV-1a of the parts, with a zero after each.
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
