package power

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/power/ptdtest"
)

// measuredPair is one whose two runs are over.
func measuredPair(t *testing.T) *Pair {
	t.Helper()
	p, err := StartPair(t.Context(), Source{Kind: PTD, Address: ptdtest.New().Serve(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	measure(t, p)
	measure(t, p)
	return p
}

// runFolders makes the folders of both runs, and returns the checksum of a file by its name.
func runFolders(t *testing.T, root string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	for _, run := range []string{Ranging, Testing} {
		if err := os.Mkdir(filepath.Join(root, run), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"mlperf_log_detail.txt", "mlperf_log_summary.txt", SamplesFile} {
			name := run + "/" + file
			if err := os.WriteFile(filepath.Join(root, name), []byte(name), 0o644); err != nil {
				t.Fatal(err)
			}
			sum := sha1.Sum([]byte(name))
			sums[name] = hex.EncodeToString(sum[:])
		}
	}
	return sums
}

func TestTheFolderOfAMeasurementSaysWhoseItIs(t *testing.T) {
	root := t.TempDir()
	sums := runFolders(t, root)
	p := measuredPair(t)
	if err := p.Write(root, "mlperf test"); err != nil {
		t.Fatal(err)
	}
	var server struct {
		descriptor
		Daemon []message `json:"ptd_messages"`
	}
	for _, name := range []string{"client.json", "server.json"} {
		text, err := os.ReadFile(filepath.Join(root, about, name))
		if err == nil {
			err = json.Unmarshal(text, &server)
		}
		if err != nil {
			t.Fatal(err)
		}
		if server.Note != unofficial || server.Version != "mlperf test" || len(server.Sources) != 0 || len(server.Phases) != 2 {
			t.Errorf("%s: %+v", name, server)
		}
		for file, sum := range sums {
			if server.Results[file] != sum {
				t.Errorf("%s has %q of %s, want %s", name, server.Results[file], file, sum)
			}
		}
	}
	if len(server.Daemon) < 10 || server.Daemon[0].Command != "Hello" {
		t.Errorf("the daemon was told %v", server.Daemon)
	}
	log, err := os.ReadFile(filepath.Join(root, about, "client.log"))
	if err != nil || !strings.Contains(string(log), unofficial) || !strings.Contains(string(log), "said Stop, answered ") {
		t.Errorf("client.log: %v\n%s", err, log)
	}
	if !strings.HasPrefix(p.String(), "PTDaemon ") {
		t.Errorf("it is called %q", p)
	}
}

func TestAMeasurementWithoutItsRunsIsNotWritten(t *testing.T) {
	err := measuredPair(t).Write(t.TempDir(), "mlperf test")
	if err == nil || !strings.Contains(err.Error(), "mlperf_log_detail.txt") {
		t.Errorf("Write = %v, want an error that names the file", err)
	}
}
