package metrics

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/serve/tokenserver/tokentest"
)

// As vLLM 0.11 writes it, with labels that have signs of the form.
const vllm = `# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="org/m"} 12.0
vllm:num_requests_waiting{engine="0",model_name="a, \"b\" } 7"} 3.0 1700000000000
vllm:kv_cache_usage_perc{engine="0"} 0.25
vllm:kv_cache_usage_perc{engine="1"} 0.75
vllm:num_preemptions_total 4
nv_trt_llm_request_metrics{model="m",request_type="active"} 5
nv_trt_llm_request_metrics{model="m",request_type="waiting"} 2
vllm:time_to_first_token_seconds_bucket{le="+Inf"} 9
other NaN
`

func TestParse(t *testing.T) {
	known := map[string]bool{"vllm:num_requests_running": true, "vllm:num_requests_waiting": true, "vllm:kv_cache_usage_perc": true, "vllm:num_preemptions_total": true, "other": true,
		"nv_trt_llm_request_metrics{active}": true, "nv_trt_llm_request_metrics{waiting}": true}
	got, err := parse(strings.NewReader(vllm), known)
	want := map[string]family{"vllm:num_requests_running": {12, 1}, "vllm:num_requests_waiting": {3, 1}, "vllm:kv_cache_usage_perc": {1, 2}, "vllm:num_preemptions_total": {4, 1},
		"nv_trt_llm_request_metrics{active}": {5, 1}, "nv_trt_llm_request_metrics{waiting}": {2, 1}}
	if err != nil || cmp.Diff(want, got, cmp.AllowUnexported(family{})) != "" {
		t.Errorf("%v: %s", err, cmp.Diff(want, got, cmp.AllowUnexported(family{})))
	}
	for text, wrong := range map[string]string{
		"a 1\nb": "line 2", "a{x=\"1} 2": "line 1", "a one": `line 1: the value is "one"`, "<html> <body>": "line 1: the value", "{}": "line 1", strings.Repeat("x", maxLine+1): "line 1",
	} {
		if _, err := parse(strings.NewReader(text), known); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%.20q: %v, want %q", text, err, wrong)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(vllm)
	f.Fuzz(func(t *testing.T, text string) {
		found, err := parse(strings.NewReader(text), map[string]bool{"a": true, "a{b}": true})
		for name, v := range found {
			if err == nil && (v.count < 1 || math.IsNaN(v.sum)) {
				t.Errorf("%s is %+v", name, v)
			}
		}
	})
}

func TestAddressOfMetrics(t *testing.T) {
	for endpoint, want := range map[string]string{
		"http://h:8000": "http://h:8000/metrics", "https://h/v1": "https://h/metrics", "http://h/a/v1/chat/completions": "http://h/a/metrics", "http://u:p@h/v1/completions?x=1": "http://h/metrics", "h:8000": "", "": "",
	} {
		if got := Of(endpoint); got != want {
			t.Errorf("Of(%q) = %q, want %q", endpoint, got, want)
		}
	}
}

// The server counts a preemption each second and two hits of eight, and falls silent after ten seconds.
func TestFiguresOfAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var asked atomic.Int64
		n := tokentest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			s := int(time.Since(began).Seconds())
			if s > 10 {
				time.Sleep(2 * time.Second)
				return
			}
			fmt.Fprintf(w, "vllm:num_requests_running 3\nvllm:num_preemptions_total %d\nvllm:prefix_cache_hits_total %d\nvllm:prefix_cache_queries_total %d\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 50\nDCGM_FI_DEV_GPU_UTIL{gpu=\"1\"} 70\n", s, 2*s, 8*s)
		}))
		w, err := Watch(t.Context(), Config{URLs: []string{"http://a:1/metrics"}, Dial: n.Dial})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		gauges := w.Gauges()
		for _, g := range gauges {
			g.Read() // the first begins the rates
		}
		time.Sleep(5500 * time.Millisecond)
		got := map[string]float64{}
		for _, g := range gauges {
			got[g.Name] = g.Read()
			if g.Server != "a:1" || g.Running != (g.Name == "running") {
				t.Errorf("%s is of %q, %v", g.Name, g.Server, g.Running)
			}
		}
		if diff := cmp.Diff(map[string]float64{"running": 3, "preemptions": 1, "hits of the prefix cache": 25, "GPU busy": 60}, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if n := asked.Load(); n != 6 {
			t.Errorf("the server was asked %d times in 5.5 s, want at once and five times", n)
		}
		time.Sleep(20 * time.Second)
		for _, g := range gauges {
			if v := g.Read(); !math.IsNaN(v) {
				t.Errorf("%s is %v long after the server fell silent", g.Name, v)
			}
		}
	})
}

func TestServersWithoutMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := tokentest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/redirect":
				http.Redirect(w, r, "/metrics", http.StatusFound)
			case "/other":
				fmt.Fprint(w, "other 1\n")
			case "/slow":
				time.Sleep(2 * time.Second)
			default:
				http.NotFound(w, r)
			}
		}))
		for path, want := range map[string]string{"redirect": "status 302", "other": errNothing.Error(), "slow": "deadline", "none": "status 404"} {
			w, err := Watch(t.Context(), Config{URLs: []string{"http://u:secret@a/" + path}, Dial: n.Dial})
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") || len(w.Gauges()) != 0 {
				t.Errorf("%s: %v", path, err)
			}
			w.Close()
		}
		var none *Watcher
		if none.Close(); none.Gauges() != nil {
			t.Error("no watcher has gauges")
		}
	})
}
