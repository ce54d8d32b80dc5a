package harness

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestTargetOfAReference(t *testing.T) {
	tests := []struct {
		name      string
		value     float64
		lower     bool
		reference float64 // instead of the official 76.46
		target    float64
		met       bool
	}{
		{"exactly", 76.46 * 0.99, false, 0, 76.46 * 0.99, true},
		{"just below", 75.6953, false, 0, 76.46 * 0.99, false},
		{"above", 99, false, 0, 76.46 * 0.99, true},
		{"another reference", 83, false, 83.5, 83.5 * 0.99, true},
		{"below another reference", 82, false, 83.5, 83.5 * 0.99, false},
		{"an error rate exactly", 7.5 / 0.99, true, 7.5, 7.5 / 0.99, true},
		{"an error rate just above", 7.576, true, 7.5, 7.5 / 0.99, false},
		{"an error rate below", 7, true, 7.5, 7.5 / 0.99, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			target := Target{Quality: workload.Quality{Metric: "m", Reference: 76.46, Fraction: 0.99}, Reference: test.reference}
			got, err := target.compare(&accuracy.Score{
				Values: []accuracy.Value{{Name: "other", Value: 1}, {Name: "m", Value: test.value, Unit: "%", LowerIsBetter: test.lower}},
				Lines:  []string{"m=1"},
			})
			testenv.Must(t, err)
			reference := test.reference
			if reference == 0 {
				reference = 76.46
			}
			want := &report.Accuracy{Metric: "m", Value: test.value, Unit: "%", Reference: reference, Target: test.target, Met: test.met, Lines: []string{"m=1"}}
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestScoreWithoutAValue(t *testing.T) {
	target := Target{Quality: workload.Quality{Metric: "m", Reference: 1, Fraction: 0.99}}
	for name, test := range map[string]struct {
		value accuracy.Value
		want  string
	}{
		"another metric": {accuracy.Value{Name: "n", Value: 1}, `score … "m"`},
		"not a number":   {accuracy.Value{Name: "m", Value: math.NaN()}, "m … NaN"},
		"infinite":       {accuracy.Value{Name: "m", Value: math.Inf(-1)}, "m … -Inf"},
	} {
		if got, err := target.compare(&accuracy.Score{Values: []accuracy.Value{test.value}}); !testenv.Names(err, test.want) {
			t.Errorf("%s: %v, %v; want the error %q", name, got, err, test.want)
		}
	}
}

func TestIncompleteLogIsNotScored(t *testing.T) {
	const record = `{ "seq_id" : 0, "qsl_idx" : 1, "data" : "0000803F" }`
	tests := []struct{ name, log, want string }{
		{"whole", "[\n" + record + "\n]\n", ""},
		{"cut off in a record", "[\n" + record[:40], "log.json"},
		{"cut off after a record", "[\n" + record + ",\n", "log.json"},
		{"empty", "[\n]\n", "log.json: the log has no record"},
		{"nothing", "", "log.json"},
		{"a page", "<html>", "log.json"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log.json")
			write(t, path, test.log)
			n := newNumbers(10)
			a, err := Score(t.Context(), path, n.model(), workload.Scoring{}, Target{Quality: n.model().Quality})
			if test.want == "" && (err != nil || a.Value != 100) || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), "scoring: ") || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("score %+v, error %v, want %q", a, err, test.want)
			}
		})
	}
	n := newNumbers(10)
	if _, err := Score(t.Context(), "nowhere.json", n.model(), workload.Scoring{}, Target{}); err == nil || !strings.HasPrefix(err.Error(), "opening the accuracy log: ") {
		t.Errorf("error of no log: %v", err)
	}
	path := filepath.Join(t.TempDir(), "log.json")
	write(t, path, "[\n"+record+"\n]\n")
	if _, err := Score(t.Context(), path, n.model(), workload.Scoring{}, Target{Quality: workload.Quality{Metric: "mAP"}}); err == nil {
		t.Error("compared with a metric that the score lacks")
	}
}

// A part of the data is compared with nothing: neither with the reference nor with further bounds.
func TestScoreWithoutATarget(t *testing.T) {
	q := workload.Quality{Metric: "m", Reference: 50, Fraction: 0.99, Also: []workload.Bound{{Metric: "other", Least: 9}}}
	score := &accuracy.Score{Values: []accuracy.Value{{Name: "m", Value: 1}, {Name: "other", Value: 1}}}
	target := Target{Quality: q, None: "the 4 samples are a part of the data set"}
	a, err := target.compare(score)
	if err != nil || a.NoTarget != target.None || a.Below() {
		t.Errorf("compared: %+v, %v, want the reason and nothing below", a, err)
	}
	if missed := target.missed(score); missed != nil {
		t.Errorf("missed: %q, want none", missed)
	}
	target.None = ""
	if a, err = target.compare(score); err != nil || !a.Below() || len(target.missed(score)) != 1 {
		t.Errorf("of the whole: %+v, %v, missed %q, want it below and one bound missed", a, err, target.missed(score))
	}
}

// A log that cannot be scored, or whose scoring is interrupted, leaves a run that says so, on this machine and with servers.
func TestRunWithoutAScore(t *testing.T) {
	t.Parallel()
	remote := func(t *testing.T) Config {
		cfg := tokenConfig(t, tokenserver.New(knownServer), loadgen.Offline, nil)
		cfg.Settings.Mode = loadgen.AccuracyOnly
		return cfg
	}
	local := func(mode loadgen.Mode) func(*testing.T) Config {
		return func(t *testing.T) Config { return configOf(t, newNumbers(20), loadgen.Offline, mode) }
	}
	for name, make := range map[string]func(*testing.T) Config{"local": local(loadgen.AccuracyOnly), "local submission": local(loadgen.SubmissionRun), "remote": remote} {
		for _, interrupted := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				cfg, want := make(t), errors.New("no detection")
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				cfg.Model.Score = func(ctx context.Context, _ accuracy.Input, _ workload.Scoring) (*accuracy.Score, error) {
					if interrupted {
						cancel(errStopped)
						return nil, context.Cause(ctx)
					}
					return nil, want
				}
				if interrupted {
					want = errStopped
				}
				if _, err := measure(ctx, cfg); !errors.Is(err, want) {
					t.Errorf("%s: error %v, want %v", name, err, want)
				}
				r, err := report.Read(cfg.OutputDir)
				if err != nil || r.Verdict() != report.WithoutScore || r.NotScored != "scoring: "+want.Error() {
					t.Errorf("%s: %+v, %v, want the verdict %s and the warning", name, r, err, report.WithoutScore)
				}
			})
		}
	}
}

// A log of Mixtral without a sample of OpenOrca has no rouge1: what it has is shown, and misses.
func TestScoreWithoutItsMetric(t *testing.T) {
	q := workload.Quality{Metric: "rouge1", Reference: 50, Fraction: 0.99, Also: []workload.Bound{{Metric: "gsm8k", Least: 9}, {Metric: "rouge2", Least: 9}}}
	target := Target{Quality: q}
	a, err := target.compare(&accuracy.Score{Values: []accuracy.Value{{Name: "gsm8k", Value: 70}}})
	if err != nil || a.Metric != "gsm8k" || a.Value != 70 || a.Met || a.NoTarget != "the log has no sample with a rouge1" {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestFurtherBounds and data: with another reference they do not count.
func TestFurtherBounds(t *testing.T) {
	q := workload.Quality{Metric: "m", Reference: 50, Fraction: 0.99, Also: []workload.Bound{
		{Metric: "other", Least: 9}, {Metric: "length", Least: 90, Most: 110}, {Metric: "size", Most: 100},
	}}
	for _, c := range []struct {
		name      string
		values    map[string]float64
		reference float64
		want      []string
	}{
		{"all are kept", map[string]float64{"other": 9, "length": 110, "size": 100}, 0, nil},
		{"the official reference by its number", map[string]float64{"other": 8.9, "length": 100, "size": 1}, 50, []string{"other is 8.9: must be other ≥ 9"}},
		{"too long and too large", map[string]float64{"other": 10, "length": 111, "size": 101}, 0,
			[]string{"length is 111: must be 90 ≤ length ≤ 110", "size is 101: must be size ≤ 100"}},
		{"one is missing", map[string]float64{"other": 10, "size": 1}, 0, []string{"the score has no value length, expected 90 ≤ length ≤ 110"}},
		{"another reference", map[string]float64{}, 40, nil},
	} {
		score := &accuracy.Score{}
		for name, v := range c.values {
			score.Values = append(score.Values, accuracy.Value{Name: name, Value: v})
		}
		if diff := cmp.Diff(c.want, Target{Quality: q, Reference: c.reference}.missed(score)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// A log that cannot be of the type that was taken is named, with the scores of the types that it can be of.
func TestLogsOfOtherTypes(t *testing.T) {
	record := func(values ...any) string { // numbers of one type
		var b bytes.Buffer
		for _, v := range values {
			testenv.Must(t, binary.Write(&b, binary.LittleEndian, v))
		}
		return fmt.Sprintf(`[{"seq_id":0,"qsl_idx":0,"data":"%X"}]`, b.Bytes())
	}
	speech := func(log accuracy.Input, d accuracy.DType) (*accuracy.Score, error) {
		return accuracy.ScoreSpeech(log, []string{"ab"}, d)
	}
	clicks := func(log accuracy.Input, d accuracy.DType) (*accuracy.Score, error) {
		return accuracy.ScoreClicks(log, 1, accuracy.ClickOptions{DType: d})
	}
	for name, c := range map[string]struct {
		score   func(accuracy.Input, accuracy.DType) (*accuracy.Score, error)
		choices string
		log     string
		want    string // the end of the error
	}{
		"speech of int16":      {speech, "int64 int32 int16 int8", record(int16(1), int16(2)), "the log looks like one of another type: with dtype int16 its accuracy is 100 %"},
		"speech of int8":       {speech, "int64 int32 int16 int8", record(int8(1), int8(2)), "the log looks like one of another type: with dtype int8 its accuracy is 100 %"},
		"speech of int32":      {speech, "int64 int32 int16 int8", record(int32(1), int32(28)), "label 0 is 1.20259084289e+11: must be 0 to 27"},
		"speech of no labels":  {speech, "int64 int32 int16 int8", record(int64(99), int64(2)), "label 0 is 99: must be 0 to 27"},
		"clicks of int32":      {clicks, "float32 int32 int64", record(int32(1), int32(1), int32(0), int32(0)), "the log looks like one of another type: with dtype int32 its AUC is 100 %"},
		"clicks of int64":      {clicks, "float32 int32 int64", record(int64(1), int64(1), int64(0), int64(0)), "with dtype int64 its AUC is 100 %"},
		"clicks of float64":    {clicks, "float32 int32 int64", record(1.0, 1.0, 0.0, 0.0), "the log looks like one of float64: read as such, its AUC is 100 %"},
		"clicks of one number": {clicks, "float32 int32 int64", record(float32(1)), "response has 1 numbers, expected a prediction and a label of each pair"},
		"no record":            {clicks, "float32 int32 int64", "[]", ""},
		"no JSON":              {clicks, "float32 int32 int64", "{", ""},
	} {
		path := filepath.Join(t.TempDir(), "log.json")
		testenv.Must(t, os.WriteFile(path, []byte(c.log), 0o600))
		m := workload.Model{
			ScoreOptions: []workload.Option{{Name: "dtype", Choices: strings.Fields(c.choices)}},
			Score: func(_ context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
				return c.score(log, accuracy.DType(s.Options["dtype"]))
			},
		}
		_, err := Score(t.Context(), path, m, workload.Scoring{}, Target{})
		if err == nil || !strings.HasSuffix(err.Error(), c.want) || strings.Contains(err.Error(), "looks like") != strings.Contains(c.want, " its ") {
			t.Errorf("%s: error %v, want %q at its end", name, err, c.want)
		}
	}
}

// A log of labels gets one hint: what it has instead of what was read, and the accuracy then.
func TestOtherReadings(t *testing.T) {
	const samples = 40
	little, big := binary.LittleEndian, binary.BigEndian
	truth := make([]accuracy.LabeledImage, samples)
	for i := range truth {
		truth[i].Label = int64(17 + 23*i)
	}
	write := func(first int, answer func(label int64) []any, order binary.ByteOrder) string { // one of four is wrong
		var list []string
		for i, image := range truth {
			label := image.Label
			if i%4 == 3 {
				label = 5
			}
			var b bytes.Buffer
			for _, v := range answer(label) {
				testenv.Must(t, binary.Write(&b, order, v))
			}
			list = append(list, fmt.Sprintf(`{"seq_id":%d,"qsl_idx":%d,"data":"%X"}`, i, i+first, b.Bytes()))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	one := func(convert func(label int64) any) func(int64) []any {
		return func(label int64) []any { return []any{convert(label)} }
	}
	float := one(func(label int64) any { return float32(label) })
	double := one(func(label int64) any { return float64(label) })
	short, long := one(func(label int64) any { return int32(label) }), one(func(label int64) any { return label })
	shifted := func(by int64) func(int64) []any { return func(label int64) []any { return float(label + by) } }
	for name, c := range map[string]struct {
		log   string
		taken string
		want  string // the hint's beginning; "": none
	}{
		"float32":                     {write(0, float, little), "", ""},
		"float32 named":               {write(0, float, little), "float32", ""},
		"int32 named":                 {write(0, short, little), "int32", ""},
		"int64 as int32":              {write(0, long, little), "int32", ""}, // the same labels
		"int32":                       {write(0, short, little), "", "another type: with dtype int32 its"},
		"int64":                       {write(0, long, little), "", "another type: with dtype int32 its accuracy is 75 %, with dtype int64 its"},
		"float32 as int32":            {write(0, float, little), "int32", "another type: with dtype float32 its"},
		"two float32 as int64":        {write(0, func(label int64) []any { return []any{float32(label), float32(1)} }, little), "int64", "another type: with dtype float32 its"},
		"int32 as int64":              {write(0, short, little), "int64", "another type: with dtype int32 its"}, // an error: 4 bytes
		"float64":                     {write(0, double, little), "", "float64: read as such, its"},
		"float64 as int64":            {write(0, double, little), "int64", "float64: read as such, its"},
		"float64 as int32":            {write(0, double, little), "int32", "float64: read as such, its"},
		"big-endian float32":          {write(0, float, big), "", "big-endian float32: read as such, its"},
		"big-endian float32 as int32": {write(0, float, big), "int32", "big-endian float32: read as such, its"},
		"big-endian int32":            {write(0, short, big), "", "big-endian int32: read as such, its"},
		"big-endian int32 named":      {write(0, short, big), "int32", "big-endian int32: read as such, its"},
		"big-endian int64":            {write(0, long, big), "", "big-endian int64: read as such, its"},
		"big-endian int64 named":      {write(0, long, big), "int64", "big-endian int64: read as such, its"},
		"samples from 1 on":           {write(1, float, little), "", "indices of samples that are one too high: read as such, its"}, // an error: the last one
		"samples from 1 on, int32":    {write(1, short, little), "int32", "indices of samples that are one too high: read as such, its"},
		"labels too high":             {write(0, shifted(1), little), "", "labels that are one too high: read as such, its"},
		"labels too low":              {write(0, shifted(-1), little), "", "labels that are one too low: read as such, its"},
		"labels that are none":        {write(0, shifted(500), little), "", ""},
		"zeros":                       {write(0, func(int64) []any { return []any{float32(0)} }, little), "", ""},
		"probabilities":               {write(0, func(label int64) []any { return []any{float32(label) / 1000} }, little), "", ""},
		"no label at all":             {write(0, func(int64) []any { return nil }, little), "", ""},
		"bytes":                       {write(0, func(label int64) []any { return []any{uint8(label)} }, little), "", ""},
	} {
		path := filepath.Join(t.TempDir(), "log.json")
		testenv.Must(t, os.WriteFile(path, []byte(c.log), 0o600))
		m := workload.Model{
			ScoreOptions: []workload.Option{{Name: "dtype", Choices: []string{"float32", "int32", "int64"}}},
			Score: func(_ context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
				return accuracy.ScoreImageNet(log, truth, accuracy.ImageNetOptions{DType: accuracy.DType(s.Options["dtype"])})
			},
		}
		a, err := Score(t.Context(), path, m, workload.Scoring{Options: workload.Values{"dtype": c.taken}}, Target{Quality: workload.Quality{Metric: "accuracy", Reference: 76, Fraction: 0.99}})
		said := fmt.Sprint(err)
		if err == nil {
			said = strings.Join(a.Warnings, "\n")
		}
		if strings.Contains(said, "looks like") != (c.want != "") || !strings.Contains(said, c.want) || c.want != "" && !strings.HasSuffix(said, " is 75 %") {
			t.Errorf("%s: %q, want the hint %q", name, said, c.want)
		}
	}
}

// A log that has a score as the type that was taken, and a far better one as another, gets a hint; a bad log of the right type does not.
func TestPoorScoresOfOtherTypes(t *testing.T) {
	const windows, places = 4, 8
	spans := func(log accuracy.Input, d accuracy.DType) (*accuracy.Score, error) {
		right := 0
		c, err := accuracy.ReadSpanLogits(log, windows, places, accuracy.SpanOptions{DType: d}, func(window int, starts, ends []float64) {
			best := 0
			for i, v := range starts {
				if v > starts[best] {
					best = i
				}
			}
			if best == window+1 {
				right++
			}
		})
		return &accuracy.Score{Coverage: c, Values: []accuracy.Value{{Name: "f1", Value: 100 * float64(right) / windows, Unit: "%"}}}, err
	}
	log := func(record func(window, place int) any, places int) string {
		var list []string
		for window := range windows {
			var b bytes.Buffer
			for place := range places {
				testenv.Must(t, binary.Write(&b, binary.LittleEndian, record(window, place)))
			}
			list = append(list, fmt.Sprintf(`{"seq_id":%d,"qsl_idx":%[1]d,"data":"%X"}`, window, b.Bytes()))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	peak := func(window, place int) int { // a start and an end for each place
		if place == 2*(window+1) {
			return 9
		}
		return -1 - place
	}
	const types = "float32 int8 int16 int32 int64 float16 float64"
	for name, c := range map[string]struct {
		log   string
		taken string
		want  string
	}{
		"logits of float16":               {log(func(w, p int) any { return [...]uint16{0xbc00, 0x4900}[min(1, max(0, peak(w, p)))] }, 2*places), "float32", "with dtype int16 its f1 is 100 %, with dtype float16 its f1 is 100 %"},
		"logits of int8":                  {log(func(w, p int) any { return int8(peak(w, p)) }, 2*places), "int32", "with dtype int8 its f1 is 100 %"},
		"logits of float32, rightly read": {log(func(w, p int) any { return float32(peak(w, p)) }, 2*places), "float32", ""},
		"poor logits of float32":          {log(func(w, p int) any { return float32(peak(w+1, p)) }, 2*places), "float32", ""},
	} {
		path := filepath.Join(t.TempDir(), "log.json")
		testenv.Must(t, os.WriteFile(path, []byte(c.log), 0o600))
		m := workload.Model{
			ScoreOptions: []workload.Option{{Name: "dtype", Choices: strings.Fields(types)}},
			Score: func(_ context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
				return spans(log, accuracy.DType(s.Options["dtype"]))
			},
		}
		a, err := Score(t.Context(), path, m, workload.Scoring{Options: workload.Values{"dtype": c.taken}}, Target{Quality: workload.Quality{Metric: "f1", Reference: 90, Fraction: 0.99}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if hint := strings.Join(a.Warnings, "; "); strings.Contains(hint, "another type") != (c.want != "") || !strings.Contains(hint, c.want) {
			t.Errorf("%s: score %v, warnings %q, want %q", name, a.Value, a.Warnings, c.want)
		}
	}
}
