package client

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/serve/oiptest"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// peer prepares the peer in Python, which knows the protocol from inference.proto only.
func peer(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	testenv.SkipLong(t, "it runs protoc and Python")
	const python = "/usr/bin/python3" // Debian's, which has Debian's packages
	protoc, err := exec.LookPath("protoc")
	if err == nil {
		err = exec.Command(python, "-c", "import grpc, google.protobuf").Run()
	}
	if err != nil {
		t.Skip("needs Debian's protobuf-compiler and python3-grpcio:", err)
	}
	dir := t.TempDir()
	if out, err := exec.Command(protoc, "-I../pb", "--python_out="+dir, "inference.proto").CombinedOutput(); err != nil {
		t.Fatalf("protoc: %v\n%s", err, out)
	}
	script, err := filepath.Abs("testdata/interop/peer.py")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, append([]string{script}, args...)...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+dir)
	return cmd
}

func TestPythonClient(t *testing.T) {
	model := &oiptest.Doubler{Name: "m", Version: "1", Width: 4}
	endpoints, _ := serve(t, oipserver.Config{Name: "test", Models: []oipserver.Model{model}})
	out, err := peer(t, "client", strings.TrimPrefix(endpoints["grpc"], "grpc://")).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "right" {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestPythonServer(t *testing.T) {
	cmd := peer(t, "server")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	c := open(t, Options{Endpoints: []string{"grpc://127.0.0.1:" + strings.TrimSpace(port)}})
	if about, err := c.Model(t.Context(), "m", ""); err != nil || about.Inputs[0].Name != "x" {
		t.Fatalf("%+v, %v", about, err)
	}
	for rows := 1; rows <= 3; rows++ {
		checkDouble(t, c, rows)
	}
}

func TestCurl(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("there is no curl")
	}
	endpoints, _ := serve(t, oipserver.Config{Models: []oipserver.Model{&oiptest.Doubler{Name: "m", Version: "1", Width: 4}}})
	out, err := exec.Command(curl, "-sS", "--noproxy", "*", "-d", `{"id":"q","inputs":[{"name":"x","datatype":"FP32","shape":[1,4],"data":[1,2,3,4.5]}]}`,
		endpoints["http"]+"/v2/models/m/infer").CombinedOutput()
	want := `{"model_name":"m","model_version":"1","id":"q","outputs":[{"name":"y","datatype":"FP32","shape":[1,4],"data":[2,4,6,9]}]}`
	if err != nil || string(out) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
}
