package main

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/cli"
)

// TestAnInterruptedDownloadSaysHowToGoOn sends the program a real signal.
func TestAnInterruptedDownloadSaysHowToGoOn(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals to send")
	}
	data := make([]byte, 1<<20)
	begun, release := make(chan struct{}), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(2*len(data)))
		_, _ = w.Write(data)
		close(begun) // the second half never comes
		select {
		case <-r.Context().Done():
		case <-release:
		}
	}))
	defer slow.Close()
	defer close(release)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "m")
	cmd := exec.Command(self, "download", "model", "mobilenet", "--mirror", slow.URL, "--dir", dir, "--accept-license")
	cmd.Args[0] = "mlperf"
	cmd.Env = append(os.Environ(), "TEST_AS_MLPERF=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-begun:
	case <-time.After(20 * time.Second):
		t.Error("the download does not begin")
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != cli.ExitInterrupted {
		t.Errorf("%v, want status %d", err, cli.ExitInterrupted)
	}
	if !strings.Contains(stderr.String(), "the same command goes on with it") {
		t.Errorf("it says %s", stderr.String())
	}
	parts, err := filepath.Glob(filepath.Join(dir, ".mlperf-download", "*.part"))
	if err != nil || len(parts) != 1 {
		t.Errorf("parts %q, %v; want what has come", parts, err)
	}
}
