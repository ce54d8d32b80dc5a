package compliance

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

const accuracyFile = "verify_accuracy.txt"

// dtypes are the sizes of numbers in responses.
var dtypes = map[string]int{"byte": 1, "float32": 4, "int32": 4, "int64": 8}

// An answer is what is kept of a response.
type answer struct {
	first uint64 // number
	has   bool   // the response is not empty
	hash  uint64 // of the whole response
	again bool   // the test's run gave it, not the accuracy run
}

// A responseComparison compares responses as compliance/TEST01/verify_accuracy.py does:
// by their first number.
type responseComparison struct {
	dtype string
	seed  maphash.Seed
	known map[uint64]answer // of the accuracy run, by sample

	accuracy, duplicates, differing    int // entries of the accuracy log
	performance, found, wrong, missing int // entries of the performance log
	later                              int // responses that differ behind the first number
	examples                           []string
}

// mostExamples is how many samples a finding names.
const mostExamples = 5

func (c *responseComparison) answer(data []byte) (answer, error) {
	a := answer{has: len(data) > 0, hash: maphash.Bytes(c.seed, data)}
	size := dtypes[c.dtype]
	if !a.has {
		return a, nil
	}
	if len(data)%size != 0 {
		return a, fmt.Errorf("the response has %d bytes, which are not numbers of type %s", len(data), c.dtype)
	}
	var first [8]byte
	copy(first[:], data[:size])
	a.first = binary.LittleEndian.Uint64(first[:])
	return a, nil
}

// same reports whether two responses count as the same.
func (c *responseComparison) same(a, b answer) bool {
	if c.dtype == "float32" && a.has && b.has {
		return math.Float32frombits(uint32(a.first)) == math.Float32frombits(uint32(b.first))
	}
	return a.has == b.has && a.first == b.first
}

// learn takes a record of the accuracy run. Of several of a sample, the first one counts.
func (c *responseComparison) learn(path string) func(accuracy.Record) error {
	return func(r accuracy.Record) error {
		a, err := c.answer(r.Data)
		if err != nil {
			return fmt.Errorf("%s: record %d: %w", path, r.Number, err)
		}
		c.accuracy++
		if before, ok := c.known[r.QSLIndex]; ok {
			c.duplicates++
			if before.hash != a.hash {
				c.differing++
			}
			return nil
		}
		c.known[r.QSLIndex] = a
		return nil
	}
}

// compare takes a record of the performance run. What answers a sample again is compared with
// the answer before.
func (c *responseComparison) compare(path string) func(accuracy.Record) error {
	return func(r accuracy.Record) error {
		b, err := c.answer(r.Data)
		if err != nil {
			return fmt.Errorf("%s: record %d: %w", path, r.Number, err)
		}
		c.performance++
		a, ok := c.known[r.QSLIndex]
		b.again = true
		c.known[r.QSLIndex] = b
		if !ok {
			c.missing++
			return nil
		}
		c.found++
		switch {
		case !c.same(a, b):
			c.wrong++
			if len(c.examples) < mostExamples {
				before := "the accuracy run answered"
				if a.again {
					before = "this run answered before"
				}
				c.examples = append(c.examples, fmt.Sprintf("sample %d (record %d of %s): %s %s, this run %s",
					r.QSLIndex, r.Number, path, before, c.show(a), c.show(b)))
			}
		case a.hash != b.hash:
			c.later++
		}
		return nil
	}
}

// show writes the first number of a response.
func (c *responseComparison) show(a answer) string {
	switch {
	case !a.has:
		return "nothing"
	case c.dtype == "float32":
		return fmt.Sprint(math.Float32frombits(uint32(a.first)))
	case c.dtype == "int32":
		return fmt.Sprint(int32(a.first))
	}
	return fmt.Sprint(int64(a.first))
}

func (c *responseComparison) passes() bool { return c.wrong == 0 && c.found > 0 }

// lines are what the reference's script writes.
func (c *responseComparison) lines() []string {
	return []string{
		fmt.Sprint("num_acc_log_entries = ", c.accuracy),
		fmt.Sprint("num_acc_log_duplicate_keys = ", c.duplicates),
		fmt.Sprint("num_acc_log_data_mismatch = ", c.differing),
		fmt.Sprint("num_perf_log_entries = ", c.performance),
		fmt.Sprint("num_perf_log_qsl_idx_match = ", c.found),
		fmt.Sprint("num_perf_log_data_mismatch = ", c.wrong),
		fmt.Sprint("num_missing_qsl_idxs = ", c.missing),
		verdictLine(c.passes()), "",
	}
}

// verify01 compares responses, then performance.
func verify01(ctx context.Context, v *Verdict, l Logs, o Options) error {
	ref, run, err := pair(v.Test, l, o)
	if err != nil {
		return err
	}
	if err := checkAccuracy(l.Accuracy, ref); err != nil {
		return err
	}
	if err := v.responses(ctx, l, o); err != nil {
		return err
	}
	return v.compare01(ref, run, o.Rules)
}

// newComparison compares responses of a type of numbers; empty: byte.
func newComparison(dtype string) *responseComparison {
	if dtype == "" {
		dtype = "byte"
	}
	return &responseComparison{dtype: dtype, seed: maphash.MakeSeed(), known: map[uint64]answer{}}
}

// read compares the responses of a test with those of the accuracy run.
func (c *responseComparison) read(l Logs) error {
	if dtypes[c.dtype] == 0 {
		return userinput.Invalid("dtype", c.dtype, "byte, float32, int32 or int64")
	}
	if err := eachRecord(l.accuracyLog(), c.learn(l.accuracyLog())); err != nil {
		return err
	}
	if err := eachRecord(l.responses, c.compare(l.responses)); err != nil {
		return err
	}
	if c.accuracy == 0 {
		return fmt.Errorf("%s has no responses, want those of the accuracy run", l.accuracyLog())
	}
	return nil
}

func (v *Verdict) responses(ctx context.Context, l Logs, o Options) error {
	c := newComparison(o.DType)
	if err := c.read(l); err != nil {
		return err
	}
	v.compared(c)
	if c.passes() {
		return nil
	}
	if o.Scorer != nil && c.found > 0 {
		return v.fallback(ctx, l, o, c)
	}
	v.failResponses(c)
	return nil
}

// compared says what a comparison counted.
func (v *Verdict) compared(c *responseComparison) {
	v.write(accuracyFile, v.Test+": responses")
	v.write(accuracyFile, c.lines()...)
	v.Facts = append(v.Facts, fmt.Sprintf("%d of %d responses are those of the accuracy run", c.found-c.wrong, c.performance))
	if c.later > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("%d responses differ from the accuracy run's behind their first number, where the reference does not look", c.later))
	}
	if c.missing > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("%d responses are of samples that the accuracy log does not have, which the reference accepts", c.missing))
	}
}

func (v *Verdict) failResponses(c *responseComparison) {
	if c.found == 0 {
		v.fail("no response can be compared: the two logs have no sample in common", "the accuracy log was cut short, or is of another data set")
		return
	}
	v.fail(fmt.Sprintf("%d of %d responses differ from the accuracy run's", c.wrong, c.found),
		"the system computes less in performance mode, or answers from memory", "batches of other sizes round numbers differently, or threads add in another order: a fallback compares scores")
	v.Findings = append(v.Findings, c.examples...)
	if more := c.wrong - len(c.examples); more > 0 {
		v.Findings = append(v.Findings, fmt.Sprintf("and %d more", more))
	}
}
