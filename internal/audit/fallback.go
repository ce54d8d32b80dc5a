package audit

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
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/scratch"
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
	folder, err := scratch.Folder("audit")
	if err != nil {
		return err
	}
	defer folder.Remove()
	baseline := filepath.Join(folder.Path, mlperflog.AccuracyFile)
	if err := restrict(baseline, l); err != nil {
		return err
	}
	a, err := o.Scorer(ctx, baseline)
	if err != nil {
		return fmt.Errorf("scoring the accuracy run on the samples of the test: %w", err)
	}
	link, err := linked(folder.Path, l.responses)
	if err != nil {
		return err
	}
	b, err := o.Scorer(ctx, link)
	if err != nil {
		return fmt.Errorf("scoring the responses of the test: %w", err)
	}
	most, err := mostLoss(l, o)
	if err != nil {
		return err
	}
	v.judgeScores(a, b, most, c)
	return nil
}

// mostLoss is how many percent scores may differ (submission_checker, get_delta_perc).
func mostLoss(l Logs, o Options) (float64, error) {
	name, err := modelOf(l, o)
	usual := 1.0
	if strings.Contains(name, "99.9") {
		usual = 0.1
	}
	return cmp.Or(o.MaxLoss, usual), err
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

func (v *Verdict) judgeScores(baseline, run *report.Accuracy, most float64, c *responseComparison) {
	for name, score := range map[string]*report.Accuracy{scoreFile: run, baselineFile: baseline, complianceFile: run} {
		v.write(filepath.Join("accuracy", name), score.Lines...)
	}
	text := fmt.Sprintf("%s of the same %d samples: %v in the accuracy run, %v in the test; within %v %% passes", run.Metric, run.Samples, baseline.Value, run.Value, most)
	v.Facts = append(v.Facts, fmt.Sprintf("%d of %d responses differ from the accuracy run's, so scores are compared", c.wrong, c.found), text)
	if loss := math.Abs(1-baseline.Value/run.Value) * 100; !(loss <= most) {
		v.failResponses(c)
		v.fail(text)
	}
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
