package retrieval

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A text's vector is the mean of the states of its pieces, marks included, of length 1, however texts share runs.
func TestEncoderIsMeanOfStates(t *testing.T) {
	for _, dtype := range []tensor.DType{tensor.Int64, tensor.Int32} {
		s := newPlainSession()
		s.dtype, s.inputs = dtype, []string{"attention_mask", "input_ids"}
		slices.Reverse(s.inputs) // the fake reads the first
		e, err := NewEncoder(s, plainPieces(t))
		if err != nil {
			t.Fatal(err)
		}
		texts := slices.Repeat([]string{"Thun is a town", "river", "who founded the town of Thun, a town in a river?"}, 40)
		got, err := e.Encode(t.Context(), texts)
		if err != nil {
			t.Fatal(err)
		}
		for i, ids := range [][]int64{{2, 21, 13, 12, 5, 3}, {2, 4, 3}} { // of the first two texts
			want := make([]float64, s.width)
			for _, id := range ids {
				for k, v := range stateOf(id, s.width) {
					want[k] += float64(v)
				}
			}
			square := 0.0
			for _, v := range want {
				square += v * v
			}
			for _, k := range []int{i, i + 3} {
				for n, v := range want {
					if math.Abs(float64(got[k][n])-v/math.Sqrt(square)) > 1e-6 {
						t.Fatalf("%v: number %d of text %d is %v, want %v", dtype, n, k, got[k][n], v/math.Sqrt(square))
					}
				}
			}
		}
		if n := len(s.shapes); n != 4 || !slices.Equal(s.shapes[0], tensor.Shape{32, 16}) || !slices.Equal(s.shapes[n-1], tensor.Shape{24, 8}) {
			t.Errorf("runs of %v: want the longest texts first, 32 at once, padded to multiples of 8", s.shapes)
		}
	}
}

// A model with a batch of its own gets as many texts, and those that are no text do not count.
func TestEncoderWithBatch(t *testing.T) {
	s := newPlainSession()
	s.texts = 4
	e, err := NewEncoder(s, plainPieces(t))
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.Encode(t.Context(), []string{"river", "town", "born", "who", "thun"})
	if err != nil || len(got) != 5 || len(s.shapes) != 2 || s.shapes[1][0] != 4 || math.Abs(float64(dot(got[4], got[4]))-1) > 1e-5 {
		t.Errorf("%d vectors of runs %v, %v", len(got), s.shapes, err)
	}
}

func TestLongTextsAreCut(t *testing.T) {
	e, err := NewEncoder(newPlainSession(), plainPieces(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := e.split(strings.Repeat("town ", 600), passagePieces); len(got) != 512 || got[0] != 2 || got[511] != 3 {
		t.Errorf("%d pieces, from %d to %d: want 512 between marks", len(got), got[0], got[len(got)-1])
	}
}

func TestStatesWithDamage(t *testing.T) {
	s := newPlainSession()
	s.damage = func(states []float32) { states[s.width+3] = float32(math.NaN()) }
	e, err := NewEncoder(s, plainPieces(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Encode(t.Context(), []string{"river"}); !testenv.Names(err, "encoder … number 3 … piece 1 … NaN … finite") {
		t.Errorf("a state that is not a number: %v", err)
	}
	s.damage = nil
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	if _, err := e.Encode(ctx, []string{"river"}); !errors.Is(err, stopped) {
		t.Errorf("a run that was stopped: %v", err)
	}
}

func TestPorts(t *testing.T) {
	in := func(name string, dtype tensor.DType, shape ...int64) backend.Port {
		return backend.Port{Name: name, Type: dtype, Shape: shape}
	}
	ids, mask := in("input_ids", tensor.Int64, -1, -1), in("attention_mask", tensor.Int64, -1, -1)
	states := in("last_hidden_state", tensor.Float32, -1, -1, 768)
	pooled := in("sentence_embedding", tensor.Float32, -1, 768)
	for name, c := range map[string]struct {
		inputs, outputs []backend.Port
		output, facts   string
	}{
		"transformers":         {[]backend.Port{ids, mask, in("token_type_ids", tensor.Int64, -1, -1)}, []backend.Port{states, in("pooler_output", tensor.Float32, -1, 768)}, "last_hidden_state", ""},
		"sentence-transformer": {[]backend.Port{ids, mask}, []backend.Port{pooled, in("token_embeddings", tensor.Float32, -1, -1, 384)}, "token_embeddings", ""},
		"other name":           {[]backend.Port{ids, mask}, []backend.Port{pooled, in("states", tensor.Float32, -1, -1, 384)}, "states", ""},
		"pooled only":          {[]backend.Port{ids, mask}, []backend.Port{pooled}, "", "sentence_embedding … last_hidden_state"},
		"no mask":              {[]backend.Port{ids}, []backend.Port{states}, "", "attention_mask"},
		"image":                {[]backend.Port{in("image", tensor.Float32, -1, 3, 224, 224)}, []backend.Port{states}, "", "image … input_ids"},
		"fixed length":         {[]backend.Port{in("input_ids", tensor.Int64, -1, 128), mask}, []backend.Port{states}, "", "input_ids … 128 … any length"},
		"float pieces":         {[]backend.Port{in("input_ids", tensor.Float32, -1, -1), mask}, []backend.Port{states}, "", "input_ids … float32 … int64"},
		"half states":          {[]backend.Port{ids, mask}, []backend.Port{in("last_hidden_state", tensor.Float16, -1, -1, 768)}, "", "last_hidden_state … float16 … float32"},
		"unknown width":        {[]backend.Port{ids, mask}, []backend.Port{in("last_hidden_state", tensor.Float32, -1, -1, -1)}, "", "last_hidden_state … width"},
	} {
		output, _, err := States(workload.Ports{Inputs: c.inputs, Outputs: c.outputs})
		if output != c.output || !testenv.Names(err, c.facts) {
			t.Errorf("%s: output %q, error %v, want %q and %q", name, output, err, c.output, c.facts)
		}
	}
}

// The score of a passage is the sum, over the pieces of the question, of the best product with any piece of the passage.
func TestScoresAreMaxSim(t *testing.T) {
	d := plainDatabase(t)
	question, passages := "who founded Thun?", []Passage{{Text: "a river"}, {Text: "Thun is founded in a town."}, {Text: "a river"}, {Text: "who?"}}
	got, err := d.reranker.Scores(t.Context(), question, []string{passages[0].Text, passages[1].Text})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range passages[:2] {
		want := 0.0
		for _, q := range d.reranker.split(question, questionPieces) {
			best := math.Inf(-1)
			for _, piece := range d.reranker.split(p.Text, passagePieces) {
				sum := 0.0
				for k, v := range stateOf(int64(piece), 32) {
					sum += float64(v) * float64(stateOf(int64(q), 32)[k])
				}
				best = max(best, sum)
			}
			want += best
		}
		if math.Abs(got[i]-want) > 1e-3 {
			t.Errorf("score of %q = %v, want %v", p.Text, got[i], want)
		}
	}
	for i := range passages {
		passages[i].Number = i
	}
	sorted, err := d.Rerank(t.Context(), question, passages)
	if err != nil || sorted[0].Number != 3 || sorted[1].Number != 1 || sorted[2].Number != 0 || sorted[3].Number != 2 {
		t.Errorf("Rerank = %+v, %v: want 3, 1, 0, 2: equal ones keep their order", sorted, err)
	}
	if _, err := NewDatabase(d.encoder, nil).Rerank(t.Context(), "x", passages); !testenv.Names(err, "reranker") {
		t.Errorf("without a reranker: %v", err)
	}
}

func pageOf(name, text string) Page {
	return Page{Name: name + ".html", URL: "https://a/wiki/" + name, Content: []byte("<p>" + text)}
}

// fill adds a few pages.
func fill(t testing.TB, d *Database) {
	t.Helper()
	for _, p := range []Page{
		pageOf("Thun", "Thun is a town on the Aare. "+strings.Repeat("The town is a town. ", 60)), pageOf("Elba", "Elba is a river in the river."),
		pageOf("Rhone", "Rhone, a river, founded in the Rhone."), pageOf("Who", "Who is born in a town? Who?"),
	} {
		passages, missing := p.Passages()
		if missing != nil {
			t.Fatal(missing)
		}
		if err := d.Add(t.Context(), passages); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDatabaseSurvivesItsFile(t *testing.T) {
	d := plainDatabase(t)
	fill(t, d)
	path := filepath.Join(t.TempDir(), "a.db")
	if err := d.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	again, err := ReadFile(path, d.encoder, d.reranker)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{"Elba river", "who is born", "town"} {
		want, err1 := d.Lookup(t.Context(), q, 3)
		got, err2 := again.Lookup(t.Context(), q, 3)
		if diff := cmp.Diff(want, got); err1 != nil || err2 != nil || diff != "" || len(got) != 3 {
			t.Errorf("%q: %v, %v, (-before +after):\n%s", q, err1, err2, diff)
		}
	}
	if found, _ := again.Lookup(t.Context(), "Elba", 1); found[0].URL != "https://a/wiki/Elba" || again.Len() != 5 {
		t.Errorf("the nearest of %d passages to Elba is %+v", again.Len(), found[0])
	}
	other := newPlainSession()
	other.width = 16
	e, err := NewEncoder(other, plainPieces(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path, e, nil); !testenv.Names(err, "a.db … 32 … 16 … same encoder") {
		t.Errorf("an encoder of other width: %v", err)
	}
}

func TestDamagedDatabases(t *testing.T) {
	d := plainDatabase(t)
	fill(t, d)
	path := filepath.Join(t.TempDir(), "a.db")
	if err := d.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	vectors := len(whole) - bytes.LastIndex(whole, []byte("}\n")) - 2
	for name, c := range map[string]struct {
		file  []byte
		facts string
	}{
		"pickle":      {[]byte("\x80\x04\x95faiss"), "a.db … FAISS"},
		"empty":       {nil, "a.db … e2e-rag-db"},
		"newer":       {bytes.Replace(whole, []byte(`"version":1`), []byte(`"version":2`), 1), "version 2 … must be 1"},
		"other index": {bytes.Replace(whole, []byte(`"M":32`), []byte(`"M":16`), 1), "M:16 … M:32"},
		"cut":         {whole[:len(whole)-5], "vector 4 of 5"},
		"cut early":   {whole[:len(whole)-vectors+100], "unexpected EOF"},
		"too long":    {append(bytes.Clone(whole), 1, 2, 3), "3 bytes"},
		"huge":        {bytes.Replace(whole, []byte(`"passages":5`), []byte(`"passages":5000000`), 1), "5000000 passages"},
		"no number":   {slices.Concat(whole[:len(whole)-vectors], []byte{0, 0, 0xc0, 0x7f}, whole[len(whole)-vectors+4:]), "number 0 … vector 0 … NaN"},
	} {
		if err := os.WriteFile(path, c.file, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFile(path, d.encoder, nil); !testenv.Names(err, c.facts) {
			t.Errorf("%s: %v, want an error with %s", name, err, c.facts)
		}
	}
}

func FuzzDatabase(f *testing.F) {
	d := plainDatabase(f)
	fill(f, d)
	path := filepath.Join(f.TempDir(), "a.db")
	if err := d.WriteFile(path); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-4])
	f.Fuzz(func(t *testing.T, file []byte) {
		got := &Database{}
		if got.read(bytes.NewReader(file), int64(len(file))) == nil && got.Len() > 0 {
			v := make([]float32, got.Width())
			v[0] = 1
			if len(got.index.Search(v, 3)) == 0 {
				t.Error("a database with passages finds none")
			}
		}
	})
}

func TestPagesWithoutTextAreNamed(t *testing.T) {
	for name, content := range map[string]string{"empty": "", "blank": "<p> </p>", "binary": "\xff\xfe\x00", "menu": "<nav>x</nav>"} {
		passages, missing := Page{Name: "P.html", URL: "u", Content: []byte(content)}.Passages()
		if len(passages) != 1 || passages[0].Text != "Document: P.html" || !testenv.Tells(missing.Error(), "P.html") {
			t.Errorf("%s: %+v, %v: want a passage that names the file, and why", name, passages, missing)
		}
	}
}
