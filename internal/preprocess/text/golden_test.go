package text

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mlperf-go/mlperf/internal/models/tokenizer"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func decode[T any](t testing.TB, name string, into *T) {
	t.Helper()
	*into = testenv.JSON[T](t, filepath.Join("testdata", name))
}

func wordPiece(t testing.TB) *tokenizer.WordPiece {
	t.Helper()
	f, err := os.Open("testdata/vocab.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v, err := tokenizer.ReadVocabulary(f, "vocab.txt")
	if err != nil {
		t.Fatal(err)
	}
	w, err := tokenizer.NewWordPiece(v)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

type question struct {
	id, text string
	words    []string
}

func questions(t testing.TB, name string) []question {
	t.Helper()
	var file struct {
		Data []struct {
			Paragraphs []struct {
				Context string
				QAs     []struct{ ID, Question string }
			}
		}
	}
	decode(t, name, &file)
	var all []question
	for _, article := range file.Data {
		for _, p := range article.Paragraphs {
			for _, qa := range p.QAs {
				all = append(all, question{qa.ID, qa.Question, Words(p.Context)})
			}
		}
	}
	return all
}

func cutAll(c *Cutter, asked []question) (windows []Window) {
	for i, q := range asked {
		windows = c.Windows(windows, i, q.text, c.Document(q.words))
	}
	return windows
}

func TestWindowsAreTheReferences(t *testing.T) {
	type feature struct {
		ExampleIndex  int     `json:"example_index"`
		Length        int     `json:"length"`
		InputIDs      []int32 `json:"input_ids"`
		FirstDocToken int     `json:"first_doc_token"`
		TokenToWord   []int32 `json:"token_to_word"`
		MaxContext    string  `json:"max_context"`
		SHA256        string  `json:"sha256_ids_mask_segments"`
	}
	var settings []struct {
		MaxSeqLength   int        `json:"max_seq_length"`
		DocStride      int        `json:"doc_stride"`
		MaxQueryLength int        `json:"max_query_length"`
		Features       []feature  `json:"features"`
		DocWords       [][]string `json:"doc_words"`
	}
	decode(t, "features.json.gz", &settings)
	asked := questions(t, "squad.json")
	for i, words := range settings[0].DocWords {
		if diff := cmp.Diff(words, asked[i].words, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("words of question %d (-want +got):\n%s", i, diff)
		}
	}
	for _, s := range settings {
		c := &Cutter{WordPiece: wordPiece(t), Length: s.MaxSeqLength, Stride: s.DocStride, MaxQuestion: s.MaxQueryLength}
		windows := cutAll(c, asked)
		if len(windows) != len(s.Features) {
			t.Fatalf("%d: %d windows, want %d", s.MaxSeqLength, len(windows), len(s.Features))
		}
		for i, want := range s.Features {
			w := windows[i]
			got := feature{w.Question, len(w.Pieces), w.Pieces, w.First, w.WordOf, "", sum(&w, s.MaxSeqLength)}
			for _, best := range w.Best {
				got.MaxContext += map[bool]string{false: "0", true: "1"}[best]
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%d: window %d (-want +got):\n%s", s.MaxSeqLength, i, diff)
			}
		}
	}
}

func sum(w *Window, length int) string {
	h := sha256.New()
	pieces, mask, segments := make([]int64, length), make([]int64, length), make([]int64, length)
	w.Fill(pieces, mask, segments)
	for _, v := range [][]int64{pieces, mask, segments} {
		binary.Write(h, binary.LittleEndian, v)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func TestAnswersAreTheReferences(t *testing.T) {
	var golden struct {
		Log []struct {
			QSLIndex int    `json:"qsl_idx"`
			Data     string `json:"data"`
		}
		Predictions map[string]string
		Notes       map[string]string
	}
	decode(t, "post.json.gz", &golden)
	asked := questions(t, "post_squad.json")
	c := &Cutter{WordPiece: wordPiece(t), Length: 384, Stride: 128, MaxQuestion: 64}
	windows := cutAll(c, asked)
	ends := make([]Ends, len(windows))
	for _, record := range golden.Log {
		ends[record.QSLIndex] = pairs(t, record.Data)
	}
	for i, q := range asked {
		first := 0
		for first < len(windows) && windows[first].Question < i {
			first++
		}
		last := first
		for last < len(windows) && windows[last].Question == i {
			last++
		}
		got := Answer(windows[first:last], ends[first:last], q.words, c.WordPiece.Vocabulary())
		if want := golden.Predictions[q.id]; got != want {
			t.Errorf("%s (%s): answer %q, want %q", q.id, golden.Notes[q.id], got, want)
		}
	}
	if len(asked) < 20 {
		t.Errorf("there are only %d questions", len(asked))
	}
}

func pairs(t *testing.T, data string) Ends {
	t.Helper()
	raw, err := hex.DecodeString(data)
	if err != nil {
		t.Fatal(err)
	}
	starts, stops := make([]float64, 384), make([]float64, 384)
	for i := range starts {
		starts[i], stops[i] = -10000, -10000
	}
	for i := range len(raw) / 8 {
		starts[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[8*i:])))
		stops[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[8*i+4:])))
	}
	return Ends{Best(starts), Best(stops)}
}
