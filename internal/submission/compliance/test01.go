package compliance

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A response is what TEST01 keeps of one.
type response struct {
	first uint64 // number
	empty bool
	hash  uint64 // of the whole response
	again bool   // the test's run gave it, not the accuracy run
}

// A responseComparison compares responses by their first number, as compliance/TEST01/verify_accuracy.py does.
type responseComparison struct {
	dtype string
	seed  maphash.Seed
	known map[uint64]response // of the accuracy run, by sample

	accuracy, duplicates, differing    int // entries of the accuracy log
	performance, found, wrong, missing int // entries of the performance log
	later                              int // responses that differ behind the first number
	alike                              int // of those that are wrong, that have the same bytes: they are no number
	examples                           []string
}

const mostExamples = 5 // samples that a finding names

// dtypes are the sizes of numbers in responses.
var dtypes = map[string]int{"byte": 1, "float32": 4, "int32": 4, "int64": 8}

// compareResponses compares the responses of a test with those of the accuracy run.
func (v *verification) compareResponses() (*responseComparison, error) {
	c := &responseComparison{dtype: cmp.Or(v.DType, "byte"), seed: maphash.MakeSeed(), known: map[uint64]response{}}
	if dtypes[c.dtype] == 0 {
		return nil, userinput.Invalid("dtype", c.dtype, "byte, float32, int32 or int64")
	}
	if err := eachRecord(v.accuracyLog, func(r accuracy.Record) error {
		one, err := c.parse(r.Data)
		if err != nil {
			return err
		}
		c.accuracy++
		if before, has := c.known[r.QSLIndex]; !has {
			c.known[r.QSLIndex] = one
		} else if c.duplicates++; before.hash != one.hash { // the first one counts
			c.differing++
		}
		return nil
	}); err != nil {
		return nil, err
	}
	if c.accuracy == 0 {
		return nil, fmt.Errorf("%s has no responses, expected those of the accuracy run", v.accuracyLog)
	}
	return c, eachRecord(v.responses, func(r accuracy.Record) error {
		one, err := c.parse(r.Data)
		if err != nil {
			return err
		}
		c.performance++
		before, has := c.known[r.QSLIndex]
		one.again = true
		c.known[r.QSLIndex] = one // a second response of the sample is compared with this one
		if !has {
			c.missing++
			return nil
		}
		switch c.found++; {
		case !c.same(before, one):
			if c.wrong++; before.hash == one.hash {
				c.alike++
			}
			if len(c.examples) < mostExamples {
				who := "the accuracy run answered"
				if before.again {
					who = "this run answered before"
				}
				c.examples = append(c.examples, fmt.Sprintf("sample %d (record %d of %s): %s %s, this run %s", r.QSLIndex, r.Number, v.responses,
					who, c.show(before), c.show(one)))
			}
		case before.hash != one.hash:
			c.later++
		}
		return nil
	})
}

func (c *responseComparison) parse(data []byte) (response, error) {
	one := response{empty: len(data) == 0, hash: maphash.Bytes(c.seed, data)}
	if size := dtypes[c.dtype]; len(data)%size != 0 {
		return one, fmt.Errorf("the response has %d bytes, which are not numbers of type %s: expected %s", len(data), c.dtype, fitting(len(data)))
	} else if !one.empty {
		var first [8]byte
		copy(first[:], data[:size])
		one.first = binary.LittleEndian.Uint64(first[:])
	}
	return one, nil
}

// fitting are the types whose numbers may fill some bytes.
func fitting(bytes int) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(dtypes)) {
		if bytes%dtypes[name] == 0 {
			list = append(list, "dtype "+name)
		}
	}
	return userinput.Or(list)
}

// same reports whether two responses count as the same.
func (c *responseComparison) same(a, b response) bool {
	if c.dtype == "float32" && !a.empty && !b.empty {
		return math.Float32frombits(uint32(a.first)) == math.Float32frombits(uint32(b.first))
	}
	return a.empty == b.empty && a.first == b.first
}

// show writes the first number of a response.
func (c *responseComparison) show(a response) string {
	switch {
	case a.empty:
		return "nothing"
	case c.dtype == "float32":
		return fmt.Sprint(math.Float32frombits(uint32(a.first)))
	case c.dtype == "int32":
		return fmt.Sprint(int32(a.first))
	}
	return fmt.Sprint(int64(a.first))
}

// verify01 compares responses, then performance.
func (v *verification) verify01(ctx context.Context) error {
	ref, run, err := v.bothRuns()
	if err != nil {
		return err
	}
	if err := v.checkAccuracyRun(ref); err != nil {
		return err
	}
	c, err := v.compareResponses()
	if err != nil {
		return err
	}
	passes := c.wrong == 0 && c.found > 0
	v.write(accuracyFile, v.Test+": responses", // as the reference's script writes them
		fmt.Sprint("num_acc_log_entries = ", c.accuracy),
		fmt.Sprint("num_acc_log_duplicate_keys = ", c.duplicates),
		fmt.Sprint("num_acc_log_data_mismatch = ", c.differing),
		fmt.Sprint("num_perf_log_entries = ", c.performance),
		fmt.Sprint("num_perf_log_qsl_idx_match = ", c.found),
		fmt.Sprint("num_perf_log_data_mismatch = ", c.wrong),
		fmt.Sprint("num_missing_qsl_idxs = ", c.missing),
		verdictLine(passes), "")
	v.Facts = append(v.Facts, fmt.Sprintf("%d of %d responses are those of the accuracy run", c.found-c.wrong, c.performance))
	if c.later > 0 {
		v.Notes = append(v.Notes,
			fmt.Sprintf("%d responses differ from the accuracy run's behind their first number, where the reference does not look", c.later))
	}
	if c.missing > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("%d responses are of samples that the accuracy log does not have, which the reference accepts", c.missing))
	}
	switch {
	case passes:
	case v.Scorer != nil && c.found > 0:
		err = v.compareScores(ctx, c)
	default:
		v.failResponses(c)
	}
	if err != nil {
		return err
	}
	return v.compareDetails(ref, run)
}

func (v *verification) failResponses(c *responseComparison) {
	if c.found == 0 {
		v.fail("no response can be compared: the two logs have no sample in common", "the accuracy log was cut short, or is of another data set")
		return
	}
	v.fail(fmt.Sprintf("%d of %d responses differ from the accuracy run's", c.wrong, c.found),
		"the system computes less in performance mode, or answers from memory",
		"batches of other sizes round numbers differently, or threads add in another order: a fallback compares scores")
	if c.alike > 0 {
		v.Findings = append(v.Findings,
			fmt.Sprintf("%d of these have the same bytes, which are no numbers as %s: the logs are of another type; with dtype int32 %d of "+
				"%d responses differ",
				c.alike, c.dtype, c.wrong-c.alike, c.found))
	}
	v.Findings = append(v.Findings, c.examples...)
	if more := c.wrong - len(c.examples); more > 0 {
		v.Findings = append(v.Findings, fmt.Sprintf("and %d more", more))
	}
}

// compareScores judges a system whose responses vary from run to run: the score of the test's responses may differ little
// from that of the accuracy run on the same samples. Scores are kept beside logs, and the user's folders stay as they are.
func (v *verification) compareScores(ctx context.Context, c *responseComparison) error {
	folder, err := os.MkdirTemp("", "mlperf-audit-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	log := filepath.Join(folder, mlperflog.AccuracyFile)
	if err := v.writeSamplesOfTest(log); err != nil {
		return err
	}
	baseline, err := v.Scorer(ctx, log)
	if err != nil {
		return fmt.Errorf("scoring the accuracy run on the samples of the test: %w", err)
	}
	responses, err := filepath.Abs(v.responses)
	if err != nil {
		return err
	}
	link := filepath.Join(folder, "test", mlperflog.AccuracyFile)
	if err := os.Mkdir(filepath.Dir(link), 0o755); err != nil {
		return err
	}
	if err := fileio.Link(responses, link); err != nil {
		return err
	}
	run, err := v.Scorer(ctx, link)
	if err != nil {
		return fmt.Errorf("scoring the responses of the test: %w", err)
	}
	metrics, err := v.metrics(baseline, run)
	if err != nil {
		return err
	}
	for name, score := range map[string]*report.Accuracy{scoreFile: run, baselineFile: baseline, complianceFile: run} {
		v.write(filepath.Join("accuracy", name), score.Lines...)
	}
	v.Facts = append(v.Facts, fmt.Sprintf("%d of %d responses differ from the accuracy run's, so scores are compared", c.wrong, c.found))
	for _, m := range metrics {
		text := fmt.Sprintf("%s of the same %d samples: %v in the accuracy run, %v in the test; within %v %% passes", m.name, run.Samples,
			m.baseline, m.run, m.most)
		v.Facts = append(v.Facts, text)
		if !m.passes() {
			if v.Passed {
				v.failResponses(c)
			}
			v.fail(text)
		}
	}
	return nil
}

// writeSamplesOfTest writes the accuracy run's log of the samples that the test has.
func (v *verification) writeSamplesOfTest(path string) error {
	wanted := map[uint64]bool{}
	if err := eachRecord(v.responses, func(r accuracy.Record) error { wanted[r.QSLIndex] = true; return nil }); err != nil {
		return err
	}
	return fileio.WriteAtomic(path, 0o644, func(file io.Writer) error {
		w := bufio.NewWriter(file)
		separator := "[\n"
		err := eachRecord(v.accuracyLog, func(r accuracy.Record) error {
			if !wanted[r.QSLIndex] {
				return nil
			}
			_, err := fmt.Fprintf(w, "%s{ \"seq_id\" : %d, \"qsl_idx\" : %d, \"data\" : \"%s\" }", separator, r.SeqID, r.QSLIndex,
				strings.ToUpper(hex.EncodeToString(r.Data)))
			separator = ",\n"
			return err
		})
		_, end := w.WriteString("\n]\n")
		return errors.Join(err, end, w.Flush())
	})
}

// A comparedMetric is a metric of the same samples in the accuracy run and in the test.
type comparedMetric struct {
	name          string
	baseline, run float64 // 0: not printed
	most          float64 // percent by which they may differ
}

// passes reports whether a metric differs by at most its percent. One that the accuracy run does not print fails.
func (m comparedMetric) passes() bool {
	return m.baseline != 0 && math.Abs(1-m.baseline/m.run)*100 <= m.most
}

// metrics lists the metrics that the official checker compares: those of the model in the round, as the scores print them.
// If none is printed, it is the metric of the score.
func (v *verification) metrics(baseline, run *report.Accuracy) ([]comparedMetric, error) {
	round, err := rounds.Find(v.Rules)
	if err != nil { // an older round, which had the same
		round, err = rounds.Find(rounds.Versions()[0])
	}
	if err != nil {
		return nil, err
	}
	printed := func(metric string, lines []string) (value float64) {
		for _, line := range lines { // the last one counts
			if text, ok := rounds.Match(metric, line); ok {
				value, _ = strconv.ParseFloat(text, 64)
			}
		}
		return value
	}
	model := cmp.Or(round.Benchmark(modelNames(round.Version, v.model)...), v.model)
	var list []comparedMetric
	any := false
	for _, m := range round.Model(model).AccuracyOf("") {
		a, b := printed(m.Name, baseline.Lines), printed(m.Name, run.Lines)
		any = any || a != 0 || b != 0
		list = append(list, comparedMetric{m.Name, a, b, round.Delta(model, m.Name)})
	}
	if !any {
		list = []comparedMetric{{run.Metric, baseline.Value, run.Value, round.Delta(model, "")}}
	}
	return list, nil
}
