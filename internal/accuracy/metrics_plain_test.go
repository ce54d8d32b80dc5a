package accuracy

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The tests of this file have second implementations of metrics, as short as the definitions are, over random input.

// wordsOf draws words of a small vocabulary, so that many are the same.
func wordsOf(r *rand.Rand, most int) []string {
	list := make([]string, r.IntN(most+1))
	for i := range list {
		list[i] = string(rune('a' + r.IntN(5)))
	}
	return list
}

// plainDistance is Levenshtein's, as its recursion has it.
func plainDistance(a, b []string, known map[[2]int]int) int {
	if len(a) == 0 || len(b) == 0 {
		return len(a) + len(b)
	}
	key := [2]int{len(a), len(b)}
	if d, ok := known[key]; ok {
		return d
	}
	d := min(plainDistance(a[1:], b, known)+1, plainDistance(a, b[1:], known)+1)
	change := plainDistance(a[1:], b[1:], known)
	if a[0] != b[0] {
		change++
	}
	known[key] = min(d, change)
	return known[key]
}

func TestWordErrorsAreTheFewestChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 62))
	for range 800 {
		a, b := wordsOf(r, 12), wordsOf(r, 12)
		var c, back werCounter
		c.Add(strings.Join(a, " "), strings.Join(b, "  "))
		back.Add(strings.Join(b, "\t"), strings.Join(a, "\n"))
		if want := plainDistance(a, b, map[[2]int]int{}); c.Errors != want || back.Errors != want || c.Words != len(b) {
			t.Fatalf("%v heard, %v said: %d errors of %d words, and %d the other way, want %d", a, b, c.Errors, c.Words, back.Errors, want)
		}
	}
}

// A counter adds up sentences: words of one do not make up for those of another.
func TestWordErrorsAreCountedSentenceBySentence(t *testing.T) {
	var c werCounter
	for _, pair := range [][2]string{{"a b", "b c"}, {"", "d"}, {"e", ""}, {"f", "f"}} {
		c.Add(pair[0], pair[1])
	}
	rate, err := c.Rate()
	if c.Errors != 4 || c.Words != 4 || rate != 1 || err != nil {
		t.Errorf("%d errors of %d words: %v, %v", c.Errors, c.Words, rate, err)
	}
	if _, err := new(werCounter).Rate(); err == nil || !strings.Contains(err.Error(), "the references have no words") {
		t.Errorf("of nothing: %v", err)
	}
}

// grams are the runs of so many words, each with how often it is there.
func grams(words []string, n int) map[string]int {
	counts := map[string]int{}
	for i := 0; i+n <= len(words); i++ {
		counts[strings.Join(words[i:i+n], " ")]++
	}
	return counts
}

// plainBLEU is that of Papineni and others over sentences with one reference each or more.
func plainBLEU(said [][]string, references [][][]string, order int, smooth bool) float64 {
	logs, hypothesis, wanted := 0.0, 0, 0
	for i, s := range said {
		hypothesis += len(s)
		shortest := len(references[i][0])
		for _, reference := range references[i] {
			shortest = min(shortest, len(reference))
		}
		wanted += shortest
	}
	for n := 1; n <= order; n++ {
		hits, total := 0, 0
		for i, s := range said {
			most := map[string]int{}
			for _, reference := range references[i] {
				for gram, count := range grams(reference, n) {
					most[gram] = max(most[gram], count)
				}
			}
			for gram, count := range grams(s, n) {
				hits += min(count, most[gram])
				total += count
			}
		}
		p := float64(hits) / float64(total)
		if smooth {
			p = float64(hits+1) / float64(total+1)
		}
		if hits == 0 && !smooth {
			return 0
		}
		logs += math.Log(p) / float64(order)
	}
	penalty := min(0, 1-float64(wanted)/float64(hypothesis))
	return math.Exp(logs + penalty)
}

func TestBLEUIsItsDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(63, 64))
	above := 0
	for range 400 {
		order, smooth := 1+r.IntN(4), r.IntN(3) == 0
		counter := newBLEUCounter(order, smooth)
		var said [][]string
		var references [][][]string
		for range 1 + r.IntN(4) {
			s := wordsOf(r, 14)
			list := [][]string{slices.Clone(s)}
			for range r.IntN(3) {
				list = append(list, wordsOf(r, 14))
			}
			if n := len(list[0]); n > 0 && r.IntN(4) > 0 {
				list[0][r.IntN(n)] = "other"
			}
			said, references = append(said, s), append(references, list)
			counter.Add(s, list...)
		}
		got, err := counter.Score()
		if err != nil {
			continue // no words on one side
		}
		want := plainBLEU(said, references, order, smooth)
		if math.Abs(got.BLEU-want) > 1e-12 {
			t.Fatalf("BLEU of %v to %v up to %d words, smooth %t, is %v, want %v", said, references, order, smooth, got.BLEU, want)
		}
		if got.BLEU > 0 {
			above++
		}
	}
	if above < 100 {
		t.Errorf("only %d of 400 are above 0", above)
	}
}

func TestBLEUIsBoundedByWhatIsTheSame(t *testing.T) {
	same := strings.Fields("the house that stands on the hill is old")
	for _, c := range []struct {
		name      string
		said      string
		reference string
		low, high float64
	}{
		{"the same", strings.Join(same, " "), strings.Join(same, " "), 1, 1},
		{"nothing in common", "a b c d e", "f g h i j", 0, 0},
		{"no four words in a row", "a b c x d e f", "a b c y d e f", 0, 0},
		{"the first half", "the house that stands", strings.Join(same, " "), math.Exp(1 - 9.0/4), math.Exp(1 - 9.0/4)},
		{"more than was wanted", strings.Join(same, " ") + " and red", strings.Join(same, " "), 0.7, 0.9},
		{"words in another order", "old is hill the on stands that house the", strings.Join(same, " "), 0, 0},
	} {
		counter := newBLEUCounter(4, false)
		counter.Add(strings.Split(c.said, " "), strings.Split(c.reference, " "))
		if got, err := counter.Score(); err != nil || got.BLEU < c.low-1e-12 || got.BLEU > c.high+1e-12 {
			t.Errorf("%s: BLEU %v, %v, want %v to %v", c.name, got.BLEU, err, c.low, c.high)
		}
	}
}

// plainCommon is the length of a longest common subsequence, by the table of its definition.
func plainCommon(a, b []string) int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
	}
	for i := range a {
		for j := range b {
			if table[i+1][j+1] = max(table[i][j+1], table[i+1][j]); a[i] == b[j] {
				table[i+1][j+1] = table[i][j] + 1
			}
		}
	}
	return table[len(a)][len(b)]
}

func TestROUGEIsItsDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(65, 66))
	scorer := newROUGEScorer(false)
	for range 600 {
		a, b := wordsOf(r, 30), wordsOf(r, 30)
		got := scorer.Score(strings.Join(a, " "), strings.Join(b, ", "))
		for n, have := range map[int]rouge{1: got.One, 2: got.Two} {
			hits := 0
			wanted := grams(b, n)
			for gram, count := range grams(a, n) {
				hits += min(count, wanted[gram])
			}
			if want := newROUGE(hits, len(a)-n+1, len(b)-n+1); have != want {
				t.Fatalf("ROUGE-%d of %v to %v is %+v, want %+v", n, a, b, have, want)
			}
		}
		if want := newROUGE(plainCommon(a, b), len(a), len(b)); got.L != want || got.LSum != want {
			t.Fatalf("ROUGE-L of %v to %v is %+v, by one line %+v, want %+v", a, b, got.L, got.LSum, want)
		}
	}
}

// The order of lines matters to the longest common subsequence of a text, and not to that of its lines.
func TestROUGEOfLinesDoesNotKnowTheirOrder(t *testing.T) {
	lines := []string{"one two three", "four five six", "seven eight nine"}
	wanted := strings.Join(lines, "\n")
	slices.Reverse(lines)
	got := newROUGEScorer(false).Score(strings.Join(lines, "\n"), wanted)
	if got.LSum.F1 != 1 || got.L.F1 != 1.0/3 {
		t.Errorf("by line %v, of the text %v, want 1 and a third", got.LSum.F1, got.L.F1)
	}
}

// plainOverlap is f1_score of evaluate_v1.1.py.
func plainOverlap(said, want []string) float64 {
	common := 0
	left := slices.Clone(want)
	for _, word := range said {
		if i := slices.Index(left, word); i >= 0 {
			left = slices.Delete(left, i, i+1)
			common++
		}
	}
	if common == 0 {
		return 0
	}
	precision, recall := float64(common)/float64(len(said)), float64(common)/float64(len(want))
	return 2 * precision * recall / (precision + recall)
}

func TestOverlapOfAnswersIsThatOfBags(t *testing.T) {
	r := rand.New(rand.NewPCG(67, 68))
	for range 800 {
		a, b := wordsOf(r, 8), wordsOf(r, 8)
		want := plainOverlap(a, b)
		if got := wordOverlap(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))); got != want {
			t.Fatalf("the overlap of %v and %v is %v, want %v", a, b, got, want)
		}
	}
}

func TestAnswersAreComparedWithoutWhatDoesNotCount(t *testing.T) {
	for text, want := range map[string]string{
		"The Cat":                      "cat",
		"an apple a day":               "apple day",
		"a.b.c":                        "abc",
		"a b":                          "b",
		"the-end":                      "theend", // marks go before articles are looked for
		"theatre athens":               "theatre athens",
		"  spaced \t out\n":            "spaced out",
		"U.S.A.":                       "usa",
		"“the” quoted":                 "“ ” quoted", // only marks of ASCII go
		"rock 'n' roll":                "rock n roll",
		"50% of $1,000":                "50 of 1000",
		"Ärger":                        "ärger",
		"the\u00a0cat":                 "cat",
		"the the the":                  "",
		"!!!":                          "",
		"":                             "",
		"_a_":                          "",
		"a\u0301 accent":               "\u0301 accent", // a character that is no letter ends a word
		"10 a 20":                      "10 20",
		"an_article":                   "anarticle",
		"İstanbul":                     "i̇stanbul",
		"A B C":                        "b c",
		"thé":                          "thé",
		"the\u200bend":                 "\u200bend",
		"one-two three/four (five)":    "onetwo threefour five",
		"back\\slash ^ caret ~ `tick`": "backslash caret tick",
	} {
		if got := strings.Join(answerWords(text), " "); got != want {
			t.Errorf("%q is compared as %q, want %q", text, got, want)
		}
	}
}

// plainIoU counts a class by itself.
func plainIoU(class int, predictions, truths [][]uint8, classes int) float64 {
	right, either := 0, 0
	for i, truth := range truths {
		for k, want := range truth {
			found := predictions[i][k]
			if want == 0 || int(want) > classes {
				continue // nobody's pixel
			}
			isWanted, isFound := int(want) == class, int(found) == class
			if isWanted && isFound {
				right++
			}
			if isWanted || isFound {
				either++
			}
		}
	}
	return float64(right) / float64(either)
}

func TestIoUIsItsDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(69, 70))
	for range 100 {
		classes := 1 + r.IntN(6)
		c, err := NewIoUCounts(classes)
		if err != nil {
			t.Fatal(err)
		}
		var predictions, truths [][]uint8
		for image := range 1 + r.IntN(4) {
			n := r.IntN(40)
			prediction, truth := make([]uint8, n), make([]uint8, n)
			for k := range n {
				prediction[k], truth[k] = uint8(r.IntN(classes+3)), uint8(r.IntN(classes+3))
			}
			if err := c.Add(image, prediction, truth); err != nil {
				t.Fatal(err)
			}
			predictions, truths = append(predictions, prediction), append(truths, truth)
		}
		sum, present := 0.0, 0
		for i, got := range c.classes() {
			want := plainIoU(i+1, predictions, truths, classes)
			if got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Fatalf("class %d of %d: %v, want %v", i+1, classes, got, want)
			}
			if !math.IsNaN(want) {
				sum, present = sum+want, present+1
			}
		}
		if got := c.MeanPresent(); present > 0 && math.Abs(got-sum/float64(present)) > 1e-12 || present == 0 && !math.IsNaN(got) {
			t.Fatalf("the mean is %v, want %v", got, sum/float64(present))
		}
		score := c.Score()
		if missing := classes - present; len(score.Warnings) != missing || math.IsNaN(score.Values[0].Value) != (missing > 0) {
			t.Fatalf("%d classes are in no image: %q, mean %v", missing, score.Warnings, score.Values[0].Value)
		}
		if len(score.Classes.List) != present {
			t.Fatalf("%d classes are listed, want %d", len(score.Classes.List), present)
		}
	}
}

// spread are statistics without a covariance between features.
func spread(mean, variances []float64) FeatureStatistics {
	n := len(mean)
	s := FeatureStatistics{Mean: mean, Covariance: make([]float64, n*n)}
	for i, v := range variances {
		s.Covariance[i*n+i] = v
	}
	return s
}

// turned are the statistics of features seen from another angle in the plane of two of them.
func turned(s FeatureStatistics, i, j int, angle float64) FeatureStatistics {
	n := len(s.Mean)
	rotation := make([]float64, n*n)
	for k := range n {
		rotation[k*n+k] = 1
	}
	sin, cos := math.Sincos(angle)
	rotation[i*n+i], rotation[j*n+j], rotation[i*n+j], rotation[j*n+i] = cos, cos, -sin, sin
	product := func(a, b []float64, transposed bool) []float64 {
		out := make([]float64, n*n)
		for x := range n {
			for y := range n {
				for k := range n {
					v := b[k*n+y]
					if transposed {
						v = b[y*n+k]
					}
					out[x*n+y] += a[x*n+k] * v
				}
			}
		}
		return out
	}
	out := FeatureStatistics{Mean: make([]float64, n), Covariance: product(product(rotation, s.Covariance, false), rotation, true)}
	for x := range n {
		for k := range n {
			out.Mean[x] += rotation[x*n+k] * s.Mean[k]
		}
	}
	return out
}

// Without a covariance between features the distance is one of each by itself, and it is the same from all angles.
func TestTheFrechetDistanceIsThatOfEachDirection(t *testing.T) {
	r := rand.New(rand.NewPCG(71, 72))
	for range 60 {
		n := 2 + r.IntN(6)
		var m1, v1, m2, v2 []float64
		want := 0.0
		for range n {
			a, b, c, d := r.NormFloat64(), r.ExpFloat64(), r.NormFloat64(), r.ExpFloat64()
			if r.IntN(6) == 0 {
				b = 0 // a feature that is always the same
			}
			m1, v1, m2, v2 = append(m1, a), append(v1, b), append(m2, c), append(v2, d)
			want += (a-c)*(a-c) + math.Pow(math.Sqrt(b)-math.Sqrt(d), 2)
		}
		a, b := spread(m1, v1), spread(m2, v2)
		for range 3 {
			got, err := FrechetDistance(a, b)
			back, err2 := FrechetDistance(b, a)
			if err != nil || err2 != nil || math.Abs(got-want) > 1e-7*max(1, want) || math.Abs(back-want) > 1e-7*max(1, want) {
				t.Fatalf("the distance is %v, %v, and back %v, %v, want %v", got, err, back, err2, want)
			}
			i, angle := r.IntN(n-1), r.Float64()*3
			a, b = turned(a, i, n-1, angle), turned(b, i, n-1, angle)
		}
	}
}

func TestSimilaritiesHaveTheirBounds(t *testing.T) {
	for _, c := range []struct {
		name        string
		image, text []float32
		want        float64
	}{
		{"the same direction", []float32{1, 2, 2}, []float32{2, 4, 4}, 100},
		{"the opposite one", []float32{1, 2, 2}, []float32{-1, -2, -2}, -100},
		{"a right angle", []float32{3, 0}, []float32{0, 5}, 0},
		{"half of one", []float32{1, 0}, []float32{1, 1}, 100 / math.Sqrt2},
		{"one feature", []float32{-7}, []float32{0.5}, -100},
		{"very small numbers", []float32{1e-30, 1e-30}, []float32{1e-30, 1e-30}, 100},
		{"very large ones", []float32{1e30, 1e30}, []float32{1e30, 1e30}, 100},
	} {
		if got, err := CLIPSimilarity(c.image, c.text); err != nil || math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
		}
	}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		name, want  string
		image, text []float32
	}{
		{"nothing", "an image has 0 features, its text 0", nil, nil},
		{"other sizes", "an image has 2 features, its text 1", []float32{1, 2}, []float32{1}},
		{"no direction", "are no direction: their lengths are 0 and 1", []float32{0, 0}, []float32{1, 0}},
		{"no number", "are no direction: their lengths are NaN and 1", []float32{nan, 0}, []float32{1, 0}},
		{"no end", "are no direction: their lengths are +Inf and 1", []float32{inf, 0}, []float32{1, 0}},
	} {
		_, err := CLIPSimilarity(c.image, c.text)
		wantError(t, err, c.want)
	}
}

func TestScoresAreLookedUpAndPrinted(t *testing.T) {
	s := Score{Values: []Value{{Name: "a", Value: 1}, {Name: "b", Value: 2, Unit: "%"}, {Name: "a", Value: 3}}}
	if v, ok := s.Lookup("a"); !ok || v.Value != 1 {
		t.Errorf("a is %v, %t, want the first", v, ok)
	}
	if v, ok := s.Lookup("c"); ok || v.Name != "" {
		t.Errorf("c is %v", v)
	}
	if s.Text() != "" {
		t.Errorf("without lines it prints %q", s.Text())
	}
	s.printf("one %d", 1)
	s.printf("%s", "100% done")
	s.warnf("odd: %v", []int{1})
	if s.Text() != "one 1\n100% done\n" {
		t.Errorf("it prints %q", s.Text())
	}
	if diff := cmp.Diff([]string{"odd: [1]"}, s.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestClassesOfOneNameAreToldApart(t *testing.T) {
	c := &Classes{}
	c.add("dog", 3, 0.5, 1)
	c.add("", 7, 0.25, 2)
	c.add("dog", 9, 1, 3)
	want := []Class{{"dog", 0.5, 1}, {"7", 0.25, 2}, {"dog (9)", 1, 3}}
	if diff := cmp.Diff(want, c.List); diff != "" {
		t.Errorf("classes (-want +got):\n%s", diff)
	}
}

func TestHitsAreCountedByLabelOfWhatWasScored(t *testing.T) {
	truth := []LabeledImage{{"a", 5}, {"b", -1}, {"c", 5}, {"d", 5}, {"e", 0}, {"f", -1}, {"g", 5}, {"h", 0}, {"i", 5}, {"j", 8}}
	scored, right := make([]byte, 2), make([]byte, 2)
	for _, sample := range []uint64{0, 1, 2, 4, 5, 8, 9} {
		setBit(scored, sample)
	}
	for _, sample := range []uint64{0, 5, 8} {
		setBit(right, sample)
	}
	want := &Classes{Metric: "Top-1", Unit: "%", Of: "samples", List: []Class{{"-1", 50, 2}, {"0", 0, 1}, {"5", 100 * 2.0 / 3, 3}, {"8", 0, 1}}}
	if diff := cmp.Diff(want, hitsByLabel(truth, scored, right)); diff != "" {
		t.Errorf("classes (-want +got):\n%s", diff)
	}
}

// Samples of another metric are 0 in the sum, and of no effect on the mean, to the last digit.
func TestMeansOfColumnsAreOverTheirOwnSamples(t *testing.T) {
	r := rand.New(rand.NewPCG(73, 74))
	for range 300 {
		var column metricColumn
		sum, n := 0.0, 0
		for range 1 + r.IntN(7) { // so few are added one by one
			if r.IntN(2) == 0 {
				column.skip()
				continue
			}
			v := 100 * r.Float64()
			column.add(v)
			sum, n = sum+v, n+1
		}
		if n > 0 && (column.mean() != sum/float64(n) || column.n != n) {
			t.Fatalf("the mean of %v is %v over %d, want %v over %d", column.values, column.mean(), column.n, sum/float64(n), n)
		}
	}
}
