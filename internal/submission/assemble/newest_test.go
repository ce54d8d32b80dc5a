package assemble

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/endpoints"
	"github.com/mlperf-go/mlperf/internal/submission/checker"
	"github.com/mlperf-go/mlperf/internal/submission/compliance"
)

// summarise adds the files of mlcommons/endpoints to a run, as package run does.
func (c *campaign) summarise(test *harness.Test, record *report.Results, dir string) {
	c.t.Helper()
	if test.Replay != nil {
		record.Generation = &report.Generation{Replay: &report.Replay{Score: test.Replay.Score, Issued: test.Replay.Issued}}
	}
	names, err := endpoints.WriteSummary(filepath.Join(dir, endpoints.Folder), endpoints.Run{
		Program: record.Program, Benchmark: c.model, Model: record.Model, Data: "/data", Endpoints: []string{"http://server:8000"}, Streams: true,
		Test: test.Traffic, Results: record, Order: test.Order,
	})
	ok(c.t, err)
	for _, name := range names {
		record.Files[endpoints.Folder+"/"+name] = hashOf(read(c.t, dir, endpoints.Folder, name))
	}
}

// result makes both runs of a scenario, the first with the data of performance.
func (c *campaign) result(s loadgen.Scenario, performance, accuracy standIn) string {
	c.t.Helper()
	name := s.String()
	if c.interactive {
		name = "Interactive"
	}
	dir := filepath.Join(c.dir, c.model, name)
	c.numbers = performance
	c.run(s, "performance", "", dir+"/runs/performance")
	c.numbers = accuracy
	c.run(s, "accuracy", "", dir+"/runs/accuracy")
	return dir
}

// caching makes the audit of caching: different samples, then one again and again.
func (c *campaign) caching(s loadgen.Scenario, samples int, dir string) {
	c.t.Helper()
	var summaries []string
	for folder, setting := range map[string]string{"reference": "performance_issue_unique = 1", "TEST04": "performance_issue_same = 1"} {
		logs := filepath.Join(dir, "runs", folder)
		path := filepath.Join(logs, "phase.conf")
		write(c.t, path, "*.*.mode = 2\n*.*."+setting+strings.ReplaceAll("\n*.*.performance_sample_count_override = N\n*.*.min_query_count = N\n"+
			"*.*.max_query_count = N\n*.*.min_duration = 0\n*.*.sample_concatenate_permutation = 0\n", "N", fmt.Sprint(samples)))
		c.run(s, "performance", path, logs)
		summaries = append(summaries, endpoints.PathOf(logs, endpoints.SummaryFile))
	}
	slices.Sort(summaries) // TEST04 first
	v, err := compliance.VerifyCaching(summaries[1], summaries[0], samples, 0.1)
	ok(c.t, err)
	ok(c.t, v.WriteAudit(dir))
}

// pages replace those of FRAMES: the answer to the last one that is done is the MD5 of the database.
type pages struct{}

const databaseSum = "0123456789abcdef0123456789abcdef"

func (pages) workload() *workload.Workload {
	return answered(2515, func(index int) ([]byte, int) {
		if index == 0 {
			return []byte(databaseSum), 0
		}
		return []byte{1}, 0
	})
}

func (pages) score(_ context.Context, log accuracy.Input, _ workload.Scoring) (*accuracy.Score, error) {
	return accuracy.DatabaseScore(log, 2515, accuracy.DatabaseFile{Path: "made.db", MD5: databaseSum})
}

// turns replace the recorded conversations of programmers, whose answers all agree.
type turns struct{ numbers }

func (turns) workload() *workload.Workload {
	w := answered(1007, func(int) ([]byte, int) { return []byte("ls"), 1 })
	w.Order = func(n, _ uint64) int { return int(n % 1007) }
	w.Replayed = func(iter.Seq2[int, bool]) *workload.Replay {
		return &workload.Replay{Score: 1, Issued: 1007, Compared: 1007, Document: []byte("{}\n")}
	}
	return w
}

// given are samples with a score that was computed elsewhere.
type given struct {
	samples int
	scored  func(accuracy.Coverage) (*accuracy.Score, error)
}

func (g given) workload() *workload.Workload {
	return answered(g.samples, func(int) ([]byte, int) { return []byte("answer"), 0 })
}

func (g given) score(_ context.Context, log accuracy.Input, _ workload.Scoring) (*accuracy.Score, error) {
	c := accuracy.Coverage{Samples: g.samples}
	for _, err := range accuracy.FirstRecords(log, &c) {
		if err != nil {
			return nil, err
		}
	}
	return g.scored(c)
}

// A tree of v6.1 with all of its newest benchmarks on a system of each suite: pictures, videos, tools, retrieval, and those of endpoints.
func TestTreeOfNewestPasses(t *testing.T) {
	datacenter, edge := t.TempDir(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		c := &campaign{t: t, dir: datacenter, model: "qwen3-vl-235b-a22b", served: true, batch: 64, rate: "75", latency: time.Second}
		c.result(loadgen.Offline, products{catalogue}, products{catalogue})
		c.interactive, c.rate, c.latency = true, "20", 30*time.Millisecond
		c.result(loadgen.Server, products{8000}, products{8000})

		videos := given{248, func(c accuracy.Coverage) (*accuracy.Score, error) {
			return accuracy.VBenchScore([]byte(`{"subject_consistency": [0.95], "background_consistency": [0.95], "motion_smoothness": [0.95], "dynamic_degree": [0.7],
				"appearance_style": [0.4], "scene": [0.5]}`), c)
		}}
		c = &campaign{t: t, dir: datacenter, model: "wan-2.2-t2v-a14b", served: true, batch: 1, rate: "0.2", latency: 5 * time.Second}
		round, err := rounds.Find("v6.1")
		ok(t, err)
		for s, samples := range map[loadgen.Scenario]int{loadgen.Offline: 144, loadgen.SingleStream: 20} {
			dir := c.result(s, videos, videos)
			for _, stem := range round.Model(c.model).Files["videos"] {
				write(t, filepath.Join(dir, "runs/accuracy/videos", stem+".mp4"), "video")
			}
			c.numbers = videos
			c.caching(s, samples, dir)
		}

		// One pass over the data takes less than ten minutes, TEST09 counts tokens of zeros, and the result is in Tasks/s.
		c = &campaign{t: t, dir: datacenter, model: "e2e-rag-qna"}
		c.audit(loadgen.Offline, "TEST09", c.result(loadgen.Offline, questions{}, questions{}))
		c = &campaign{t: t, dir: datacenter, model: "e2e-rag-db"}
		c.result(loadgen.Offline, pages{}, pages{})

		calls := given{995, func(c accuracy.Coverage) (*accuracy.Score, error) {
			b := &accuracy.Breakdown{Overall: 86.43, Normalized: 88, Categories: map[string]float64{}, Subsets: map[string]float64{}, Unscored: map[string]float64{}, Completed: 995, Issued: 995}
			return &accuracy.Score{Coverage: c, Breakdown: b, Lines: []string{"overall_accuracy: 86.43"},
				Values: []accuracy.Value{{Name: accuracy.OverallCalls, Value: b.Overall, Unit: "%"}, {Name: accuracy.NormalizedCalls, Value: b.Normalized, Unit: "%"}}}, nil
		}}
		c = &campaign{t: t, dir: edge, model: "qwen3.6-27b", served: true, batch: 1, latency: time.Second}
		c.result(loadgen.SingleStream, turns{}, calls)
	})

	q := served(t) // with gpt-oss-120b
	q.Runs = append(q.Runs, datacenter)
	q.Measurements = maps.Clone(allMeasured)
	delete(q.Measurements, "starting_weights_filename")
	for model, weights := range map[string]string{"e2e-rag-db": "e5-base-v2", "e2e-rag-qna": "gpt-oss-120b, gpt-oss-20b", "wan-2.2-t2v-a14b": "Wan2.2", "qwen3-vl-235b-a22b": "Qwen3-VL"} {
		q.Measurements[model+"/starting_weights_filename"] = weights
	}
	if *keepTree != "" {
		q.Tree = *keepTree
	}
	_, err := Build(t.Context(), q)
	ok(t, err)
	for path, want := range map[string]string{
		"gpt-oss-120b/Server": "https://huggingface.co/openai/gpt-oss-120b", // of the catalogue
		"e2e-rag-db/Offline":  "e5-base-v2", "wan-2.2-t2v-a14b/SingleStream": "Wan2.2",
	} {
		if text := read(t, q.Tree, home, "results/board1", path, "measurements.json"); !strings.Contains(text, `"starting_weights_filename": "`+want+`"`) {
			t.Errorf("%s: %s, want the starting weights %s", path, text, want)
		}
	}
	q.Runs, q.System, q.Description, q.Add, q.Measurements = []string{edge}, "phone1", complete(t, "closed", "edge"), true, allMeasured
	built, err := Build(t.Context(), q)
	ok(t, err)
	if !built.Check.Passes {
		t.Errorf("the tree breaks %v", rulesOf(built.Check))
	}
	r, err := checker.Check(t.Context(), checker.Options{Tree: q.Tree, Rules: "v6.1"})
	ok(t, err)
	if !r.Passes {
		t.Errorf("profile reference: the tree breaks %v", rulesOf(r))
	}
	var got []string
	for _, one := range r.Results {
		got = append(got, fmt.Sprint(one.System, " ", one.Model, " ", one.Scenario))
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{
		"board1 e2e-rag-db Offline", "board1 e2e-rag-qna Offline", "board1 gpt-oss-120b Offline", "board1 gpt-oss-120b Server",
		"board1 qwen3-vl-235b-a22b Interactive", "board1 qwen3-vl-235b-a22b Offline",
		"board1 wan-2.2-t2v-a14b Offline", "board1 wan-2.2-t2v-a14b SingleStream", "phone1 qwen3.6-27b SingleStream",
	}, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}
