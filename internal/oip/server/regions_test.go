package server_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/mlperf-go/mlperf/internal/oip"
	"github.com/mlperf-go/mlperf/internal/oip/oiptest"
	"github.com/mlperf-go/mlperf/internal/oip/server"
	"github.com/mlperf-go/mlperf/internal/oip/shm"
)

// object makes an object of shared memory.
func object(t *testing.T, size int64) *shm.Object {
	t.Helper()
	if err := shm.Available(); err != nil {
		t.Skip(err)
	}
	o, err := shm.Create(size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = o.Unlink()
		_ = o.Close()
	})
	return o
}

// sharing starts a server that takes shared memory.
func sharing(t *testing.T) string {
	t.Helper()
	s := server.New(server.Config{Models: []server.Model{&oiptest.Doubler{Name: "m", Width: 4}}, SharedMemory: true})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.ServeHTTP(l) }()
	t.Cleanup(func() { _ = s.Drain(t.Context()) })
	return "http://" + l.Addr().String()
}

// ask makes a request and returns the status and the answer.
func ask(t *testing.T, url, body string) (int, string) {
	t.Helper()
	r, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(text)
}

func TestWhatIsNoRegionIsRefused(t *testing.T) {
	address, o := sharing(t), object(t, 100)
	region := address + "/v2/systemsharedmemory/region/"
	right := fmt.Sprintf(`{"key":%q,"offset":10,"byte_size":90}`, o.Key())
	for _, c := range []struct{ name, region, body, want string }{
		{"a right one", "a", right, ""},
		{"the same once more", "a", right, "registered already"},
		{"no JSON", "b", "{", "a region of shared memory"},
		{"endless JSON", "b", `{"key":"` + strings.Repeat("x", 1<<20), "too large"},
		{"a path", "b", `{"key":"/../../etc/passwd","byte_size":10}`, "want a name"},
		{"nobody's object", "b", `{"key":"/mlperf-nobody","byte_size":10}`, "no such file"},
		{"more than there is", "b", fmt.Sprintf(`{"key":%q,"offset":20,"byte_size":90}`, o.Key()), "it has 100"},
		{"a name without an end", strings.Repeat("n", 300), right, "300 characters"},
	} {
		status, text := ask(t, region+c.region+"/register", c.body)
		if c.want == "" && status != 200 || c.want != "" && (status != 400 || !strings.Contains(text, c.want)) {
			t.Errorf("%s: %d %s, want %q", c.name, status, text, c.want)
		}
	}
	input := func(window string) string {
		return `{"inputs":[{"name":"x","datatype":"FP32","shape":[1,4],"parameters":{"shared_memory_region":"a",` + window + `}}]}`
	}
	for _, c := range []struct {
		name, window, want string
	}{
		{"a right one", `"shared_memory_offset":4,"shared_memory_byte_size":16`, ""},
		{"beyond the end", `"shared_memory_offset":80,"shared_memory_byte_size":16`, "beyond the 90"},
		{"before the start", `"shared_memory_offset":-4,"shared_memory_byte_size":16`, "beyond the 90"},
		{"another size than the tensor", `"shared_memory_byte_size":12`, "want 16"},
		{"a size beyond all memory", `"shared_memory_byte_size":9223372036854775807`, "want 16"},
		{"elements beside it", `"binary_data_size":16,"shared_memory_byte_size":16`, "one of the two"},
	} {
		status, text := ask(t, address+"/v2/models/m/infer", input(c.window))
		if c.want == "" && status != 200 || c.want != "" && (status != 400 || !strings.Contains(text, c.want)) {
			t.Errorf("an input, %s: %d %s, want %q", c.name, status, text, c.want)
		}
	}
	if err := os.Truncate("/dev/shm"+o.Key(), 10); err != nil {
		t.Fatal(err)
	}
	if status, text := ask(t, address+"/v2/models/m/infer", input(`"shared_memory_byte_size":16`)); status != 400 || !strings.Contains(text, "0 of 16 bytes") {
		t.Errorf("an object that was made shorter: %d %s", status, text)
	}
	if status, text := ask(t, region+"a/unregister", ""); status != 200 {
		t.Errorf("unregistering: %d %s", status, text)
	}
	if status, text := ask(t, address+"/v2/models/m/infer", input(`"shared_memory_byte_size":16`)); status != 400 || !strings.Contains(text, `no region \"a\"`) {
		t.Errorf("a region that is gone: %d %s", status, text)
	}
}

func TestRegionsAreListedAndForgottenOneByOneOrAll(t *testing.T) {
	address, o := sharing(t), object(t, 16)
	regions := address + "/v2/systemsharedmemory"
	for _, name := range []string{"b", "a", "c"} {
		if status, text := ask(t, regions+"/region/"+name+"/register", fmt.Sprintf(`{"name":"another","key":%q,"offset":4,"byte_size":8}`, o.Key())); status != 200 {
			t.Fatal(text)
		}
	}
	listed := func(path string) string {
		t.Helper()
		r, err := http.Get(regions + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(text), fmt.Sprintf(`,"key":%q,"offset":4,"byte_size":8`, o.Key()), "")
	}
	for _, step := range []struct{ forget, path, want string }{
		{"", "/status", `[{"name":"a"},{"name":"b"},{"name":"c"}]`},
		{"", "/region/b/status", `[{"name":"b"}]`},
		{"/region/b/unregister", "/status", `[{"name":"a"},{"name":"c"}]`},
		{"/region/b/unregister", "/region/b/status", `{"error":"there is no region \"b\""}` + "\n"},
		{"/unregister", "/status", `[]`},
	} {
		if step.forget != "" {
			if status, text := ask(t, regions+step.forget, ""); status != 200 || text != "" {
				t.Errorf("%s: %d %s", step.forget, status, text)
			}
		}
		if got := listed(step.path); got != step.want {
			t.Errorf("after %q %s is %s, want %s", step.forget, step.path, got, step.want)
		}
	}
}

func TestAServerThatSharesNothingSaysSo(t *testing.T) {
	shares := func(on bool) (extensions []string, register error) {
		c := run(t, server.Config{Models: twoModels(), SharedMemory: on}).dial(t)
		var about oip.ServerMetadata
		if err := c.Invoke(t.Context(), oip.MethodName("ServerMetadata"), &oip.Inquiry{}, &about); err != nil {
			t.Fatal(err)
		}
		return about.Extensions, c.Invoke(t.Context(), oip.MethodName("SystemSharedMemoryRegister"), &oip.Region{Name: "r", Key: "/mlperf-nobody", Size: 1}, &oip.State{})
	}
	extensions, err := shares(false)
	if grpcstatus.Code(err) != codes.Unimplemented || !strings.Contains(err.Error(), "takes no tensors in shared memory: send them") || slices.Contains(extensions, "system_shared_memory") {
		t.Errorf("%v, with the extensions %v", err, extensions)
	}
	extensions, err = shares(true)
	if grpcstatus.Code(err) != codes.InvalidArgument || !slices.Contains(extensions, "system_shared_memory") {
		t.Errorf("a region of nobody: %v, with the extensions %v", err, extensions)
	}
}

func TestRegionsAreBounded(t *testing.T) {
	address, o := sharing(t), object(t, 16)
	for i := range 1025 {
		status, text := ask(t, fmt.Sprintf("%s/v2/systemsharedmemory/region/%d/register", address, i), fmt.Sprintf(`{"key":%q,"byte_size":16}`, o.Key()))
		if (i < 1024) != (status == 200) {
			t.Fatalf("region %d: %d %s", i, status, text)
		}
	}
}

func TestRegionsOfClientsThatWereKilledAreForgotten(t *testing.T) {
	address := sharing(t)
	register := func(name, key string) {
		t.Helper()
		if status, text := ask(t, address+"/v2/systemsharedmemory/region/"+name+"/register", fmt.Sprintf(`{"key":%q,"byte_size":16}`, key)); status != 200 {
			t.Fatal(text)
		}
	}
	alive := object(t, 16)
	register("alive", alive.Key())
	foreign, err := os.CreateTemp("/dev/shm", "foreign-*") // as a program makes it that locks nothing
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(foreign.Name())
	if err := errors.Join(foreign.Truncate(16), foreign.Close()); err != nil {
		t.Fatal(err)
	}
	register("foreign", "/"+filepath.Base(foreign.Name()))
	for i := range 14 {
		killed := object(t, 16)
		register(fmt.Sprint("killed", i), killed.Key())
		if err := killed.Close(); err != nil { // as the system does it for who is killed
			t.Fatal(err)
		}
	}
	register("new", alive.Key())
	r, err := http.Get(address + "/v2/systemsharedmemory/status")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var list []oip.Region
	if err := json.NewDecoder(r.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, g := range list {
		names = append(names, g.Name)
	}
	if want := []string{"alive", "foreign", "new"}; !slices.Equal(names, want) {
		t.Errorf("the regions are %v, want %v", names, want)
	}
}

func TestOutputsThatDoNotFitAreRefused(t *testing.T) {
	address, o := sharing(t), object(t, 100)
	if status, text := ask(t, address+"/v2/systemsharedmemory/region/a/register", fmt.Sprintf(`{"key":%q,"byte_size":100}`, o.Key())); status != 200 {
		t.Fatal(text)
	}
	for size, want := range map[int]int{16: 200, 15: 400, 101: 400} {
		status, text := ask(t, address+"/v2/models/m/infer", fmt.Sprintf(`{"inputs":[{"name":"x","datatype":"FP32","shape":[1,4],"data":[1,2,3,4]}],`+
			`"outputs":[{"name":"y","parameters":{"shared_memory_region":"a","shared_memory_byte_size":%d}}]}`, size))
		if status != want {
			t.Errorf("room for %d bytes: %d %s", size, status, text)
		}
	}
	got := make([]byte, 4)
	if err := o.Read(12, got); err != nil || string(got) != "\x00\x00\x00A" { // 8 as float32
		t.Errorf("the last element is %x, %v", got, err)
	}
}
