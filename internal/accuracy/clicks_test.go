package accuracy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fewClicks has a right pair with the label 1 and one with 0 in each of the samples 0 and 1, and again in 0.
const fewClicks = `[{"seq_id":0,"qsl_idx":0,"data":"0000803F0000803F0000000000000000"},
	{"seq_id":1,"qsl_idx":1,"data":"0000803F0000803F0000000000000000"},
	{"seq_id":2,"qsl_idx":0,"data":"0000803F0000803F0000000000000000"}]`

func TestRepeatedRecordsOfClicksAreIgnoredAndSaidWhenAskedFor(t *testing.T) {
	const score = "AUC=100.000%, accuracy=100.000%, good=4, total=4, queries=2"
	for _, test := range []struct {
		verbose bool
		want    []string
	}{{false, []string{score}}, {true, []string{score, "found and ignored 1 query dupes"}}} {
		got, err := ScoreClicks(Named("log", strings.NewReader(fewClicks)), ClickOptions{Verbose: test.verbose})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got.Lines); diff != "" {
			t.Errorf("lines when Verbose is %t (-want +got):\n%s", test.verbose, diff)
		}
		if want := (Coverage{Samples: 2, Scored: 2, Repeated: 1}); got.Coverage != want {
			t.Errorf("coverage is %+v, want %+v", got.Coverage, want)
		}
	}
}

func TestClicksOfASampleBeyondTheDataSetAreAnError(t *testing.T) {
	for _, samples := range []int{2, 3} {
		got, err := ScoreClicks(Named("log", strings.NewReader(fewClicks)), ClickOptions{Samples: samples})
		if err != nil || got.Coverage.Samples != samples || got.Coverage.Scored != 2 {
			t.Errorf("with %d samples: %+v, %v", samples, got, err)
		}
	}
	_, err := ScoreClicks(Named("log", strings.NewReader(fewClicks)), ClickOptions{Samples: 1})
	if err == nil || !strings.Contains(err.Error(), "log: record 1 (qsl_idx 1): the data set has only 1 samples") {
		t.Errorf("with one sample: error %v", err)
	}
}

// fewLabels are those of samples.
type fewLabels [][]bool

func (l fewLabels) Len() int                     { return len(l) }
func (l fewLabels) Labels(i int) ([]bool, error) { return l[i], nil }

func TestPredictionsNeedALabelEach(t *testing.T) {
	const log = `[{"seq_id":0,"qsl_idx":0,"data":"0000803F00000000"}]`
	score, err := ScoreClicks(Named("log", strings.NewReader(log)), ClickOptions{Truth: fewLabels{{true, false}, nil}})
	if err != nil || score.Good != 2 || score.Coverage.Samples != 2 {
		t.Errorf("two predictions and two labels: %+v, %v", score, err)
	}
	_, err = ScoreClicks(Named("log", strings.NewReader(log)), ClickOptions{Truth: fewLabels{{true}}})
	if err == nil || !strings.Contains(err.Error(), "log: record 0 (qsl_idx 0): response has 2 predictions, the sample has 1 pairs") {
		t.Errorf("two predictions and one label: error %v", err)
	}
}

func TestAccuracyOfClicksIsInPercent(t *testing.T) {
	// Both are predicted to be clicked on, and one was.
	const log = `[{"seq_id":0,"qsl_idx":0,"data":"0000803F0000803F0000803F00000000"}]`
	score, err := ScoreClicks(Named("log", strings.NewReader(log)), ClickOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"AUC", "accuracy"} {
		if v, ok := score.Lookup(name); !ok || v.Value != 50 || v.Unit != "%" {
			t.Errorf("%s = %v%s, want 50%%", name, v.Value, v.Unit)
		}
	}
}
