package run_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/run/runtest"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/serve/oiptest"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// Texts of the user reach a model of a server as they are, in samples and in batches.
func TestTextsAtServers(t *testing.T) {
	for _, protocol := range []string{"http", "grpc"} {
		for _, batch := range []int{1, 4} {
			q := runtest.Request(t)
			model := &oiptest.Lengths{Name: "words"}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			testenv.Must(t, err)
			s := oipserver.New(oipserver.Config{Name: "test", Version: "1", Models: []oipserver.Model{model}})
			serve := s.ServeHTTP
			if protocol == "grpc" {
				serve = s.ServeGRPC
			}
			go func() { _ = serve(l) }()
			var lines, rows []string
			var counts []int64
			for i := range 20 {
				rows = append(rows, fmt.Sprintf("é %d|%s", i, strings.Repeat("x", i)))
				for _, text := range []string{fmt.Sprintf("é %d", i), strings.Repeat("x", i)} {
					lines, counts = append(lines, text), append(counts, int64(len(text)))
				}
			}
			dir := t.TempDir()
			testenv.Tree(t, dir, map[string]string{"x.txt": strings.Join(lines, "\n") + "\n"})
			testenv.Must(t, npy.WriteFile(filepath.Join(dir, "expected_n.npy"), tensor.Of(counts, 20, 2)))
			q.Model, q.ModelPath, q.DatasetPath, q.Scenario, q.Mode, q.MaxBatch, q.Output = "", "", dir, "offline", "performance", batch, filepath.Join(dir, "out")
			q.Engine = engine.Config{Name: engine.OIP, Remote: engine.Remote{Endpoints: []string{protocol + "://" + l.Addr().String()}, Model: "words"}}
			if batch == 1 { // nothing says that the outputs of more have a row for each sample
				q.Mode = "accuracy"
			}
			r, err := run.Do(t.Context(), q, harness.Silent{})
			testenv.Must(t, err)
			seen := 0
			model.Seen.Range(func(row, _ any) bool {
				if seen++; !slices.Contains(rows, row.(string)) {
					t.Errorf("%s, batches of %d: %q was asked", protocol, batch, row)
				}
				return true
			})
			if scored := r.Accuracy; r.Result != report.Valid || seen != 20 || model.Rows.Load() != int64(batch) || batch == 1 && scored.Value != 100 {
				t.Errorf("%s, batches of %d: %s %q, %+v, %d rows, at most %d in a request", protocol, batch, r.Result, r.Problems, scored, seen, model.Rows.Load())
			}
			ended, end := context.WithCancel(context.Background())
			end()
			_ = s.Drain(ended)
		}
	}
}
