package synth

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/dataset/captions"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/tokenizer/vocab"
)

// isAnsweredBy reports whether an answer is of a kind, and what the i-th question wants.
func (q question) isAnsweredBy(answer string, kind questionKind, i int) bool {
	switch kind {
	case toD:
		return len(q.Wanted) == 1 && strings.Contains("ABCD", q.Wanted) && strings.HasSuffix(answer, q.Wanted)
	case toJ:
		return len(q.Wanted) == 1 && strings.Contains("ABCDEFGHIJ", q.Wanted) && strings.HasSuffix(answer, q.Wanted)
	case aNumber:
		return len(q.Wanted) == 3 && strings.Contains(answer, q.Wanted)
	case aProgram:
		return q.Wanted == fmt.Sprintf("sum_%d", i) && q.sum >= 100 && q.sum <= 999 && strings.Contains(answer, fmt.Sprint(q.sum))
	}
	return answer == q.Wanted
}

// Each form has its sets in turn, and answers of their kinds hidden behind the mark.
func TestQuestionsAreOfTheirSets(t *testing.T) {
	for form, sets := range questionSets {
		s := QuestionSpec{Seed: 5, Questions: 60, Form: form}
		for i := range s.Questions {
			q := s.draw(i)
			set := sets[i%len(sets)]
			if q.Set != set.name {
				t.Fatalf("%s: question %d is of %s, want %s", form, i, q.Set, set.name)
			}
			mark := slices.Index(q.Tokens, int32(vocab.Mark))
			if mark < fewestAsked || mark > mostAsked {
				t.Fatalf("%s: question %d has %d words", form, i, mark)
			}
			for _, token := range q.Tokens[:mark] {
				if token < 0 || token >= vocab.Plain {
					t.Fatalf("%s: question %d has the token %d in it", form, i, token)
				}
			}
			if n := len(q.Tokens) - mark - 1; set.kind == aText && n != answerWords {
				t.Errorf("%s: question %d hides %d words", form, i, n)
			}
			if answer := vocab.Text(q.Tokens[mark+1:]); !q.isAnsweredBy(answer, set.kind, i) {
				t.Errorf("%s: question %d of %s wants %q and hides %q", form, i, set.name, q.Wanted, answer)
			}
		}
	}
}

func TestLettersOfAllChoicesAreWanted(t *testing.T) {
	s := QuestionSpec{Seed: 6, Questions: 500, Form: deepSeekQuestions}
	wanted := map[string]map[string]bool{}
	for i := range s.Questions {
		q := s.draw(i)
		if wanted[q.Set] == nil {
			wanted[q.Set] = map[string]bool{}
		}
		wanted[q.Set][q.Wanted] = true
	}
	if len(wanted["gpqa"]) != 4 || len(wanted["mmlu_pro"]) != 10 {
		t.Errorf("%d and %d letters are wanted, want 4 and 10", len(wanted["gpqa"]), len(wanted["mmlu_pro"]))
	}
}

// Popular items are frequent: the share of those among the first x of all is the cube root of x.
func TestCategoriesAreThoseOfPopularItems(t *testing.T) {
	const n, rows = 40000, 100000
	r := newStream("test", 1)
	below := map[float64]int{0.001: 0, 0.125: 0, 0.5: 0, 1: 0}
	for range n {
		c := category(r, rows)
		for share := range below {
			if float64(c) < share*rows {
				below[share]++
			}
		}
	}
	for share, got := range below {
		if want := n * math.Cbrt(share); math.Abs(float64(got)-want) > 0.01*n {
			t.Errorf("%d of %d are among the first %v of all, want about %.0f", got, n, share, want)
		}
	}
	for range 1000 {
		if c := category(r, 1); c != 0 {
			t.Fatalf("category %d of one", c)
		}
	}
}

// Numbers are counts: as often below 1 as below 2⁷ again, and none above 2¹³.
func TestNumbersAreCounts(t *testing.T) {
	r := newStream("test", 2)
	zero, most := 0, 0
	for range 30000 {
		v := count(r)
		if most = max(most, v); v == 0 {
			zero++
		} else if v < 0 {
			t.Fatalf("a count is %d", v)
		}
	}
	if zero < 3000 || zero > 6000 || most < 1<<12 || most >= 1<<13 {
		t.Errorf("%d of 30000 are 0, and the largest is %d", zero, most)
	}
}

// The reader of the official set reads ours, and labels that a judge writes are what it sees.
func TestPairsAreReadByTheirReader(t *testing.T) {
	spec := CriteoSpec{Seed: 3, Pairs: 700, Rows: criteoRows(90)}
	labels := make([]bool, spec.Pairs)
	for i := range labels {
		labels[i] = i%7 == 3
	}
	dir := filepath.Join(t.TempDir(), "criteo")
	judge := func(folder string) (map[string]float64, error) { return nil, spec.WriteLabels(folder, labels) }
	if err := WriteCriteo(t.Context(), dir, spec, judge); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, criteoFile))
	if err != nil {
		t.Fatal(err)
	}
	set, err := dataset.OpenCriteo(dir)
	if err != nil {
		t.Fatal(err)
	}
	pair := 0
	for i, run := range set.Runs {
		c := dataset.Click{Numbers: make([]float32, run.Count*criteoNumbers), Categories: make([]int64, run.Count*criteoTables), Labels: make([]float32, run.Count)}
		if err := set.Read(i, c); err != nil {
			t.Fatal(err)
		}
		for k := range run.Count {
			fields := data[4*criteoFields*pair:]
			if want := map[bool]float32{true: 1}[labels[pair]]; c.Labels[k] != want {
				t.Errorf("pair %d is a click: %v, want %v", pair, c.Labels[k], want)
			}
			first := binary.LittleEndian.Uint32(fields[4:])
			if want := math.Log(float64(first) + 1); math.Abs(float64(c.Numbers[k*criteoNumbers])-want) > 1e-5 {
				t.Errorf("the first number of pair %d is %v, want ln(%d + 1)", pair, c.Numbers[k*criteoNumbers], first)
			}
			pair++
		}
	}
	if pair != spec.Pairs {
		t.Errorf("%d pairs", pair)
	}
}

func TestLabelsNeedTheirPairs(t *testing.T) {
	spec := CriteoSpec{Seed: 3, Pairs: 2, Rows: criteoRows(9)}
	dir := filepath.Join(t.TempDir(), "criteo")
	if err := spec.WriteLabels(dir, make([]bool, 2)); err == nil {
		t.Error("labels of no pairs are written")
	}
	if err := WriteCriteo(t.Context(), dir, spec, nil); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 3} {
		if err := spec.WriteLabels(dir, make([]bool, n)); !testenv.Names(err, fmt.Sprintf("%d labels … 2 pairs", n)) {
			t.Errorf("%d labels: %v", n, err)
		}
	}
	spec.Hot = slices.Repeat([]int64{1}, criteoTables)
	if err := spec.WriteLabels(dir, make([]bool, 3)); !testenv.Names(err, "3 labels … 2 pairs") {
		t.Errorf("of the other form: %v", err)
	}
}

// Quotes and capitals of a caption are there when the table is read.
func TestCaptionsComeBackFromTheirTable(t *testing.T) {
	spec := smallCaptions()
	words := newWordTokens(spec.Seed, spec.Tokens)
	list, err := captions.Read(writeCaptions(t, spec), 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range list {
		want := spec.caption(newStream("caption", spec.Seed, uint64(i)), i, words.words[:min(len(words.words), differentWords)])
		if got != want {
			t.Errorf("caption %d is %q, want %q", i, got, want)
		}
		n := len(strings.Fields(strings.TrimSuffix(got, " 7.")))
		if long := i%longCaption == longCaption-1; !long && (n < 5 || n > 12) || long && (n < 80 || n > 100) {
			t.Errorf("caption %d has %d words", i, n)
		}
	}
}

// A word is built of the tokens by which it grows; the vocabulary has as many as asked for.
func TestVocabulariesOfCaptionsGrowByJoining(t *testing.T) {
	for _, size := range []int{600, 601, 1000} {
		w := newWordTokens(7, size)
		known := map[string]bool{}
		for _, token := range w.tokens {
			if known[token] {
				t.Errorf("%q is there twice", token)
			}
			known[token] = true
		}
		if len(w.tokens) != size || w.tokens[size-2] != startToken || w.tokens[size-1] != endToken {
			t.Fatalf("%d tokens, the last are %q", len(w.tokens), w.tokens[len(w.tokens)-2:])
		}
		for _, m := range w.merges {
			if !known[m[0]] || !known[m[1]] || !known[m[0]+m[1]] {
				t.Errorf("%q are joined, and not all of it is known", m)
			}
		}
		if len(w.merges) != size-2-512 {
			t.Errorf("%d joins make %d tokens of 512", len(w.merges), size)
		}
	}
}

func criteoRows(limit int64) []int64 {
	rows := make([]int64, criteoTables)
	for i := range rows {
		rows[i] = min(int64(3+i*i*i), limit)
	}
	return rows
}

func TestPairsHaveCategoriesOfTheirTables(t *testing.T) {
	spec := CriteoSpec{Seed: 1, Pairs: 3000, Rows: criteoRows(500)}
	dir := filepath.Join(t.TempDir(), "criteo")
	if err := WriteCriteo(t.Context(), dir, spec, nil); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, criteoFile))
	if err != nil || len(data) != spec.Pairs*160 {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	clicks, seen := 0, make([]map[uint32]bool, criteoTables)
	for i := range spec.Pairs {
		pair := data[160*i:][:160]
		clicks += int(pair[0])
		for table, rows := range spec.Rows {
			v := binary.LittleEndian.Uint32(pair[4*(14+table):])
			if int64(v) >= rows {
				t.Fatalf("pair %d has category %d of the %d in table %d", i, v, rows, table)
			}
			if seen[table] == nil {
				seen[table] = map[uint32]bool{}
			}
			seen[table][v] = true
		}
	}
	if clicks < 50 || clicks > 200 || len(seen[0]) != 3 || len(seen[25]) < 200 {
		t.Errorf("%d clicks; %d and %d different categories in the first and last table", clicks, len(seen[0]), len(seen[25]))
	}
}

func TestLabelsOfPairsAreWrittenInPlace(t *testing.T) {
	spec := CriteoSpec{Seed: 1, Pairs: 30, Rows: criteoRows(500)}
	dir := filepath.Join(t.TempDir(), "criteo")
	if err := WriteCriteo(t.Context(), dir, spec, nil); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, criteoFile))
	if err != nil {
		t.Fatal(err)
	}
	labels := make([]bool, spec.Pairs)
	labels[7] = true
	if err := spec.WriteLabels(dir, labels); err != nil {
		t.Fatal(err)
	}
	marked, err := os.ReadFile(filepath.Join(dir, criteoFile))
	if err != nil || marked[160*7] != 1 || marked[160*8] != 0 || marked[160*7+4] != data[160*7+4] {
		t.Errorf("the labels were not written as they are, %v", err)
	}
	if err := spec.WriteLabels(dir, labels[1:]); err == nil {
		t.Error("a label too few is taken")
	}
}

func TestTablesOfPairsHaveToBeThereAndToHaveRows(t *testing.T) {
	for _, spec := range []CriteoSpec{{}, {Pairs: 1, Rows: []int64{1}}, {Pairs: 1, Rows: criteoRows(0)}} {
		if err := WriteCriteo(t.Context(), t.TempDir(), spec, nil); err == nil {
			t.Errorf("made %+v", spec)
		}
	}
}

// The rows are those of tables with 1 to 3 categories of a pair.
func TestPairsOfDLRMv2HaveSeveralCategoriesOfATable(t *testing.T) {
	spec := CriteoSpec{Seed: 1, Pairs: 300, Rows: criteoRows(500)}
	flat := spec.Key()
	for table := range spec.Rows {
		spec.Hot = append(spec.Hot, int64(1+table%3))
	}
	if spec.Key() == flat {
		t.Errorf("with several categories the key is %s, too", flat)
	}
	dir := filepath.Join(t.TempDir(), "criteo")
	labels := make([]bool, spec.Pairs)
	labels[7] = true
	if err := WriteCriteo(t.Context(), dir, spec, func(folder string) (map[string]float64, error) {
		return nil, spec.WriteLabels(folder, labels)
	}); err != nil {
		t.Fatal(err)
	}
	d, err := dataset.OpenMultiHot(dir)
	if err != nil {
		t.Fatal(err)
	}
	first := d.Runs[0].Count
	if truth, err := d.Labels(0); err != nil || !slices.Equal(truth, labels[:first]) {
		t.Errorf("labels %v, %v, want a click of pair 7", truth, err)
	}
	c := dataset.Click{Numbers: make([]float32, first*criteoNumbers), Categories: make([]int64, first*51), Labels: make([]float32, first)}
	if err := d.Read(0, c); err != nil {
		t.Fatal(err)
	}
	at := 0
	for table, rows := range spec.Rows {
		n := first * int(spec.Hot[table])
		if most := slices.Max(c.Categories[at:][:n]); most >= rows || most < min(rows, 20)/2 {
			t.Errorf("table %d has categories up to %d, want less than %d, and many", table, most, rows)
		}
		at += n
	}
	if least := slices.Min(c.Numbers); least < float32(math.Log(3)) {
		t.Errorf("a number is %v, want ln(x+3)", least)
	}
	if err := spec.WriteLabels(dir, labels[1:]); err == nil {
		t.Error("a label too few is taken")
	}
	for _, hot := range [][]int64{{1}, slices.Repeat([]int64{0}, criteoTables), slices.Repeat([]int64{1001}, criteoTables)} {
		spec.Hot = hot
		wantError(t, WriteCriteo(t.Context(), t.TempDir(), spec, nil), "must be 26 numbers from 1 to 1000")
	}
}

// The picture of a product is whole, and has the answer in a comment.
func TestAnswersAreInPictures(t *testing.T) {
	s := ProductSpec{Seed: 7, Products: 40}
	formats, levels := map[string]int{}, map[int]int{}
	for i := range s.Products {
		h, err := s.product(&painter{}, i)
		if err != nil {
			t.Fatal(err)
		}
		_, format, err := image.Decode(bytes.NewReader(h.Image.Bytes))
		if err != nil {
			t.Fatalf("product %d: %v", i, err)
		}
		formats[format]++
		levels[1+strings.Count(h.Category, " > ")]++
		var said struct {
			Category, Brand string
			Used            bool `json:"is_secondhand"`
		}
		if err := json.Unmarshal([]byte(vocab.Text(vocab.AnswerInText(string(h.Image.Bytes)))), &said); err != nil {
			t.Fatalf("product %d: %v", i, err)
		}
		words := func(text string) string { return strings.Join(strings.Fields(text), " ") }
		if words(said.Category) != h.Category || words(said.Brand) != h.Brand || said.Used != h.SecondHand || !slices.Contains(h.Categories, h.Category) {
			t.Errorf("product %d hides %+v, it is %+v", i, said, h)
		}
		if texts := h.Title + h.Description + strings.Join(h.Categories, ""); strings.Contains(texts, vocab.Words[vocab.Mark]) {
			t.Errorf("product %d has the mark in its texts", i)
		}
	}
	if formats["png"] < 10 || formats["jpeg"] < 20 || len(levels) != mostLevels {
		t.Errorf("formats %v, levels %v", formats, levels)
	}
}
