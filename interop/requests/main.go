// Command requests counts the requests of a client-go reflector to servers that fail permanently in the same way.
//
// It prints one line for each failure mode: its name and the mean number of requests of one reflector.
// crates/informer/src/reflector/tests/client_go_requests.txt is its output.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// A mode responds to a request; number is the number of the request of its reflector, which starts at one.
type mode struct {
	name   string
	answer func(w http.ResponseWriter, r *request)
}

type request struct {
	watch, stream bool
	token         string
	number        int64
}

const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","resourceVersion":"%d"}}`

var modes = []mode{
	{"closed_port", nil},
	{"status_401", status(401, "Unauthorized")},
	{"status_403", status(403, "Forbidden")},
	{"status_404", status(404, "NotFound")},
	{"status_410", status(410, "Expired")},
	{"status_429", status(429, "TooManyRequests")},
	{"retry_after_1", retryAfter(1)},
	{"retry_after_30", retryAfter(30)},
	{"status_500", status(500, "InternalError")},
	{"status_503", status(503, "ServiceUnavailable")},
	{"watch_410", watch(status(410, "Expired"))},
	{"watch_500", watch(status(500, "InternalError"))},
	{"error_event_410", event(func(int64) string {
		return `{"type":"ERROR","object":{"apiVersion":"v1","kind":"Status","status":"Failure","code":410,"reason":"Expired"}}`
	})},
	{"cut_after_headers", event(func(int64) string { return "" })},
	{"cut_after_one_event", event(func(number int64) string {
		return `{"type":"ADDED","object":` + fmt.Sprintf(pod, 10+number) + "}"
	})},
	{"nameless_event", event(func(int64) string { return `{"type":"ADDED","object":{"apiVersion":"v1","kind":"Pod","metadata":{}}}` })},
	{"unknown_event", event(func(int64) string { return `{"type":"RENAMED","object":` + fmt.Sprintf(pod, 11) + "}" })},
	{"repeated_token", pages(func(int64) string { return "C" }, fmt.Sprintf(pod, 1))},
	{"empty_pages", pages(func(number int64) string { return "C" + strconv.FormatInt(number, 10) }, "")},
	{"expired_pages", expiredPages},
	{"garbage", func(w http.ResponseWriter, _ *request) { write(w, 200, "garbage") }},
}

func write(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, body)
}

func status(code int, reason string) func(http.ResponseWriter, *request) {
	return func(w http.ResponseWriter, _ *request) {
		write(w, code, fmt.Sprintf(`{"apiVersion":"v1","kind":"Status","status":"Failure","code":%d,"reason":%q,"message":"no"}`, code, reason))
	}
}

func retryAfter(seconds int) func(http.ResponseWriter, *request) {
	answer := status(429, "TooManyRequests")
	return func(w http.ResponseWriter, r *request) {
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
		answer(w, r)
	}
}

func list(w http.ResponseWriter, token, items string) {
	write(w, 200, fmt.Sprintf(`{"apiVersion":"v1","kind":"PodList","metadata":{"resourceVersion":"10","continue":%q},"items":[%s]}`, token, items))
}

// watch responds to watches. Lists succeed, and streaming lists are refused.
func watch(answer func(http.ResponseWriter, *request)) func(http.ResponseWriter, *request) {
	return func(w http.ResponseWriter, r *request) {
		switch {
		case r.stream:
			status(422, "Invalid")(w, r)
		case r.watch:
			answer(w, r)
		default:
			list(w, "", fmt.Sprintf(pod, 1))
		}
	}
}

func event(body func(int64) string) func(http.ResponseWriter, *request) {
	return watch(func(w http.ResponseWriter, r *request) { write(w, 200, body(r.number)) })
}

func pages(token func(int64) string, items string) func(http.ResponseWriter, *request) {
	return func(w http.ResponseWriter, r *request) {
		switch {
		case r.stream:
			status(422, "Invalid")(w, r)
		case r.watch:
			write(w, 200, "")
		default:
			list(w, token(r.number), items)
		}
	}
}

func expiredPages(w http.ResponseWriter, r *request) {
	if r.token != "" {
		status(410, "Expired")(w, r)
		return
	}
	pages(func(int64) string { return "C" }, fmt.Sprintf(pod, 1))(w, r)
}

type counting struct {
	next  http.RoundTripper
	count *atomic.Int64
}

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.count.Add(1)
	return c.next.RoundTrip(r)
}

// run returns the number of requests of one reflector in the duration of ctx.
func run(ctx context.Context, m mode) (int64, error) {
	var count atomic.Int64
	config := &rest.Config{Host: "http://127.0.0.1:1"}
	if m.answer != nil {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			query := r.URL.Query()
			m.answer(w, &request{
				watch:  query.Get("watch") != "",
				stream: query.Get("sendInitialEvents") == "true",
				token:  query.Get("continue"),
				number: count.Load(),
			})
		}))
		defer server.Close()
		config.Host = server.URL
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counting{next, &count} })
	client, err := typed.NewForConfig(config)
	if err != nil {
		return 0, err
	}
	source := cache.NewListWatchFromClient(client.RESTClient(), "pods", "", fields.Everything())
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	reflector := cache.NewReflectorWithOptions(source, &corev1.Pod{}, store, cache.ReflectorOptions{})
	reflector.RunWithContext(ctx)
	return count.Load(), nil
}

func main() {
	duration := flag.Duration("time", time.Minute, "the time for which requests are counted")
	runs := flag.Int("runs", 5, "the number of reflectors for each mode")
	flag.Parse()
	klog.SetLogger(logr.Discard())
	ctx, cancel := context.WithTimeout(klog.NewContext(context.Background(), logr.Discard()), *duration)
	defer cancel()
	totals := make([]atomic.Int64, len(modes))
	var all sync.WaitGroup
	for number, m := range modes {
		for range *runs {
			all.Go(func() {
				count, err := run(ctx, m)
				if err != nil {
					fmt.Fprintln(os.Stderr, "requests:", err)
					os.Exit(1)
				}
				totals[number].Add(count)
			})
		}
	}
	all.Wait()
	for number, m := range modes {
		fmt.Printf("%s %d\n", m.name, totals[number].Load()/int64(*runs))
	}
}
