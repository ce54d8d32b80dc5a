package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/oip/oiptest"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A toxiproxy is Shopify's proxy, which spoils connections: another program than ours between
// client and server. It is looked for as MLPERF_TOXIPROXY, or toxiproxy-server in the path:
// go install github.com/Shopify/toxiproxy/v2/cmd/server@v2.12.0 makes it.
type toxiproxy struct{ api string }

func startToxiproxy(t *testing.T) toxiproxy {
	t.Helper()
	program := os.Getenv("MLPERF_TOXIPROXY")
	if program == "" {
		var err error
		if program, err = exec.LookPath("toxiproxy-server"); err != nil {
			t.Skip("there is no toxiproxy-server (MLPERF_TOXIPROXY):", err)
		}
	}
	l := listen(t, "tcp")
	address := l.Addr().String()
	l.Close()
	_, port, _ := strings.Cut(address, ":")
	cmd := exec.Command(program, "-host", "127.0.0.1", "-port", port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	p := toxiproxy{"http://" + address}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if r, err := http.Get(p.api + "/version"); err == nil {
			r.Body.Close()
			return p
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// post tells the proxy something, and returns what it answers.
func (p toxiproxy) post(t *testing.T, path string, body map[string]any) map[string]any {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.Post(p.api+path, "application/json", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var out map[string]any
	if err := json.NewDecoder(r.Body).Decode(&out); err != nil || r.StatusCode/100 != 2 {
		t.Fatalf("%s: %s %v %v", path, r.Status, out, err)
	}
	return out
}

func TestToxicConnectionsFailRequestsAndNothingElse(t *testing.T) {
	testenv.SkipLong(t, "it waits for timeouts")
	proxy := startToxiproxy(t)
	const width = 1 << 16 // floats: 256 KiB a row
	endpoints, _ := serve(t, oipserver.Config{Models: []oipserver.Model{&oiptest.Doubler{Name: "m", Width: width}}})
	in := tensor.New(tensor.Float32, 1, width)
	for i := range tensor.Data[float32](in) {
		tensor.Data[float32](in)[i] = float32(i)
	}
	for _, c := range []struct {
		name, kind, stream string
		attributes         map[string]any
		right              bool // the request is answered all the same
	}{
		{"delay", "latency", "downstream", map[string]any{"latency": 50, "jitter": 20}, true},
		{"a slow link", "bandwidth", "upstream", map[string]any{"rate": 2000}, true},
		{"slices", "slicer", "upstream", map[string]any{"average_size": 3000, "size_variation": 1000, "delay": 10}, true},
		{"a black hole for requests", "timeout", "upstream", map[string]any{"timeout": 0}, false},
		{"a black hole for answers", "timeout", "downstream", map[string]any{"timeout": 0}, false},
		{"a link that is too slow", "bandwidth", "upstream", map[string]any{"rate": 10}, false},
		{"a reset", "reset_peer", "downstream", map[string]any{"timeout": 0}, false},
		{"a reset in the body", "limit_data", "upstream", map[string]any{"bytes": 100_000}, false},
		{"a truncated answer", "limit_data", "downstream", map[string]any{"bytes": 100_000}, false},
	} {
		for _, scheme := range []string{"http", "grpc"} {
			name := strings.ReplaceAll(c.name+"-"+scheme, " ", "-")
			made := proxy.post(t, "/proxies", map[string]any{"name": name, "listen": "127.0.0.1:0", "upstream": strings.TrimPrefix(endpoints[scheme], scheme+"://"), "enabled": true})
			proxy.post(t, "/proxies/"+name+"/toxics", map[string]any{"type": c.kind, "stream": c.stream, "attributes": c.attributes})
			client := open(t, Options{Endpoints: []string{fmt.Sprintf("%s://%v", scheme, made["listen"])}, Timeout: 3 * time.Second})
			begin := time.Now()
			got, err := double(t.Context(), client, in)
			if took := time.Since(begin); took > 10*time.Second {
				t.Errorf("%s: it took %v", name, took)
			}
			var blamed *serverError
			switch {
			case c.right && err != nil:
				t.Errorf("%s: %v", name, err)
			case c.right && got[width-1] != 2*(width-1):
				t.Errorf("%s: the last element is %v", name, got[width-1])
			case !c.right && (!errors.As(err, &blamed) || len(client.Down()) != 1 || protocol.CodeOf(err) == protocol.InvalidArgument):
				t.Errorf("%s: %v, down %q, want the server to be blamed and left out", name, err, client.Down())
			}
		}
	}
}
