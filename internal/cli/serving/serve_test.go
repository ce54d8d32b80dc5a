package serving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/builtin/arch"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/clitest"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
)

// alone goes to an empty folder with an empty cache.
func alone(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("MLPERF_CACHE_DIR", filepath.Join(dir, "cache"))
	t.Setenv("MLPERF_DATA_DIR", filepath.Join(dir, "data"))
	return dir
}

func TestWrongFlagsOfAServerAreNamedBeforeAModelIsOpened(t *testing.T) {
	alone(t)
	if err := os.WriteFile("page.html", []byte("<html>"), 0o644); err != nil {
		t.Fatal(err)
	}
	base := func(flags ...string) []string {
		return append([]string{"serve", "resnet50", "--backend", "simulated", "--listen", "127.0.0.1:0"}, flags...)
	}
	var cases []clitest.Case
	for _, c := range []struct {
		name, want string
		args       []string
	}{
		{"no model", "serve: want MODEL", []string{"serve"}},
		{"a model that is none", "alexnet", []string{"serve", "alexnet"}},
		{"a model twice", "resnet50 and ResNet-50 are the same model: want each once", base("ResNet-50")},
		{"a file for two models", "--model-path is one file, and there are 2 models", base("mobilenet", "--model-path", "x.onnx")},
		{"an address that is none", "listen", base("--listen", "nowhere")},
		{"a port that is none", "99999", base("--listen", "127.0.0.1:99999")},
		{"beyond this machine without TLS", "insecure", base("--listen", "0.0.0.0:0")},
		{"a certificate without a key", "tls", base("--tls-cert", "page.html")},
		{"a certificate that is none", "tls", base("--tls-cert", "page.html", "--tls-key", "page.html")},
		{"a queue below nothing", "--max-queue is -5, want a number from 1, or 0 for the default", base("--max-queue", "-5")},
		{"a time of the engine below nothing", "sim-latency", base("--sim-latency", "-1ms")},
		{"batches below nothing", "--max-batchsize is -1", base("--max-batchsize", "-1")},
		{"an order that is none", "execution", base("--execution", "sideways")},
		{"an engine that asks servers of text itself", "resnet50 takes no prompts", base("--backend", "openai")},
		{"a style of progress that is none", "--progress", base("--progress", "loud")},
		{"a precision that is none", "int4", base("--precision", "int4")},
	} {
		cases = append(cases, clitest.Case{Name: c.name, Args: c.args, Status: cli.ExitUsage, Want: []string{c.want}, Not: []string{"listening"}})
	}
	clitest.Check(t, Commands, cases)
	if entries, err := os.ReadDir("cache"); err == nil {
		t.Errorf("something was made: %v", entries)
	}
}

// model writes a network that adds its input to itself.
func model(t *testing.T, path string) {
	t.Helper()
	b := arch.NewBuilder("sum", 1)
	x := b.Input("image", onnx.Float32, onnx.Batched(3, 224, 224))
	x = b.MaxPool("grid", x, arch.Pool{Kernel: arch.Axes{56}, Strides: arch.Axes{56}})
	b.Output(b.Softmax("softmax", b.Dense("scores", b.Flatten("features", x), arch.Dense{Units: 1001}), 1))
	m, _, err := b.Model()
	if err == nil {
		err = m.WriteFile(t.Context(), path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// announced is where a server says that it listens.
type announced struct {
	io.Writer
	at chan string
}

func (a announced) Write(b []byte) (int, error) {
	if _, address, ok := strings.Cut(string(b), "listening on "); ok {
		select {
		case a.at <- strings.TrimSpace(address):
		default:
		}
	}
	return len(b), nil
}

func TestAServerAnswersUntilItIsStopped(t *testing.T) {
	alone(t)
	model(t, "m.onnx")
	if err := synth.WriteImageNet(t.Context(), "imagenet", synth.ImageNetSpec{Seed: 1, Images: 3, Classes: 3}, nil); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	at, said := announced{at: make(chan string, 1)}, &strings.Builder{}
	cmd := Commands()[0]
	cli.DefineProgress(cmd.Flags())
	cmd.SetOut(at)
	cmd.SetErr(said)
	cmd.SetArgs([]string{"resnet50", "--backend", "simulated", "--sim-latency", "1ms", "--model-path", "m.onnx", "--dataset-path", "imagenet", "--listen", "127.0.0.1:0", "--progress", "none", "--drain", "1s"})
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	select {
	case address := <-at.at:
		answer, err := http.Get(address + "/v2/health/ready")
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("it is not ready: %s, %v", answer.Status, err)
		}
	case err := <-ended:
		t.Fatalf("it ended: %v: %s", err, said)
	case <-time.After(time.Minute):
		t.Fatal("it says nothing")
	}
	stop(cli.ErrInterrupted)
	if err := <-ended; err != nil {
		t.Errorf("what was stopped ends with %v", err)
	}
	if text := said.String(); strings.Contains(text, "…") {
		t.Errorf("with --progress none it shows %s", text)
	}
}

type named struct {
	oipserver.Model
	name string
}

func (n named) Metadata() *protocol.ModelMetadata {
	return &protocol.ModelMetadata{Name: n.name, Versions: []string{"1"}}
}

func TestAServerSaysWhatItOffersAndWhere(t *testing.T) {
	tcp := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8000}
	for _, c := range []struct {
		name, cert string
		http, grpc net.Addr
		want       string
	}{
		{"HTTP", "", tcp, nil, "listening on http://127.0.0.1:8000\n"},
		{"with TLS, and gRPC", "c.pem", tcp, &net.TCPAddr{IP: net.IPv6loopback, Port: 1}, "listening on https://127.0.0.1:8000\nlistening on grpcs://[::1]:1\n"},
		{"a socket", "", &net.UnixAddr{Name: "/run/m.sock", Net: "unix"}, tcp, "listening on unix:///run/m.sock\nlistening on grpc://127.0.0.1:8000\n"},
	} {
		var b strings.Builder
		o := &serveFlags{}
		o.Web.Cert = c.cert
		o.announce(&b, []oipserver.Model{named{name: "m"}, named{name: "m-task"}}, c.http, c.grpc)
		if want := "model m, version 1\nmodel m-task, version 1\n" + c.want; b.String() != want {
			t.Errorf("%s: %s, want %s", c.name, b.String(), want)
		}
	}
}

func TestAServerThatIsStoppedBeforeItIsThereIsInterrupted(t *testing.T) {
	for _, err := range []error{cli.ErrInterrupted, fmt.Errorf("opening: %w", cli.ErrInterrupted), context.Canceled} {
		if got := cli.StatusOf(interruption(err)); got != cli.ExitInterrupted {
			t.Errorf("%v: status %d", err, got)
		}
	}
	if other := errors.New("no"); interruption(other) != other || interruption(nil) != nil {
		t.Error("another error is changed")
	}
	if !strings.HasPrefix(nodeName(), "mlperf") {
		t.Errorf("%q", nodeName())
	}
}
