package text

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/tokenizer"
)

func wordPiece(t testing.TB) *tokenizer.WordPiece {
	t.Helper()
	f, err := os.Open("testdata/squad/vocab.txt")
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
	type dataSet struct {
		Data []struct {
			Paragraphs []struct {
				Context string
				QAs     []struct{ ID, Question string }
			}
		}
	}
	var all []question
	for _, article := range testenv.JSON[dataSet](t, filepath.Join("testdata/squad", name)).Data {
		for _, p := range article.Paragraphs {
			for _, qa := range p.QAs {
				all = append(all, question{qa.ID, qa.Question, splitWords(p.Context)})
			}
		}
	}
	return all
}

func cutAll(c *cutter, asked []question) (windows []window) {
	for i, q := range asked {
		windows = c.windows(windows, i, q.text, c.document(q.words))
	}
	return windows
}

func TestWindowsEqualTheReference(t *testing.T) {
	type feature struct {
		ExampleIndex  int     `json:"example_index"`
		Length        int     `json:"length"`
		InputIDs      []int32 `json:"input_ids"`
		FirstDocToken int     `json:"first_doc_token"`
		TokenToWord   []int32 `json:"token_to_word"`
		MaxContext    string  `json:"max_context"`
		SHA256        string  `json:"sha256_ids_mask_segments"`
	}
	type setting struct {
		MaxSeqLength   int        `json:"max_seq_length"`
		DocStride      int        `json:"doc_stride"`
		MaxQueryLength int        `json:"max_query_length"`
		Features       []feature  `json:"features"`
		DocWords       [][]string `json:"doc_words"`
	}
	settings := testenv.JSON[[]setting](t, "testdata/squad/features.json.gz")
	asked := questions(t, "squad.json")
	for i, words := range settings[0].DocWords {
		if diff := cmp.Diff(words, asked[i].words, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("words of question %d (-want +got):\n%s", i, diff)
		}
	}
	for _, s := range settings {
		c := &cutter{WordPiece: wordPiece(t), Length: s.MaxSeqLength, Stride: s.DocStride, MaxQuestion: s.MaxQueryLength}
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

func sum(w *window, length int) string {
	h := sha256.New()
	pieces, mask, segments := make([]int64, length), make([]int64, length), make([]int64, length)
	w.fill(pieces, mask, segments)
	for _, v := range [][]int64{pieces, mask, segments} {
		binary.Write(h, binary.LittleEndian, v)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func TestAnswersEqualTheReference(t *testing.T) {
	type result struct {
		Log []struct {
			QSLIndex int    `json:"qsl_idx"`
			Data     string `json:"data"`
		}
		Predictions map[string]string
		Notes       map[string]string
	}
	golden := testenv.JSON[result](t, "testdata/squad/post.json.gz")
	asked := questions(t, "post_squad.json")
	c := &cutter{WordPiece: wordPiece(t), Length: 384, Stride: 128, MaxQuestion: 64}
	windows := cutAll(c, asked)
	ends := make([]spanEnds, len(windows))
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
		got := answerOf(windows[first:last], ends[first:last], q.words, c.WordPiece.Vocabulary())
		if want := golden.Predictions[q.id]; got != want {
			t.Errorf("%s (%s): answer %q, want %q", q.id, golden.Notes[q.id], got, want)
		}
	}
	if len(asked) < 20 {
		t.Errorf("there are only %d questions", len(asked))
	}
}

func pairs(t *testing.T, data string) spanEnds {
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
	return spanEnds{bestPositions(starts), bestPositions(stops)}
}

func TestBestBreaksTiesByIndex(t *testing.T) {
	logits := make([]float64, 200)
	for i := range logits {
		logits[i] = float64(i * 7919 % 31)
	}
	all := make([]position, len(logits))
	for i, logit := range logits {
		all[i] = position{i, logit}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Logit > all[j].Logit })
	if diff := cmp.Diff(all[:nBest], bestPositions(logits)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := bestPositions(logits[:3]); len(got) != 3 {
		t.Errorf("best of three: %v", got)
	}
}

func TestLongQuestionLeavesNoWindow(t *testing.T) {
	c := &cutter{WordPiece: wordPiece(t), Length: 10, Stride: 4, MaxQuestion: 8}
	if got := c.windows(nil, 0, strings.Repeat("the ", 20), c.document([]string{"king"})); len(got) != 0 {
		t.Errorf("windows %v", got)
	}
}

func BenchmarkWindows(b *testing.B) {
	asked := questions(b, "squad.json")
	c := &cutter{WordPiece: wordPiece(b), Length: 384, Stride: 128, MaxQuestion: 64}
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n = len(cutAll(c, asked))
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "windows/s")
}

func FuzzAnswer(f *testing.F) {
	f.Add("Who built it?", "In the City a Café of Ångström was opened, naïve but old.", 7, 9)
	f.Add("", "\u202f\u00a0 x", 0, 0)
	f.Add("한국", "The island (한국) is large. ⓐⓑ, ##", 3, 4)
	c := &cutter{WordPiece: wordPiece(f), Length: 24, Stride: 5, MaxQuestion: 6}
	f.Fuzz(func(t *testing.T, asked, document string, start, stop int) {
		d := c.document(splitWords(document))
		windows := c.windows(nil, 0, asked, d)
		ends := make([]spanEnds, len(windows))
		for i := range ends {
			ends[i] = spanEnds{[]position{{start, 1}}, []position{{stop, 1}}}
			if n := len(windows[i].Pieces); n > c.Length {
				t.Fatalf("window %d has %d pieces", i, n)
			}
		}
		got := answerOf(windows, ends, d.Words, c.WordPiece.Vocabulary())
		if got != noAnswer && !strings.Contains(strings.Join(d.Words, " "), got) {
			t.Errorf("answer %q is not in %q", got, d.Words)
		}
		for i := range d.pieces {
			shown := 0
			for _, w := range windows {
				if at := slices.Index(w.WordOf, d.wordOf[i]); at >= 0 {
					shown++
				}
			}
			if shown == 0 && len(windows) > 0 {
				t.Errorf("piece %d is in no window", i)
			}
		}
	})
}
