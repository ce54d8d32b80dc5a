//go:build linux

package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

// doctor --fix gets ONNX Runtime if it is missing, and only after a yes. It needs no shell, which Windows lacks.
func TestDoctorFix(t *testing.T) {
	t.Parallel()
	plain, cuda := "under MIT", "accept it with --yes"
	if runtime.GOOS+runtime.GOARCH != "linuxamd64" {
		plain, cuda = "", ""
	}
	for _, c := range []struct {
		name, flags, library string
		fetches              bool
		want                 string
	}{
		{"without --fix", "", "", false, "fix: mlperf doctor --fix"},
		{"no user to ask", "--fix", "", false, plain},
		{"a named library is missing, which a download does not mend", "--fix --yes", "nowhere.so", false, "MISSING: ONNX Runtime"},
		{"yes", "--fix --yes", "", true, "ONNX Runtime 1."},
		{"a device, and no user to ask", "--fix --device cuda", "", false, cuda},
	} {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var asked atomic.Value
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Store(r.Host)
			w.WriteHeader(http.StatusForbidden)
			cancel() // it would try again for a minute
		}))
		defer proxy.Close()
		cmd := exec.CommandContext(ctx, self(t), append([]string{"doctor"}, strings.Fields(c.flags)...)...)
		cmd.Dir = dir
		cmd.Stdin = strings.NewReader("y\n")
		cmd.Env = append(os.Environ(), "TEST_AS_MLPERF=1", "HOME="+dir, "MLPERF_DATA_DIR="+filepath.Join(dir, "data"), "MLPERF_CACHE_DIR="+filepath.Join(dir, "cache"),
			"MLPERF_ORT_LIB="+c.library, "PATH="+dir, "HTTPS_PROXY="+proxy.URL)
		out, err := cmd.CombinedOutput()
		if c.flags == "" && !strings.Contains(string(out), "MISSING: ONNX Runtime") {
			t.Skipf("this machine has ONNX Runtime where all programs find it:\n%s", out)
		}
		if host, _ := asked.Load().(string); (host == "files.pythonhosted.org:443") != c.fetches {
			t.Errorf("%s: asked %q, want a download: %v", c.name, host, c.fetches)
		}
		if !strings.Contains(string(out), c.want) || err == nil {
			t.Errorf("%s: %v, want a failure and %q in\n%s", c.name, err, c.want, out)
		}
	}
}
