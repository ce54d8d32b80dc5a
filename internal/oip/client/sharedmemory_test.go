package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/oip"
	"github.com/mlperf-go/mlperf/internal/oip/oiptest"
	"github.com/mlperf-go/mlperf/internal/oip/server"
	"github.com/mlperf-go/mlperf/internal/oip/shm"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// sharing starts a server that takes shared memory.
func sharing(t *testing.T, model *oiptest.Doubler) map[string]string {
	t.Helper()
	if err := shm.Available(); err != nil {
		t.Skip(err)
	}
	endpoints, _ := serve(t, server.Config{Name: "test", Models: []server.Model{model}, SharedMemory: true})
	return endpoints
}

func TestTensorsGoThroughSharedMemory(t *testing.T) {
	const width = 1 << 15
	endpoints := sharing(t, &oiptest.Doubler{Name: "m", Width: width})
	for scheme, url := range endpoints {
		t.Run(scheme, func(t *testing.T) {
			c := open(t, Options{Endpoints: []string{url}, SharedMemory: true})
			for rows := range 8 {
				in := tensor.New(tensor.Float32, int64(rows+1), width)
				for i := range tensor.Data[float32](in) {
					tensor.Data[float32](in)[i] = float32(i * (rows + 1))
				}
				got, err := double(t.Context(), c, in)
				if err != nil {
					t.Fatal(err)
				}
				for i, v := range got {
					if v != float32(2*i*(rows+1)) {
						t.Fatalf("%d rows: element %d is %v", rows+1, i, v)
					}
				}
			}
			if traffic := c.Traffic(); traffic.Sent > 32<<10 || traffic.Received > 32<<10 {
				t.Errorf("9 MiB of tensors took %+v on the wire", traffic)
			}
			leases := c.nodes[0].shared.all
			if len(leases) == 0 {
				t.Error("no memory was shared")
			}
			for _, l := range leases {
				if _, err := os.Stat("/dev/shm" + l.memory.Key()); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("the object %s still has a name: %v", l.memory.Key(), err)
				}
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	if list := registered(t, endpoints["http"]); list != "[]" {
		t.Errorf("the server keeps %s", list)
	}
}

// registered asks a server for its regions.
func registered(t *testing.T, endpoint string) string {
	t.Helper()
	r, err := http.Get(endpoint + "/v2/systemsharedmemory/status")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSpace(text))
}

// A server that has not answered may still write into the memory: the next request must not
// find its own there.
func TestTheMemoryOfARequestWithoutAnAnswerIsNotUsedAgain(t *testing.T) {
	endpoints := sharing(t, &oiptest.Doubler{Name: "m", Width: 4, Time: 50 * time.Millisecond})
	for _, scheme := range []string{"http", "grpc"} {
		c := open(t, Options{Endpoints: []string{endpoints[scheme]}, SharedMemory: true})
		checkDouble(t, c, 1)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Millisecond, cancel)
		if _, err := double(ctx, c, tensor.New(tensor.Float32, 1, 4)); err == nil {
			t.Error("a request was answered early")
		}
		cancel()
		abandoned := c.nodes[0].shared.all[0]
		for range 3 {
			checkDouble(t, c, 1)
		}
		shared := &c.nodes[0].shared
		if len(shared.all) != 2 || len(shared.free) != 1 || shared.free[0] == abandoned {
			t.Errorf("%s: %d regions, of which %d are free; want 2, and that of the request that failed never again", scheme, len(shared.all), len(shared.free))
		}
		if _, err := double(t.Context(), c, tensor.New(tensor.Float32, 9, 4)); err == nil || len(shared.free) == 0 {
			t.Errorf("%s: a request that was refused: %v, %d regions are free", scheme, err, len(shared.free))
		}
	}
}

func TestWhereNoMemoryCanBeSharedItIsSaid(t *testing.T) {
	if _, err := New(t.Context(), Options{Endpoints: []string{"http://10.0.0.1:8000"}, SharedMemory: true}); err == nil || !strings.Contains(err.Error(), "not on this machine") {
		t.Errorf("a server elsewhere: %v", err)
	}
	endpoints, _ := serve(t, server.Config{Models: []server.Model{&oiptest.Doubler{Name: "m", Width: 4}}})
	for _, scheme := range []string{"http", "grpc"} {
		c := open(t, Options{Endpoints: []string{endpoints[scheme]}, SharedMemory: true})
		if _, err := double(t.Context(), c, tensor.New(tensor.Float32, 1, 4)); err == nil || !strings.Contains(err.Error(), "takes no tensors in shared memory") {
			t.Errorf("%s: a server that takes none: %v", scheme, err)
		}
	}
	if shared := sharing(t, &oiptest.Doubler{Name: "m", Width: 4}); true { // one that has forgotten
		c := open(t, Options{Endpoints: []string{shared["http"]}, SharedMemory: true})
		checkDouble(t, c, 1)
		if r, err := http.Post(shared["http"]+"/v2/systemsharedmemory/unregister", "", nil); err != nil || r.StatusCode != http.StatusOK {
			t.Fatal(r, err)
		}
		if _, err := double(t.Context(), c, tensor.New(tensor.Float32, 1, 4)); err == nil || !strings.Contains(err.Error(), "is registered") {
			t.Errorf("a server that was started anew: %v", err)
		}
	}
}

func TestAnAnswerElsewhereInSharedMemoryIsNone(t *testing.T) {
	if err := shm.Available(); err != nil {
		t.Skip(err)
	}
	var window string
	l := listen(t, "tcp")
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if strings.HasSuffix(r.URL.Path, "/infer") {
			fmt.Fprintf(w, `{"outputs":[{"name":"y","datatype":"FP32","shape":[1,4],"parameters":{%s}}]}`, window)
		}
	})}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { s.Close() })
	for name, c := range map[string]string{
		"the input":        `"shared_memory_region":"REGION","shared_memory_offset":0,"shared_memory_byte_size":16`,
		"another region":   `"shared_memory_region":"x","shared_memory_offset":64,"shared_memory_byte_size":16`,
		"before the start": `"shared_memory_region":"REGION","shared_memory_offset":-64,"shared_memory_byte_size":16`,
		"another size":     `"shared_memory_region":"REGION","shared_memory_offset":64,"shared_memory_byte_size":32`,
	} {
		client := open(t, Options{Endpoints: []string{"http://" + l.Addr().String()}, SharedMemory: true})
		lease, err := client.nodes[0].lend(t.Context(), 80)
		if err != nil {
			t.Fatal(err)
		}
		client.nodes[0].giveBack(lease)
		window = strings.Replace(c, "REGION", lease.region, 1)
		if _, err := double(t.Context(), client, tensor.New(tensor.Float32, 1, 4)); err == nil || oip.CodeOf(err) == oip.Unavailable {
			t.Errorf("%s is taken for the output: %v", name, err)
		}
	}
}
