package quantize

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestTheRecordTellsTheMethod(t *testing.T) {
	m, ranges := calibrated(t)
	for _, c := range []struct {
		name    string
		options Options
		want    []string
	}{
		{"recommended", Options{}, []string{
			"# Quantisation of residual", "4 layers compute with 8-bit integers, 0 stay in FP32", "8 samples", "the smallest and the largest value seen",
			"unsigned, asymmetric", "ties to even", "-127 to 127, one scale for each output channel", "Biases are corrected",
			"| stem | Conv + Relu | 8 | INT8 |", "| logits | Gemm | 5 | INT8 |", "1 Add, 1 Flatten, 1 GlobalAveragePool, 1 MaxPool.", "| image",
		}},
		{"other choices", Options{PerTensor: true, SevenBitWeights: true, Activations: S8, Exclude: []string{"block"}}, []string{
			"signed, symmetric", "-63 to 63, one scale for each tensor", "| block | Conv | | FP32: excluded by name |",
		}},
	} {
		_, report, err := Quantize(m, ranges, c.options)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := report.WriteMarkdown(&b); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: the record lacks %q:\n%s", c.name, want, &b)
			}
		}
	}
}

func TestTheRecordOfASearchTellsEveryStep(t *testing.T) {
	m, ranges := calibrated(t)
	found, err := Search{Score: costs(map[string]float64{"block": 3}), Target: 99}.Run(t.Context(), m, ranges, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := found.Report.WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"The 1 most sensitive layers stay in FP32, so that the score reaches 99: it is 100", "| 0 | 97 |\n| 1 | 100 |", "| block | 97 |\n| stem | 100 |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the record lacks %q:\n%s", want, &b)
		}
	}
}

func TestReportsAndRangesSurviveJSON(t *testing.T) {
	m, ranges := calibrated(t)
	text, err := json.Marshal(ranges)
	if err != nil {
		t.Fatal(err)
	}
	var again Ranges
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	first, report, err := Quantize(m, ranges, Options{})
	if err != nil {
		t.Fatal(err)
	}
	second, _, err := Quantize(m, again, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if encoded(t, first) != encoded(t, second) {
		t.Error("ranges that were kept as JSON give another model")
	}
	if text, err = json.Marshal(report); err != nil || !bytes.Contains(text, []byte(`"zero_point"`)) {
		t.Errorf("the report as JSON is %s, %v", text, err)
	}
}

func TestTheRecordOfAConversionTellsWhatStayed(t *testing.T) {
	_, report, err := ToFloat16(detector(), Float16Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := report.WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 nodes compute in float16, 4 that", "ties to even", "| nms | NonMaxSuppression | float16 is not defined for it |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the record lacks %q:\n%s", want, &b)
		}
	}
}

func TestTextInTablesIsEscaped(t *testing.T) {
	if got, want := cell("a|b\nc"), `a\|b c`; got != want {
		t.Errorf("cell() = %q, want %q", got, want)
	}
}

func TestMethodsAreDescribed(t *testing.T) {
	for text, want := range map[string]string{
		"min-max": "to the smallest and the largest value seen", "percentile:99.9": "between the percentiles 0.1 and 99.9", "entropy": "Kullback-Leibler",
	} {
		m, err := ParseMethod(text)
		if got := describeMethod(m); err != nil || !strings.Contains(got, want) {
			t.Errorf("describeMethod(%s) = %q, %v, want %q", text, got, err, want)
		}
	}
	if got := describeMethod(Method{}); got == "" {
		t.Error("ranges from elsewhere have no description")
	}
}
