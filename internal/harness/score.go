package harness

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config"
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
	// Rules, if not nil, are those whose number of samples the data set must have: that of a run is judged with the run.
	Rules *config.RuleSet
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
		_, target := t.numbers()
		if hint := otherReading(ctx, path, m, s, false, func(v accuracy.Value) bool { return v.Value > 0 && v.Value >= goodShare*target }); hint != "" {
			err = errors.Join(err, errors.New(hint))
		}
		return nil, err
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
	if a.Value < poorShare*a.Target && a.Target <= a.Reference { // higher is better
		better := func(v accuracy.Value) bool {
			return v.Name == a.Metric && v.Value >= goodShare*a.Target && (v.Value >= goodTimes*a.Value || v.Value >= a.Target)
		}
		if hint := otherReading(ctx, path, m, s, score.Right != nil, better); hint != "" {
			a.Warnings = append(a.Warnings, hint)
		}
	}
	if reference, _ := t.numbers(); t.Unchecked != 0 && t.None == "" && reference == t.Quality.Reference {
		verdict := "MET"
		if a.Value < t.Unchecked {
			verdict = "MISSED"
		}
		a.Warnings = append(a.Warnings, fmt.Sprintf("the target is that of the rules; the submission checker lists %s, which it does not compare: %s",
			units.Score(t.Unchecked), verdict))
	}
	for _, missed := range a.AlsoMissed {
		a.Warnings = append(a.Warnings, missed+": the target is not met")
	}
	if t.Rules != nil {
		a.Warnings = append(a.Warnings, report.Limitations(m.OtherSamples(t.Rules, score.Coverage.Samples)).Sentences()...)
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

// What a hint needs: a score that is poor as the log was read, and a good one otherwise.
const (
	goodShare = 0.5       // of the target, at least
	poorShare = 0.75      // of the target, at most
	goodTimes = 4         // the poor score, at least
	mostHints = 256 << 20 // bytes of a log that is rewritten in memory
)

// otherReading says as what a log has a good score; empty: as nothing. Types that the script takes come first; where none fits, the order
// of bytes, float64, and indices and labels that are off by one.
func otherReading(ctx context.Context, path string, m workload.Model, s workload.Scoring, labels bool, good func(accuracy.Value) bool) string {
	var types []accuracy.DType
	if i := slices.IndexFunc(m.ScoreOptions, func(o workload.Option) bool { return o.Name == typeOption }); i >= 0 {
		for _, name := range m.ScoreOptions[i].Choices {
			types = append(types, accuracy.DType(name))
		}
	}
	scored := func(log accuracy.Input, dtype accuracy.DType) string {
		other := s
		// ranks are of samples as they were read first
		other.Options, other.Best, other.Keep, other.Progress = maps.Clone(s.Options), nil, "", func(int, int) {}
		if dtype != "" {
			if other.Options == nil {
				other.Options = workload.Values{}
			}
			other.Options[typeOption] = string(dtype)
		}
		score, err := m.Score(ctx, log, other)
		if err != nil || len(score.Values) == 0 || !units.Finite(score.Values[0].Value) || !good(score.Values[0]) {
			return ""
		}
		v := score.Values[0]
		return fmt.Sprintf("its %s is %s", v.Name, units.With(units.Score(v.Value), v.Unit))
	}
	open := func(use func(log *os.File) string) string {
		f, err := fileio.Open(path)
		if err != nil || ctx.Err() != nil {
			return ""
		}
		defer f.Close()
		return use(f)
	}
	var found []string
	for _, dtype := range types {
		if text := open(func(log *os.File) string { return scored(log, dtype) }); text != "" {
			found = append(found, fmt.Sprintf("with %s %s %s", typeOption, dtype, text))
		}
	}
	if found != nil {
		return "the log looks like one of another type: " + strings.Join(found, ", ")
	}
	if info, err := os.Stat(path); err != nil || info.Size() > mostHints {
		return ""
	}
	for _, r := range accuracy.Readings(types, accuracy.DType(s.Options[typeOption]), labels) {
		text := open(func(log *os.File) string {
			rewritten, err := r.Rewrite(log)
			if err != nil {
				return ""
			}
			return scored(rewritten, r.DType)
		})
		if text != "" {
			return fmt.Sprintf("the log looks like one of %s: read as such, %s", r.Name, text)
		}
	}
	return ""
}

// numbers are the reference that counts, and the target.
func (t Target) numbers() (reference, target float64) {
	if t.Reference != 0 && t.Reference != t.Quality.Reference {
		return t.Reference, t.Required(t.Reference)
	}
	return t.Quality.Reference, cmp.Or(t.Target, t.Required(t.Quality.Reference))
}

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
	if !units.Finite(v.Value) {
		return nil, fmt.Errorf("the score %s is %v", v.Name, v.Value)
	}
	reference, target := t.numbers()
	met := v.Value >= target
	if v.LowerIsBetter {
		t.LowerIsBetter = true
		target = t.Required(reference)
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
	var endpoints *float64
	if other, ok := score.Lookup(v.Name + "_endpoints"); ok {
		endpoints = &other.Value
	}
	var sets []report.ScoredSet
	for _, set := range score.Sets {
		sets = append(sets, report.ScoredSet(set))
	}
	return &report.Accuracy{
		Sets: sets, Endpoints: endpoints, Top5: top5, Metric: v.Name, Value: v.Value, Unit: v.Unit,
		Reference: reference, Target: target, Met: met, NoTarget: t.None,
		Lines: score.Lines, Right: score.Right, Resampled: resampled, Classes: classes(score.Classes),
		Breakdown: (*report.Breakdown)(score.Breakdown),
	}, nil
}

// classes converts the scores of classes for the results: with six digits, without those that are not numbers.
func classes(c *accuracy.Classes) *report.Classes {
	if c == nil || len(c.List) == 0 {
		return nil
	}
	out := &report.Classes{Metric: c.Metric, Unit: c.Unit, Of: c.Of, Values: map[string]float64{}, Counts: map[string]int{}}
	for _, class := range c.List {
		if v, err := strconv.ParseFloat(strconv.FormatFloat(class.Value, 'g', 6, 64), 64); err == nil && units.Finite(v) {
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
			list = append(list, fmt.Sprintf("the score has no value %s, expected %v", b.Metric, b))
		case !b.Keeps(v.Value):
			list = append(list, fmt.Sprintf("%s is %s: must be %v", b.Metric, units.Score(v.Value), b))
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
