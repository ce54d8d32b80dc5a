package rag

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// An idSession gives each piece a state that its number is in.
type idSession struct {
	backend.Engine
	backend.Session
	fails error
}

const idWidth = 8

func (idSession) ports() workload.Ports {
	free := tensor.Shape{-1, -1}
	return workload.Ports{
		Inputs:  []backend.Port{{Name: "input_ids", Type: tensor.Int64, Shape: free}, {Name: "attention_mask", Type: tensor.Int64, Shape: free}},
		Outputs: []backend.Port{{Name: "last_hidden_state", Type: tensor.Float32, Shape: tensor.Shape{-1, -1, idWidth}}},
	}
}

func (s idSession) Info() backend.Info {
	return backend.Info{Inputs: s.ports().Inputs, Outputs: s.ports().Outputs}
}

type idValue struct{ t tensor.Tensor }

func (v idValue) Tensor() tensor.Tensor { return v.t }
func (idValue) Close() error            { return nil }

func (idSession) Bind(t tensor.Tensor) (backend.Value, error) { return idValue{t}, nil }
func (idSession) Close() error                                { return nil }

func (s idSession) Run(ctx context.Context, inputs, outputs []backend.Value) error {
	out := tensor.Data[float32](outputs[0].Tensor())
	for i, id := range tensor.Data[int64](inputs[0].Tensor()) {
		out[i*idWidth+int(id)%idWidth] = 1
	}
	return errors.Join(s.fails, context.Cause(ctx))
}

// As an engine it opens itself.
func (s idSession) Ports(context.Context, backend.Options) (inputs, outputs []backend.Port, err error) {
	return s.ports().Inputs, s.ports().Outputs, nil
}

func (s idSession) Open(context.Context, backend.Options) (backend.Session, error) { return s, nil }

// A replies takes responses.
type replies struct {
	mu   sync.Mutex
	list map[int]string // by ticket
}

func (*replies) FirstToken(int, []byte) {}

func (r *replies) Done(ticket int, response []byte, _ int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list[ticket] = string(response)
}

// A desk has pages and a workload that reads them.
type desk struct {
	dir, out string
	workload *workload.Workload
	fails    error
}

func newDesk(t *testing.T, pages map[string]string) *desk {
	t.Helper()
	d := &desk{dir: t.TempDir(), out: t.TempDir()}
	files := map[string]string{"vocab.txt": "[PAD]\n[UNK]\n[CLS]\n[SEP]\n##a\nriver\ntown\ntest\nquery\nof\n", "encoder.onnx": ""}
	for name, text := range pages {
		files["doc_html/"+name] = text
	}
	for name, text := range files {
		path := filepath.Join(d.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	d.workload, err = openDatabase(workload.Setup{
		ModelPath: filepath.Join(d.dir, "encoder.onnx"), DatasetDir: d.dir, OutputDir: d.out, Ports: map[string]workload.Ports{encoderRole: idSession{}.ports()},
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// test answers pages with two workers, and returns the responses in their order.
func (d *desk) test(t *testing.T, ctx context.Context, pages ...int) ([]string, error) {
	t.Helper()
	store, err := workload.NewStore(d.workload.Samples, func(int) []workload.Slot { return nil })
	if err != nil {
		t.Fatal(err)
	}
	r, errs := &replies{list: map[int]string{}}, make([]error, 2)
	var group sync.WaitGroup
	for worker := range errs {
		p, err := d.workload.NewPredictor(workload.Sessions{encoderRole: idSession{fails: d.fails}}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Use(store); err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			for i := worker; i < len(pages) && errs[worker] == nil; i += len(errs) {
				errs[worker] = p.Predict(ctx, []workload.Item{{Row: pages[i], Index: pages[i], Ticket: i}}, r)
			}
		})
	}
	group.Wait()
	list := make([]string, len(pages))
	for i := range list {
		list[i] = r.list[i]
	}
	return list, errors.Join(errs...)
}

// log is the accuracy log of a test of all pages in their order.
func (d *desk) log(responses []string) accuracy.Input {
	var b strings.Builder
	for i, r := range responses {
		fmt.Fprintf(&b, "%s{\"seq_id\":%d,\"qsl_idx\":%d,\"data\":%q}", []string{"[", ","}[min(i, 1)], i, i, hex.EncodeToString([]byte(r)))
	}
	return accuracy.Named(filepath.Join(d.out, "mlperf_log_accuracy.json"), strings.NewReader(b.String()+"]"))
}

func (d *desk) score(t *testing.T, responses []string) (*accuracy.Score, error) {
	t.Helper()
	options := workload.Values{}
	for k, v := range d.workload.ScoreOptions {
		options[k] = v
	}
	return scoreDatabase(t.Context(), d.log(responses), workload.Scoring{DatasetDir: d.dir, Samples: d.workload.Samples, Options: options, Engine: idSession{}, Keep: d.out})
}

var threePages = map[string]string{"a.html": "<p>river of test", "b.html": "<p>town", "c.html": "<p>town of river"}

// Each pass over the pages makes a database; the response of the page that is the last of it is its MD5.
func TestEachPassMakesADatabase(t *testing.T) {
	d := newDesk(t, threePages)
	responses, err := d.test(t, t.Context(), 0, 1, 2, 2, 1, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	sums := 0
	for _, r := range responses {
		if len(r) == 32 {
			sums++
		} else if r != "\x01" {
			t.Errorf("response %q, want 1 or an MD5", r)
		}
	}
	if sums != 2 {
		t.Errorf("%d responses of %q are MD5s, want one of each pass: 2", sums, responses)
	}
	// A new test begins with an empty database, whatever an earlier one left over.
	if responses, err = d.test(t, t.Context(), 0, 1, 2); err != nil {
		t.Fatal(err)
	}
	s, err := d.score(t, responses)
	if err != nil || s.Values[0].Value != 100 || len(s.Warnings) != 0 {
		t.Errorf("the score is %+v, %v: want 100 without a warning", s, err)
	}
	delete(d.workload.ScoreOptions, encoderOption) // as of a log that is scored later: the results name the encoder
	if s, err = d.score(t, responses); err != nil {
		t.Fatal(err)
	}
	if !testenv.Tells(strings.Join(s.Lines, "\n"), "vector_count: PASS … Value: 3 … index_dimension: WARN … Overall Result: PASS … Accuracy: 100.0000") {
		t.Errorf("the report is\n%s", strings.Join(s.Lines, "\n"))
	}
}

// Pages that are damaged are told apart, and the others are in the database.
func TestDamagedPages(t *testing.T) {
	d := newDesk(t, map[string]string{"a.html": "<p>river", "b.html": "\xff\xfe\x00\x01", "c.html": "", "d.html": strings.Repeat("<b>", 2000), "e.html": "<p>town<"})
	if err := os.Remove(filepath.Join(d.dir, "doc_html/e.html")); err != nil {
		t.Fatal(err)
	}
	big, err := os.Create(filepath.Join(d.dir, "doc_html/a.html"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(big.Truncate(65<<20), big.Close()); err != nil {
		t.Fatal(err)
	}
	responses, err := d.test(t, t.Context(), 0, 4, 1, 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	if responses[0] != "\x00" || responses[1] != "\x00" {
		t.Errorf("responses %q: want 0 for the page too large and for the missing one", responses)
	}
	var results struct {
		Pages []pageResult `json:"per_document_results"`
	}
	data, err := os.ReadFile(filepath.Join(d.out, resultsFile))
	if err == nil {
		err = json.Unmarshal(data, &results, json.MatchCaseInsensitiveNames(true))
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, facts := range []string{"67108864", "UTF-8", "no text", "512", "e.html"} {
		if r := results.Pages[i]; !testenv.Tells(r.Why, facts) || (r.Success == 1) != (i >= 1 && i <= 3) {
			t.Errorf("%s: %+v, want the reason %s", r.File, r, facts)
		}
	}
	s, err := d.score(t, []string{responses[0], responses[2], responses[4], responses[3], responses[1]})
	if err != nil || s.Values[0].Value != 60 || !testenv.Tells(strings.Join(s.Warnings, "; "), "3 of 5 … 99 %") {
		t.Errorf("the score is %+v, %v: want 60", s, err)
	}
}

func TestDatabaseThatChanged(t *testing.T) {
	d := newDesk(t, threePages)
	responses, err := d.test(t, t.Context(), 0, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(d.out, databaseFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, whole[:len(whole)-3], 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := d.score(t, responses)
	if err != nil || s.Values[0].Value != 0 || !testenv.Tells(strings.Join(s.Warnings, "; "), "MD5 … accuracy counts as 0 … database_load") {
		t.Errorf("a database that was cut: %+v, %v", s, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err = d.score(t, responses); !testenv.Names(err, databaseFile+" … does not exist") {
		t.Errorf("no database: %v", err)
	}
}

// The manifest of another database makes a score of 0, its own one does not matter.
func TestManifestDecides(t *testing.T) {
	d := newDesk(t, threePages)
	if err := os.WriteFile(filepath.Join(d.dir, "frames_dataset.tsv"), []byte("Prompt\tAnswer\nriver\tx\ntown\ty\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	responses, err := d.test(t, t.Context(), 0, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.score(t, responses); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(d.out, manifestFile)
	d.workload.ScoreOptions[manifestOption] = own
	s, err := d.score(t, responses)
	if err != nil || s.Values[0].Value != 100 || !testenv.Tells(strings.Join(s.Warnings, "; "), "2 questions … 1.0000 … equal: true") {
		t.Errorf("its own manifest: %+v, %v", s, err)
	}
	other := newDesk(t, map[string]string{"z.html": "<p>query"})
	if responses, err = other.test(t, t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	other.workload.ScoreOptions[manifestOption] = own
	s, err = other.score(t, responses)
	if err != nil || s.Values[0].Value != 0 || !testenv.Tells(strings.Join(s.Warnings, "; "), "total_passages is 1 … 3") {
		t.Errorf("the manifest of another database: %+v, %v", s, err)
	}
}

func TestStoppedPassLeavesNoDatabase(t *testing.T) {
	d := newDesk(t, threePages)
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	if _, err := d.test(t, ctx, 0, 1, 2); !errors.Is(err, stopped) {
		t.Errorf("a test that was stopped: %v", err)
	}
	d.fails = errors.New("the device is gone")
	if _, err := d.test(t, t.Context(), 0); !testenv.Names(err, "a.html … the device is gone") {
		t.Errorf("an engine that fails: %v", err)
	}
	if fileio.Exists(filepath.Join(d.out, databaseFile)) {
		t.Error("a database without all pages was written")
	}
}

func TestDatabaseSetupErrors(t *testing.T) {
	d := newDesk(t, threePages)
	setup := workload.Setup{ModelPath: filepath.Join(d.dir, "encoder.onnx"), DatasetDir: d.dir, Ports: map[string]workload.Ports{encoderRole: idSession{}.ports()}}
	for name, c := range map[string]struct {
		change func(*workload.Setup)
		facts  string
	}{
		"count": {func(s *workload.Setup) { s.Count = 4 }, "expected 4 … 3"},
		"vocabulary": {func(s *workload.Setup) {
			s.Options = workload.Values{vocabularyOption: filepath.Join(d.dir, "none.txt")}
		}, "none.txt"},
		"pages":   {func(s *workload.Setup) { s.DatasetDir = d.out }, "docs.tar.gz"},
		"network": {func(s *workload.Setup) { s.Ports = nil }, "encoder … input_ids"},
		"folder":  {func(s *workload.Setup) { s.ModelPath = d.out }, "encoder.onnx"},
	} {
		s := setup
		c.change(&s)
		if _, err := openDatabase(s); !testenv.Names(err, c.facts) {
			t.Errorf("%s: %v, want %s", name, err, c.facts)
		}
	}
}
