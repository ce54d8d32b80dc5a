package accuracy

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A Product is what is known of a product of Shopify's catalogue. Its category is a path: "Clothing > Shirts".
type Product struct {
	Category, Brand string
	SecondHand      bool
}

// ScoreProducts scores a log of answers about products as evaluation.py of Qwen3-VL does. Each record counts, also that of a sample
// that was seen before, and samples without a record do not. The values are shares of 1:
//
//   - f1, the hierarchical F1 of categories, which is in the script's accuracy.txt;
//   - f1_endpoints, the same as mlcommons/endpoints computes it for v6.1 (scoring.py, ShopifyCategoryF1Scorer), which trims the category of an
//     answer before it splits it into levels;
//   - brand, the share of brands that are at least 90 % alike;
//   - is_secondhand, the F1 of that field, if all answers fit the schema: the script draws it for the others.
func ScoreProducts(log Input, truth []Product) (*Score, error) {
	score := &Score{Coverage: Coverage{Samples: len(truth)}}
	seen := make([]bool, len(truth))
	var inference, endpoints levels
	brands, unfit, truePositive, falsePositive, falseNegative := 0, 0, 0, 0, 0
	for rec, err := range Records(log) {
		if err != nil {
			return nil, err
		}
		if rec.QSLIndex >= uint64(len(truth)) {
			return nil, rec.errorf(log, "the ground truth has only %d samples", len(truth))
		}
		if !utf8.Valid(rec.Data) {
			return nil, rec.errorf(log, "the answer is not UTF-8")
		}
		score.Coverage.count(seen[rec.QSLIndex])
		seen[rec.QSLIndex] = true
		want := truth[rec.QSLIndex]
		got, err := parseProduct(rec.Data)
		if err != nil {
			unfit++
			inference.miss(want.Category)
			endpoints.miss(pytext.TrimSpace(want.Category))
			continue
		}
		inference.add(got.Category, want.Category)
		endpoints.add(pytext.TrimSpace(got.Category), pytext.TrimSpace(want.Category))
		if alike(got.Brand, want.Brand) {
			brands++
		}
		switch {
		case got.SecondHand && want.SecondHand:
			truePositive++
		case got.SecondHand:
			falsePositive++
		case want.SecondHand:
			falseNegative++
		}
	}
	n := score.Coverage.records()
	if n == 0 {
		return nil, errNoRecord(log)
	}
	score.Values = []Value{
		{Name: "f1", Value: inference.f1()}, {Name: "f1_endpoints", Value: endpoints.f1()},
		{Name: "brand", Value: float64(brands) / float64(n)},
	}
	other := fmt.Sprintf("evaluation.py also tells: brand %s", units.Score(score.Values[2].Value))
	if unfit == 0 {
		second := 0.0
		if all := 2*truePositive + falsePositive + falseNegative; all > 0 {
			second = 2 * float64(truePositive) / float64(all)
		}
		score.Values = append(score.Values, Value{Name: "is_secondhand", Value: second})
		other += ", is_secondhand " + units.Score(second)
	}
	score.warnf("%s", other)
	if unfit > 0 {
		score.warnf("%d of %d answers do not fit the schema and count as wrong; is_secondhand has no score, because the official script draws it "+
			"for these answers, differently on each number of processors", unfit, n)
	}
	if a, b := inference.f1(), endpoints.f1(); a != b {
		score.warnf("f1 is %s by evaluation.py and %s by mlcommons/endpoints, which trims categories first: a difference of %s", pytext.Float(a),
			pytext.Float(b), units.Score(a-b))
	}
	line := fmt.Sprintf(`{"f1": %s}`, pytext.Float(inference.f1()))
	score.Lines = []string{"Results", "", line, "", fmt.Sprintf("hash=%x", sha256.Sum256([]byte(line)))} // of the line, not of the log
	return score, nil
}

// levels count the levels of categories over all answers: in the answers, in the truth, and in the common beginnings of both.
type levels struct{ predicted, wanted, common int }

// levelsOf splits a category. An empty one has one level.
func levelsOf(category string) []string {
	parts := strings.Split(category, " > ")
	for i := range parts {
		parts[i] = pytext.TrimSpace(parts[i])
	}
	return parts
}

func (l *levels) add(predicted, wanted string) {
	p, w := levelsOf(predicted), levelsOf(wanted)
	l.predicted += len(p)
	l.wanted += len(w)
	for i := 0; i < min(len(p), len(w)) && p[i] == w[i]; i++ {
		l.common++
	}
}

// miss counts an answer that does not fit the schema: as many wrong levels as the truth has.
func (l *levels) miss(wanted string) {
	n := len(levelsOf(wanted))
	l.predicted += n
	l.wanted += n
}

// f1 is the hierarchical F1; 0 without levels in common.
func (l *levels) f1() float64 {
	if l.common == 0 {
		return 0
	}
	return harmonic(float64(l.common)/float64(l.predicted), float64(l.common)/float64(l.wanted))
}

// alike reports whether two brands are more than 90 % alike: by the characters to insert and to delete between them (rapidfuzz, fuzz.ratio).
func alike(a, b string) bool {
	x, y := []rune(pytext.Lower(pytext.TrimSpace(a))), []rune(pytext.Lower(pytext.TrimSpace(b)))
	all := len(x) + len(y)
	if all == 0 {
		return true
	}
	apart := float64(all-2*commonLength(make([]uint32, len(y)+1), x, y)) / float64(all)
	return (1-apart)*100 > 90
}

// The texts that pydantic takes for truth values, in any case.
var (
	truths = []string{"1", "true", "t", "yes", "y", "on"}
	lies   = []string{"0", "false", "f", "no", "n", "off"}
)

// parseProduct reads an answer as the scripts' pydantic model does: an object of exactly three fields, of which the last of a name counts,
// and white space around it. It takes no NaN, which pydantic takes in a field that comes again.
func parseProduct(answer []byte) (p Product, err error) {
	var raw struct { // earlier values of a name may be of any type
		Category jsontext.Value `json:"category"`
		Brand    jsontext.Value `json:"brand"`
		Second   jsontext.Value `json:"is_secondhand"`
	}
	if err := json.Unmarshal(answer, &raw, jsontext.AllowDuplicateNames(true), json.RejectUnknownMembers(true)); err != nil {
		return p, err
	}
	return p, errors.Join(readText(raw.Category, &p.Category), readText(raw.Brand, &p.Brand), readTruth(raw.Second, &p.SecondHand))
}

// readText reads a string of JSON.
func readText(v jsontext.Value, to *string) error {
	if v.Kind() != '"' {
		return fmt.Errorf("expected a text, got %.20s", v)
	}
	return json.Unmarshal(v, to)
}

// readTruth reads a truth value, also from a number or a text.
func readTruth(v jsontext.Value, to *bool) error {
	switch v.Kind() {
	case 't', 'f':
		*to = v.Kind() == 't'
		return nil
	case '0':
		n, err := strconv.ParseFloat(string(v), 64)
		if *to = n == 1; err == nil && (n == 0 || n == 1) {
			return nil
		}
	case '"':
		var word string
		if err := json.Unmarshal(v, &word); err != nil {
			return err
		}
		same := func(known string) bool { return strings.ToLower(word) == known }
		if *to = slices.ContainsFunc(truths, same); *to || slices.ContainsFunc(lies, same) {
			return nil
		}
	}
	return fmt.Errorf("expected true or false, got %.20s", v)
}
