//go:build ort

package retrieval_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend/ort/orttest"
	"github.com/mlperf-go/mlperf/internal/builtin"
	"github.com/mlperf-go/mlperf/internal/dataset/frames"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/rag/retrieval"
	"github.com/mlperf-go/mlperf/internal/tokenizer/vocab"
)

// open makes the built-in networks and pages, and opens a database of the pages, if there are to be some.
func open(t testing.TB, withPages bool) (*retrieval.Database, string) {
	t.Helper()
	engine := orttest.Engine(t)
	maker := builtin.Maker{Dir: t.TempDir(), Engine: engine, Observer: harness.Silent{}}
	model, err := models.LookupAny("e2e-rag-qna")
	if err != nil {
		t.Fatal(err)
	}
	data, err := maker.Dataset(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := maker.Model(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := frames.OpenPages(data)
	if err != nil {
		t.Fatal(err)
	}
	if !withPages {
		pages.Names = nil
	}
	d, err := retrieval.Open(t.Context(), engine, retrieval.Options{
		Encoder: filepath.Join(folder, "encoder.onnx"), Reranker: filepath.Join(folder, "reranker.onnx"), Vocabulary: filepath.Join(data, "vocab.txt"), Pages: pages,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d, data
}

// testdata/vectors.json was made by testdata/make_vectors.py: other tokenizer, other pooling, no padding of ours.
func TestORTVectorsAndScoresEqualPython(t *testing.T) {
	d, _ := open(t, false)
	var want struct {
		Texts    []string
		Vectors  [][]float64 // the first numbers of each
		Question string
		Scores   []float64
	}
	data, err := os.ReadFile("testdata/vectors.json")
	if err == nil {
		err = json.Unmarshal(data, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	got, err := retrieval.EncoderOf(d).Encode(t.Context(), want.Texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range want.Vectors {
		for k, number := range v {
			if math.Abs(float64(got[i][k])-number) > 1e-5 {
				t.Errorf("number %d of text %d is %v, in Python %v", k, i, got[i][k], number)
			}
		}
	}
	scores, err := retrieval.RerankerOf(d).Scores(t.Context(), want.Question, want.Texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range want.Scores {
		if math.Abs(scores[i]-s) > 1e-5*math.Abs(s)+0.01 {
			t.Errorf("score %d is %v, in Python %v", i, scores[i], s)
		}
	}
}

// The built-in networks find the built-in pages by their titles, and the reranker brings them to the front.
func TestORTTitlesFindTheirPages(t *testing.T) {
	d, data := open(t, true)
	questions, err := frames.ReadQuestions(data)
	if err != nil {
		t.Fatal(err)
	}
	asked, found, first := 0, 0, 0
	for _, q := range questions[:16] {
		var solution []struct{ Queries []string }
		if err := json.Unmarshal([]byte(vocab.JSONInText(q.Prompt)), &solution); err != nil {
			t.Fatal(err)
		}
		for i, title := range solution[0].Queries {
			asked++
			passages, err := d.Lookup(t.Context(), title, 10)
			if err != nil {
				t.Fatal(err)
			}
			right := func(p retrieval.Passage) bool { return p.URL == q.Links[i] }
			if slices.ContainsFunc(passages, right) {
				found++
			}
			if passages, err = d.Rerank(t.Context(), title, passages); err != nil {
				t.Fatal(err)
			}
			if right(passages[0]) || strings.Contains(passages[0].Text, title) {
				first++
			}
		}
	}
	if found < asked*4/5 || first < asked*4/5 {
		t.Errorf("of %d titles, %d find their page among ten, and %d are in the first passage: want 4 of 5", asked, found, first)
	}
}

// The work on all built-in pages, and its parts: texts and windows, pieces and networks and means, the networks alone.
func BenchmarkORTPages(b *testing.B) {
	d, data := open(b, false)
	pages, err := frames.OpenPages(data)
	if err != nil {
		b.Fatal(err)
	}
	var list [][]retrieval.Passage
	var texts [][]string
	read := func() {
		list, texts = nil, nil
		for i, name := range pages.Names {
			content, err := os.ReadFile(pages.Path(i))
			if err != nil {
				b.Fatal(err)
			}
			passages, _ := retrieval.Page{Name: name, Content: content}.Passages()
			list, texts = append(list, passages), append(texts, nil)
			for _, p := range passages {
				texts[i] = append(texts[i], p.Text)
			}
		}
	}
	read()
	b.Run("texts", func(b *testing.B) {
		for b.Loop() {
			read()
		}
	})
	b.Run("networks", func(b *testing.B) {
		bare := retrieval.BareLoop(b.Context(), d, texts)
		for b.Loop() {
			if err := bare(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("whole", func(b *testing.B) {
		for b.Loop() {
			read()
			to := retrieval.NewDatabase(retrieval.EncoderOf(d), nil)
			for _, passages := range list {
				if err := to.Add(b.Context(), passages); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
