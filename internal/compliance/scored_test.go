package compliance

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestScoresInPerformanceModeHaveABound(t *testing.T) {
	run := fakeRun{scenario: "Offline", metric: 1, settings: settings01, responses: []string{"0 00"}}.write(t)
	for _, c := range []struct {
		name, command, pattern string
		least                  float64
		want                   bool
		fails                  string
	}{
		{"at gpt-oss-120b's bound", `echo "{'exact_match': 60.698}" && test -s {accuracy_log}`, "", 0, true, ""},
		{"below it", `echo "'exact_match': 60.6; log {accuracy_log}"`, "", 0, false, ""},
		{"another pattern and bound", `echo score=3 {accuracy_log}`, `score=(\d+)`, 3, true, ""},
		{"the first number counts", `printf "'exact_match': 70\n'exact_match': 10\n" {accuracy_log}`, "", 0, true, ""},
		{"no number", `echo nothing {accuracy_log}`, "", 0, false, "prints no"},
		{"a command that fails", `echo broken; false {accuracy_log}`, "", 0, false, "exit status 1\nbroken"},
		{"a command without the log", `echo 'exact_match': 70`, "", 0, false, "{accuracy_log} for the log"},
		{"a pattern without a group", `echo {accuracy_log}`, `\d`, 0, false, "score_pattern"},
		{"dots", `echo "'exact_match': 1.2.3" {accuracy_log}`, "", 0, false, `"1.2.3", which is no number`},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := Verify(t.Context(), Test07, Logs{Audit: run}, Options{Score: c.command, Pattern: c.pattern, LeastScore: c.least})
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("error %v, want %q", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if has := strings.Contains(v.texts[accuracyFile], "TEST PASS"); v.Passed != c.want || has != c.want {
				t.Errorf("passed = %v, TEST PASS %v, want %v: %v", v.Passed, has, c.want, v.Facts)
			}
		})
	}
}

func TestTheLogIsOneArgumentOfTheCommand(t *testing.T) {
	run := fakeRun{scenario: "Offline", metric: 1, settings: settings01, responses: []string{"0 00"}}.write(t)
	text, err := scoreBy(t.Context(), `printf '%s\n' {accuracy_log} end`, run+"/a $(touch broken) 'b")
	if want := run + "/a $(touch broken) 'b\nend\n"; err != nil || text != want {
		t.Errorf("the command prints %q, %v, want %q", text, err, want)
	}
}

// response writes numbers as DLRM's logs have them.
func response(values ...float32) string {
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return hex.EncodeToString(data)
}

func TestRecommendationsHaveTheEntropyOfTheAccuracyRun(t *testing.T) {
	// Time, query, predictions, labels, weights, candidates.
	known := []string{"0 " + response(1, 7, 0.8, 0.3, 1, 0, 1, 2, 2), "1 " + response(1, 8, 0.5, 1, 1, 1)}
	for _, c := range []struct {
		name      string
		tolerance float64
		run       []string
		want      bool
		says      string
	}{
		{"the same", 0, []string{"0 " + response(1, 7, 0.8, 0.3)}, true, "1 of 1 recommendations"},
		{"within 0.1 %", 0, []string{"0 " + response(1, 7, 0.8001, 0.3)}, true, "1 of 1"},
		{"more than 0.1 %", 0, []string{"0 " + response(1, 7, 0.8, 0.301)}, false, "time 1, query 7 (record 0"},
		{"a wider bound", 0.01, []string{"0 " + response(1, 7, 0.8, 0.301)}, true, "1 of 1"},
		{"a query that the accuracy run has not", 0, []string{"0 " + response(1, 7, 0.8, 0.3), "5 " + response(2, 7, 0.8)}, false, "time 2, query 7"},
		{"nothing", 0, nil, false, "0 match"},
	} {
		t.Run(c.name, func(t *testing.T) {
			acc := fakeRun{scenario: "Offline", mode: "AccuracyOnly", responses: known}
			run := fakeRun{scenario: "Offline", metric: 1, settings: settings01, responses: c.run}
			v, err := Verify(t.Context(), Test08, Logs{Accuracy: acc.write(t), Audit: run.write(t)}, Options{Tolerance: c.tolerance})
			if err != nil {
				t.Fatal(err)
			}
			all := strings.Join(append(v.Facts, v.Findings...), "\n")
			if has := strings.Contains(v.texts[accuracyFile], "\nTEST PASS\n"); v.Passed != c.want || has != c.want || !strings.Contains(all, c.says) {
				t.Errorf("passed = %v, TEST PASS %v, want %v; %q should say %q", v.Passed, has, c.want, all, c.says)
			}
		})
	}
}

func TestEntropyIsThatOfTheReferencesScript(t *testing.T) {
	// numpy in the reference's compute_ne: predictions 0.8 and 0.3, labels 1 and 0, weights 1
	// and 2; and a guess of the mean.
	for _, c := range []struct {
		predictions, labels, weights []float32
		want                         float64
	}{
		{[]float32{0.8, 0.3}, []float32{1, 0}, []float32{1, 2}, (-math.Log(0.8) - 2*math.Log(0.7)) / (3 * (-math.Log(1.0/3)/3 - 2*math.Log(2.0/3)/3))},
		{[]float32{0.5, 0.5}, []float32{1, 0}, []float32{1, 1}, 1},
		{[]float32{0.5}, []float32{1}, []float32{0}, 0},
	} {
		if got := entropy(c.predictions, c.labels, c.weights); math.Abs(got-c.want) > 1e-5 {
			t.Errorf("entropy(%v, %v, %v) = %v, want %v", c.predictions, c.labels, c.weights, got, c.want)
		}
	}
}

func FuzzRecommendation(f *testing.F) {
	f.Add([]byte{0, 0, 128, 63, 0, 0, 0, 64}, false)
	f.Add([]byte(response(1, 7, 0.8, 1, 1, 1)), true)
	f.Fuzz(func(t *testing.T, data []byte, labelled bool) {
		r, err := parseRecommendation(data, labelled)
		if err == nil && labelled && (len(r.labels) != len(r.predictions) || len(r.weights) != len(r.labels)) {
			t.Error(fmt.Sprint(len(r.predictions), len(r.labels), len(r.weights)))
		}
	})
}

func TestBoundsThatAreNoNumbersAreRefused(t *testing.T) {
	nan := math.NaN()
	for name, o := range map[string]Options{
		"tolerance": {Tolerance: nan}, "min_tokens": {LeastTokens: nan}, "max_tokens": {MostTokens: math.Inf(1)},
		"accuracy_threshold": {LeastScore: -1}, "score_pattern": {Pattern: "no group"},
	} {
		var wrong *userinput.Error
		if _, err := Verify(t.Context(), Test08, Logs{}, o); !errors.As(err, &wrong) || wrong.Field != name {
			t.Errorf("%+v: error %v, want one about %s", o, err, name)
		}
	}
	if _, err := Verify(t.Context(), Test08, Logs{}, Options{Tolerance: 1}); err == nil {
		t.Error("all of the entropy may differ")
	}
}

// The reference's script compares with a tolerance that NaN is never above. That an answer
// stopped to be a number in performance mode is a difference here.
func TestEntropiesThatAreNoNumbersAreAlikeInBothRunsOnly(t *testing.T) {
	nan, c := math.NaN(), entropyComparison{tolerance: 0.001}
	for _, pair := range []struct {
		a, b float64
		want bool
	}{
		{nan, nan, true}, {0.5, nan, false}, {nan, 0.5, false}, {0, nan, false}, {0, 0, true}, {0, 0.1, false}, {0.1, 0, false}, {1, 1.001, true}, {1, 1.0011, false}, {-1, -1.0005, true},
	} {
		if got := c.alike(pair.a, pair.b); got != pair.want {
			t.Errorf("alike(%v, %v) = %v, want %v", pair.a, pair.b, got, pair.want)
		}
	}
}
