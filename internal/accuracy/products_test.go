package accuracy

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A productCase is an answer with what evaluation.py (v60) and the scorer of mlcommons/endpoints (v61) make of it.
type productCase struct {
	What   string
	Answer string
	Truth  string `json:"ground_truth"`
	V60    struct {
		Valid      bool
		Components [3]int // common levels, those of the answer, those of the truth
	}
	V61 struct{ Components [3]int }
}

func productCases(t *testing.T) (cases []productCase, first20 float64) {
	t.Helper()
	data, err := os.ReadFile("testdata/products.json")
	var golden struct {
		Cases   []productCase
		First20 float64 `json:"f1_first20_v60"`
	}
	if err == nil {
		err = json.Unmarshal(data, &golden)
	}
	if err != nil {
		t.Fatal(err)
	}
	return golden.Cases, golden.First20
}

// productLog is a log of answers to samples 0, 1, 2 and so on.
func productLog(answers ...string) Input {
	var records []string
	for i, a := range answers {
		records = append(records, fmt.Sprintf(`{"seq_id": %d, "qsl_idx": %d, "data": "%s"}`, i, i, hex.EncodeToString([]byte(a))))
	}
	return Named("log", strings.NewReader("["+strings.Join(records, ",\n")+"]"))
}

func TestLevelsOfProducts(t *testing.T) {
	cases, _ := productCases(t)
	f1 := func(components ...[3]int) float64 {
		var l levels
		for _, c := range components {
			l.common, l.predicted, l.wanted = l.common+c[0], l.predicted+c[1], l.wanted+c[2]
		}
		return l.f1()
	}
	var answers []string
	var truth []Product
	var older, newer [][3]int
	for _, c := range cases {
		score, err := ScoreProducts(productLog(c.Answer), []Product{{Category: c.Truth}})
		if err != nil {
			t.Errorf("%s: %v", c.What, err)
			continue
		}
		_, err = parseProduct([]byte(c.Answer))
		if valid := err == nil; valid != c.V60.Valid || score.Values[0].Value != f1(c.V60.Components) || score.Values[1].Value != f1(c.V61.Components) {
			t.Errorf("%s: %v, %v, want %v, %v and %v", c.What, err, score.Values, c.V60.Valid, c.V60.Components, c.V61.Components)
		}
		answers, truth = append(answers, c.Answer), append(truth, Product{Category: c.Truth})
		older, newer = append(older, c.V60.Components), append(newer, c.V61.Components)
	}
	score, err := ScoreProducts(productLog(answers...), truth)
	if err != nil || score.Values[0].Value != f1(older...) || score.Values[1].Value != f1(newer...) {
		t.Errorf("all: %v, %v, want %v and %v", score.Values, err, f1(older...), f1(newer...))
	}
	if len(score.Warnings) != 3 || !strings.Contains(score.Warnings[2], "trims") {
		t.Errorf("the rounds differ, and the warnings are %q", score.Warnings)
	}
}

// The whole text that evaluation.py writes for two answers.
func TestScoreOfProducts(t *testing.T) {
	answer := func(category, brand string, used bool) string {
		text, _ := json.Marshal(map[string]any{"category": category, "brand": brand, "is_secondhand": used})
		return string(text)
	}
	truth := []Product{{"A > B > C", "Nord & Süd", true}, {"A > B", "acme", false}, {"Z", "", true}}
	score, err := ScoreProducts(productLog(answer("A > B", " NORD & SÜD", true), answer("A > B", "Adidas", true), answer("Z", "", false)), truth)
	if err != nil {
		t.Fatal(err)
	}
	// 5 levels in common, 5 answered, 6 wanted; one true positive, one false, one missed.
	want := "Results\n\n{\"f1\": 0.9090909090909091}\n\nhash=51bcdbd30824c5f4d9478fd1ea48ce6cfdd087c923504f3b63280b9b89a892c7\n"
	if text := score.Text(); text != want {
		t.Errorf("the text is\n%s", text)
	}
	if want := []string{"evaluation.py also tells: brand 0.666667, is_secondhand 0.5"}; !slices.Equal(score.Warnings, want) {
		t.Errorf("warnings %q, want %q", score.Warnings, want)
	}
	for name, want := range map[string]float64{"f1": 10. / 11, "f1_endpoints": 10. / 11, "brand": 2. / 3, "is_secondhand": 0.5} {
		if v, ok := score.Lookup(name); !ok || math.Abs(v.Value-want) > 1e-15 {
			t.Errorf("%s = %v, want %v", name, v.Value, want)
		}
	}
}

// Of a repeated sample each record counts, as in the script.
func TestRecordsOfProducts(t *testing.T) {
	good := hex.EncodeToString([]byte(`{"category": "A", "brand": "b", "is_secondhand": false}`))
	log := func(index int, data string) Input {
		return Named("log", strings.NewReader(fmt.Sprintf(`[{"qsl_idx": 0, "data": "%s"}, {"qsl_idx": %d, "data": "%s"}]`, good, index, data)))
	}
	truth := []Product{{Category: "A", Brand: "b"}, {Category: "B"}}
	score, err := ScoreProducts(log(0, ""), truth)
	if err != nil || score.Values[0].Value != 0.5 || score.Coverage != (Coverage{Samples: 2, Scored: 1, Repeated: 1}) {
		t.Errorf("repeated: %+v, %v", score, err)
	}
	if _, ok := score.Lookup("is_secondhand"); ok {
		t.Error("is_secondhand has a score, although the script draws it")
	}
	if _, err := ScoreProducts(log(2, good), truth); !testenv.Names(err, "record 1 … qsl_idx 2 … 2 samples") {
		t.Errorf("a sample too many: %v", err)
	}
	if _, err := ScoreProducts(log(1, "ff"), truth); !testenv.Names(err, "record 1 … UTF-8") {
		t.Errorf("no text: %v", err)
	}
	if _, err := ScoreProducts(Named("log", strings.NewReader("[]")), truth); !testenv.Names(err, "log … no record") {
		t.Errorf("no record: %v", err)
	}
}

// Values of pydantic 2.14.
func TestAnswersOfProducts(t *testing.T) {
	with := func(second string) string { return `{"category":"A","brand":"b","is_secondhand":` + second + `}` }
	for answer, want := range map[string]string{
		with("true"): "true", with("1"): "true", with("0"): "false", with("1.0"): "true", with("0.0"): "false", with("1e0"): "true", with("10e-1"): "true",
		with("-0"): "false", with("-0.0"): "false", with("0e5"): "false", with(`"TRUE"`): "true", with(`"On"`): "true", with(`"y"`): "true", with(`"N"`): "false",
		with(`"1"`): "true", with(`"\u0074rue"`): "true", with("2"): "", with("-1"): "", with(`" true"`): "", with(`"1.0"`): "", with(`"t "`): "", with("null"): "",
		with("NaN"): "", with("[true]"): "", with("{}"): "", with("01"): "", with("+1"): "", with("1."): "", with("100000000000000000000"): "", with(`"no\n"`): "",
		with(`"ſ"`): "", with(`"İ"`): "", "\ufeff" + with("true"): "", "\u00a0" + with("true"): "", "\f" + with("true"): "", with("true") + "\x00": "",
		with("true") + "{}": "", "\t\r\n " + with("true") + " \n": "true",
		`{"category":"\ud83d\ude00","brand":"b","is_secondhand":true}`: "true", `{"category":"\ud800","brand":"b","is_secondhand":true}`: "",
		`{"category":"\udc00","brand":"b","is_secondhand":true}`: "", "{\"category\":\"\x01\",\"brand\":\"b\",\"is_secondhand\":true}": "",
		"{\"category\":\"A\tB\",\"brand\":\"b\",\"is_secondhand\":true}": "", `{"category":"\u0000","brand":"\b\/","is_secondhand":true}`: "true",
		`{"category":"\x41","brand":"b","is_secondhand":true}`: "", `{"category":"A","brand":"b","is_secondhand":true,}`: "",
		`{"category":5,"category":"A","brand":"b","is_secondhand":true}`: "true", `{"category":"A","category":5,"brand":"b","is_secondhand":true}`: "",
		`{"x":1,"category":"A","brand":"b","is_secondhand":true}`: "", `{"Category":"A","brand":"b","is_secondhand":true}`: "",
		`{"c\u0061tegory":"A","brand":"b","is_secondhand":true}`: "true", `{"is_secondhand":"maybe","is_secondhand":"no","category":"A","brand":"b"}`: "false",
	} {
		p, err := parseProduct([]byte(answer))
		got := fmt.Sprint(p.SecondHand)
		if err != nil {
			got = ""
		}
		if got != want {
			t.Errorf("%q: %q (%v), want %q", answer, got, err, want)
		}
	}
}

// Values of rapidfuzz 3: fuzz.ratio > 90.
func TestAlikeBrands(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"", "", true}, {"", "a", false}, {"Giorgio Armani", " giorgio armani\n", true}, {"adodas", "adidas", false}, {"abcdefghij", "abcdefghi", true},
		{"abcdefghijabcdefghij", "abcdefghijabcdefghix", true}, {"abcdefghix", "abcdefghij", false}, {"ÉCOLE", "école", true}, {"ΣΣ", "σς", true},
	} {
		if got := alike(c.a, c.b); got != c.want {
			t.Errorf("alike(%q, %q) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

// What is read as a product is read the same again.
func FuzzProduct(f *testing.F) {
	data, err := os.ReadFile("testdata/products.json")
	var golden struct{ Cases []productCase }
	if err == nil {
		err = json.Unmarshal(data, &golden)
	}
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range golden.Cases {
		f.Add([]byte(c.Answer))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		p, err := parseProduct(answer)
		if err != nil {
			return
		}
		again, err := json.Marshal(map[string]any{"category": p.Category, "brand": p.Brand, "is_secondhand": p.SecondHand})
		if err != nil {
			t.Fatal(err)
		}
		if q, err := parseProduct(again); err != nil || p != q {
			t.Errorf("%q: %+v, then %+v, %v", answer, p, q, err)
		}
		var l levels
		l.add(p.Category, p.Category)
		if l.common != l.wanted || l.common != len(levelsOf(p.Category)) || slices.Contains(levelsOf(p.Category), " ") {
			t.Errorf("%q has %+v", p.Category, l)
		}
	})
}
