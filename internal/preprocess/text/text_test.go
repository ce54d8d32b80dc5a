package text

import (
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBestIsAStableSort(t *testing.T) {
	logits := make([]float64, 200)
	for i := range logits {
		logits[i] = float64(i * 7919 % 31)
	}
	all := make([]Position, len(logits))
	for i, logit := range logits {
		all[i] = Position{i, logit}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Logit > all[j].Logit })
	if diff := cmp.Diff(all[:nBest], Best(logits)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Best(logits[:3]); len(got) != 3 {
		t.Errorf("best of three: %v", got)
	}
}

func TestAQuestionThatLeavesNoRoomHasNoWindow(t *testing.T) {
	c := &Cutter{WordPiece: wordPiece(t), Length: 10, Stride: 4, MaxQuestion: 8}
	if got := c.Windows(nil, 0, strings.Repeat("the ", 20), c.Document([]string{"king"})); len(got) != 0 {
		t.Errorf("windows %v", got)
	}
}

func BenchmarkWindows(b *testing.B) {
	asked := questions(b, "squad.json")
	c := &Cutter{WordPiece: wordPiece(b), Length: 384, Stride: 128, MaxQuestion: 64}
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
	c := &Cutter{WordPiece: wordPiece(f), Length: 24, Stride: 5, MaxQuestion: 6}
	f.Fuzz(func(t *testing.T, asked, document string, start, stop int) {
		d := c.Document(Words(document))
		windows := c.Windows(nil, 0, asked, d)
		ends := make([]Ends, len(windows))
		for i := range ends {
			ends[i] = Ends{[]Position{{start, 1}}, []Position{{stop, 1}}}
			if n := len(windows[i].Pieces); n > c.Length {
				t.Fatalf("window %d has %d pieces", i, n)
			}
		}
		got := Answer(windows, ends, d.Words, c.WordPiece.Vocabulary())
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
