package harness

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/units"
)

// AccuracyFile has the output of the official accuracy scripts, in the folder of a run.
const AccuracyFile = "accuracy.txt"

// A Target is compared with an accuracy.
type Target struct {
	workload.Quality
	// Reference, if not 0, replaces the official reference: the score of the FP32 model
	// on the data that was used.
	Reference float64
	// None says why the score is not compared; empty: it is compared.
	None string
	// JudgeData, if not nil, compares the size of the data set with the official one.
	JudgeData func(samples int) report.Limitations
}

// TargetOf is the target that a test with this input has by rules.
func TargetOf(m workload.Model, rules string, in report.Input) Target {
	return Target{Quality: m.QualityIn(rules), Reference: in.Reference, None: in.NoTarget()}
}

// Score scores an accuracy log of a model as the official script does, and compares the
// score with a target.
func Score(ctx context.Context, path string, m workload.Model, s workload.Scoring, t Target) (*report.Accuracy, error) {
	score, err := scoreOf(ctx, path, m, s)
	if err != nil {
		return nil, errors.Join(err, ofAnotherType(ctx, path, m, s))
	}
	if t.None == "" && t.Reference == 0 && t.Quality.Reference == 0 && t.Target == 0 {
		t.None = "none is known"
	}
	a, err := t.compare(score)
	if err != nil {
		return nil, err
	}
	if a.AlsoMissed = t.missed(score); a.Metric != t.Metric && t.None == "" {
		a.AlsoMissed = append([]string{"the score has no value " + t.Metric}, a.AlsoMissed...)
	}
	a.Met = a.Met && len(a.AlsoMissed) == 0
	a.Warnings = slices.Clone(score.Warnings)
	if score.Right == nil { // a scorer of labels sees in the bytes of which type they are
		if hint := betterAs(ctx, path, m, s, a); hint != "" {
			a.Warnings = append(a.Warnings, hint)
		}
	}
	for _, missed := range a.AlsoMissed {
		a.Warnings = append(a.Warnings, missed+": the target is not met")
	}
	if t.JudgeData != nil {
		a.Warnings = append(a.Warnings, t.JudgeData(score.Coverage.Samples).Sentences()...)
	}
	a.Samples = uint64(score.Coverage.Scored)
	whole, of := score.Coverage.Samples, "data set"
	if s.Samples > 0 {
		whole, of = s.Samples, "run"
	}
	if a.Partial = score.Coverage.Scored < whole; score.Coverage.Scored == whole {
		return a, nil
	}
	a.Met = false
	a.Warnings = append(a.Warnings, fmt.Sprintf("incomplete log: it has %d different samples, the %s %d: the target is not met",
		score.Coverage.Scored, of, whole))
	return a, nil
}

func scoreOf(ctx context.Context, path string, m workload.Model, s workload.Scoring) (*accuracy.Score, error) {
	f, err := fileio.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the accuracy log: %w", err)
	}
	defer f.Close()
	score, err := m.Score(ctx, f, s)
	if err != nil {
		return nil, fmt.Errorf("scoring: %w", err)
	}
	return score, nil
}

// typeOption is the option of models whose logs may have numbers of several types.
const typeOption = "dtype"

// ofAnotherType says of a log that has no score as the type that was taken which other types it has one as; nil: none.
func ofAnotherType(ctx context.Context, path string, m workload.Model, s workload.Scoring) error {
	var found []string
	for dtype, v := range asOtherTypes(ctx, path, m, s) {
		found = append(found, typeHint(dtype, v))
	}
	if found == nil {
		return nil
	}
	return errors.New("the log is of another type: " + strings.Join(found, ", "))
}

// betterAs says of a log whose score is far below its target which other type the log has a good one as, which numbers that were
// read as another type do not have; empty: none.
func betterAs(ctx context.Context, path string, m workload.Model, s workload.Scoring, a *report.Accuracy) string {
	const good, poor, times = 0.5, 0.75, 4 // of the target; of the score
	if a.Value >= poor*a.Target || a.Target > a.Reference {
		return ""
	}
	var found []string
	for dtype, v := range asOtherTypes(ctx, path, m, s) {
		if v.Name == a.Metric && v.Value >= good*a.Target && (v.Value >= times*a.Value || v.Value >= a.Target) {
			found = append(found, typeHint(dtype, v))
		}
	}
	if found == nil {
		return ""
	}
	return "the log looks like one of another type: " + strings.Join(found, ", ")
}

func typeHint(dtype string, v accuracy.Value) string {
	return fmt.Sprintf("with %s %s its %s is %s", typeOption, dtype, v.Name, units.With(units.Score(v.Value), v.Unit))
}

// asOtherTypes are the first values of the scores that a log has as each type, in the order in which the model lists them.
func asOtherTypes(ctx context.Context, path string, m workload.Model, s workload.Scoring) iter.Seq2[string, accuracy.Value] {
	return func(yield func(string, accuracy.Value) bool) {
		i := slices.IndexFunc(m.ScoreOptions, func(o workload.Option) bool { return o.Name == typeOption })
		if i < 0 {
			return
		}
		for _, dtype := range m.ScoreOptions[i].Choices {
			other := s
			other.Options = maps.Clone(s.Options)
			if other.Options == nil {
				other.Options = workload.Values{}
			}
			other.Options[typeOption], other.Keep, other.Progress = dtype, "", func(int, int) {}
			if ctx.Err() != nil {
				return
			}
			if score, err := scoreOf(ctx, path, m, other); err == nil && len(score.Values) > 0 && finite(score.Values[0].Value) && !yield(dtype, score.Values[0]) {
				return
			}
		}
	}
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func (t Target) compare(score *accuracy.Score) (*report.Accuracy, error) {
	v, ok := score.Lookup(t.Metric)
	if t.Metric == "" && len(score.Values) > 0 {
		v, ok = score.Values[0], true
	}
	if !ok && len(score.Values) > 0 && slices.ContainsFunc(t.Also, func(b workload.Bound) bool { return b.Metric == score.Values[0].Name }) {
		v, ok, t.None = score.Values[0], true, cmp.Or(t.None, "the log has no sample with a "+t.Metric)
	}
	if !ok {
		return nil, fmt.Errorf("the score has no value %q", t.Metric)
	}
	if !finite(v.Value) {
		return nil, fmt.Errorf("the score %s is %v", v.Name, v.Value)
	}
	reference, target := t.Quality.Reference, cmp.Or(t.Target, t.Quality.Reference*t.Fraction)
	if t.Reference != 0 && t.Reference != reference {
		reference, target = t.Reference, t.Reference*t.Fraction
	}
	met := v.Value >= target
	if v.LowerIsBetter {
		target = reference * (2 - t.Fraction)
		met = v.Value <= target
	}
	met = met && (v.Name == t.Metric || t.Metric == "")
	var resampled []byte // float32 is enough for confidence intervals
	for _, value := range v.Resampled {
		resampled = binary.LittleEndian.AppendUint32(resampled, math.Float32bits(float32(value)))
	}
	var top5 *float64
	if v, ok := score.Lookup(accuracy.Top5); ok {
		top5 = &v.Value
	}
	return &report.Accuracy{
		Top5: top5, Metric: v.Name, Value: v.Value, Unit: v.Unit,
		Reference: reference, Target: target, Met: met, NoTarget: t.None,
		Lines: score.Lines, Right: score.Right, Resampled: resampled, Classes: classes(score.Classes),
	}, nil
}

// classes converts the scores of classes for the results: with six digits, without those that are not numbers.
func classes(c *accuracy.Classes) *report.Classes {
	if c == nil || len(c.List) == 0 {
		return nil
	}
	out := &report.Classes{Metric: c.Metric, Unit: c.Unit, Of: c.Of, Values: map[string]float64{}, Counts: map[string]int{}}
	for _, class := range c.List {
		if v, err := strconv.ParseFloat(strconv.FormatFloat(class.Value, 'g', 6, 64), 64); err == nil && finite(v) {
			out.Values[class.Name], out.Counts[class.Name] = v, class.Count
		}
	}
	return out
}

// missed lists the further values that miss their bounds. The bounds are those of the official model and data:
// with another reference only those of its metric count.
func (t Target) missed(score *accuracy.Score) (list []string) {
	if t.None != "" {
		return nil
	}
	other := t.Reference != 0 && t.Reference != t.Quality.Reference
	for _, b := range t.Also {
		if other && b.Metric != t.Metric {
			continue
		}
		if other {
			b.Least, b.Most = b.Least*t.Reference/t.Quality.Reference, b.Most*t.Reference/t.Quality.Reference
		}
		v, ok := score.Lookup(b.Metric)
		switch {
		case !ok:
			list = append(list, fmt.Sprintf("the score has no value %s, want %v", b.Metric, b))
		case !b.Keeps(v.Value):
			list = append(list, fmt.Sprintf("%s is %s, want %v", b.Metric, units.Score(v.Value), b))
		}
	}
	return list
}

// AccuracyText is the output of the official script.
func AccuracyText(a *report.Accuracy) (text string) {
	for _, line := range a.Lines {
		text += line + "\n"
	}
	return text
}

// WriteAccuracy writes the output of the official script, and returns the SHA-256 of the file.
func WriteAccuracy(dir string, a *report.Accuracy) (sum string, err error) {
	text := AccuracyText(a)
	if err := fileio.WriteFileIn(dir, AccuracyFile, []byte(text)); err != nil {
		return "", fmt.Errorf("writing the score: %s: %w", AccuracyFile, err)
	}
	digest := sha256.Sum256([]byte(text))
	return hex.EncodeToString(digest[:]), nil
}
