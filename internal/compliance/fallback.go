package compliance

import (
	"bufio"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
)

// A Scorer scores an accuracy log.
type Scorer func(ctx context.Context, log string) (*report.Accuracy, error)

// Files of scores in a test's accuracy folder.
const (
	scoreFile      = "accuracy.txt"
	baselineFile   = "baseline_accuracy.txt"
	complianceFile = "compliance_accuracy.txt"
)

// fallback judges a system whose responses vary from run to run: the score of the test's
// responses may differ little from that of the accuracy run on the same samples.
func (v *Verdict) fallback(ctx context.Context, l Logs, o Options, c *responseComparison) error {
	folder, err := os.MkdirTemp("", "mlperf-audit-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	baseline := filepath.Join(folder, mlperflog.AccuracyFile)
	if err := restrict(baseline, l); err != nil {
		return err
	}
	a, err := o.Scorer(ctx, baseline)
	if err != nil {
		return fmt.Errorf("scoring the accuracy run on the samples of the test: %w", err)
	}
	link, err := linked(folder, l.responses)
	if err != nil {
		return err
	}
	b, err := o.Scorer(ctx, link)
	if err != nil {
		return fmt.Errorf("scoring the responses of the test: %w", err)
	}
	pairs, err := scorePairs(l, o, a, b)
	if err != nil {
		return err
	}
	v.judgeScores(a, b, pairs, c)
	return nil
}

// A scorePair is a metric of the same samples in the accuracy run and in the test.
type scorePair struct {
	metric        string
	baseline, run float64
	most          float64 // percent by which they may differ
}

// scorePairs are the metrics that the official checker compares: all that the round has of the
// model, as they are printed; of a model that it does not know, the one of the score.
func scorePairs(l Logs, o Options, baseline, run *report.Accuracy) ([]scorePair, error) {
	name, err := modelOf(l, o)
	if err != nil {
		return nil, err
	}
	round, err := rounds.Find(o.Rules)
	if err != nil { // an older round, which had the same
		round, err = rounds.Find(rounds.Versions()[0])
	}
	if err != nil {
		return nil, err
	}
	model := cmp.Or(round.Benchmark(namesOf(name)...), name)
	var pairs []scorePair
	printed := 0
	for _, m := range round.Model(model).AccuracyOf("") {
		p := scorePair{m.Name, lastOf(m.Name, baseline.Lines), lastOf(m.Name, run.Lines), round.Delta(model, m.Name)}
		if p.baseline != 0 || p.run != 0 {
			printed++
		}
		pairs = append(pairs, p)
	}
	if printed == 0 {
		pairs = []scorePair{{run.Metric, baseline.Value, run.Value, round.Delta(model, "")}}
	}
	return pairs, nil
}

// lastOf is the last value of a metric in what a script prints; 0: there is none.
func lastOf(metric string, lines []string) (value float64) {
	for _, line := range lines {
		if text, ok := rounds.Match(metric, line); ok {
			value, _ = strconv.ParseFloat(text, 64) // what is no number is none
		}
	}
	return value
}

// linked puts a link to a log into a folder of its own: scores are kept beside logs, and
// nothing of the user's is to change.
func linked(dir, log string) (string, error) {
	path, err := filepath.Abs(log)
	if err != nil {
		return "", err
	}
	link := filepath.Join(dir, "test", mlperflog.AccuracyFile)
	if err := os.Mkdir(filepath.Dir(link), 0o755); err != nil {
		return "", err
	}
	return link, os.Symlink(path, link)
}

func (v *Verdict) judgeScores(baseline, run *report.Accuracy, pairs []scorePair, c *responseComparison) {
	for name, score := range map[string]*report.Accuracy{scoreFile: run, baselineFile: baseline, complianceFile: run} {
		v.write(filepath.Join("accuracy", name), score.Lines...)
	}
	v.Facts = append(v.Facts, fmt.Sprintf("%d of %d responses differ from the accuracy run's, so scores are compared", c.wrong, c.found))
	for _, p := range pairs {
		text := fmt.Sprintf("%s of the same %d samples: %v in the accuracy run, %v in the test; within %v %% passes", p.metric, run.Samples, p.baseline, p.run, p.most)
		v.Facts = append(v.Facts, text)
		if !p.alike() {
			if v.Passed {
				v.failResponses(c)
			}
			v.fail(text)
		}
	}
}

// alike reports whether a metric differs by no more than it may; one that a log has no number of
// does.
func (p scorePair) alike() bool {
	return p.baseline != 0 && math.Abs(1-p.baseline/p.run)*100 <= p.most
}

// restrict writes the accuracy run's log of the samples that the test has.
func restrict(path string, l Logs) error {
	wanted := map[uint64]bool{}
	if err := eachRecord(l.responses, func(r accuracy.Record) error { wanted[r.QSLIndex] = true; return nil }); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	separator := "[\n"
	err = eachRecord(l.accuracyLog(), func(r accuracy.Record) error {
		if !wanted[r.QSLIndex] {
			return nil
		}
		_, err := fmt.Fprintf(w, "%s{ \"seq_id\" : %d, \"qsl_idx\" : %d, \"data\" : \"%s\" }", separator, r.SeqID, r.QSLIndex, strings.ToUpper(hex.EncodeToString(r.Data)))
		separator = ",\n"
		return err
	})
	_, end := w.WriteString("\n]\n")
	return errors.Join(err, end, w.Flush(), f.Close())
}
