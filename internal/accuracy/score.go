package accuracy

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A Score is the outcome of scoring one accuracy log, in a shape that is the same
// for every metric: numbers to compare, text to print.
type Score struct {
	// Values holds the numbers in full precision. The first ones are those that the
	// benchmark has a target for, in the unit in which the target is given.
	Values []Value
	// Lines is the output of the official script, byte for byte and in its order,
	// without line ends. It is what accuracy.txt must hold.
	Lines []string
	// Warnings are facts that a reader of the score should know.
	Warnings []string
	// Coverage says how many samples the score is over. Check it before relying on the score: the
	// official scripts score any log, even of a part of the data set.
	Coverage Coverage
	// Right has one bit for each sample, the lowest first: whether the answer is right. nil: the
	// metric is not a share of right answers.
	Right []byte
	// Classes are scores class by class. nil: the metric has none.
	Classes *Classes
	// Breakdown is that of calls of functions. nil: the metric has none.
	Breakdown *Breakdown
	// Sets are the scores of the data sets that the benchmark joins, by name. nil: it has one.
	Sets []Set
}

// A Set is the score of one of several data sets.
type Set struct {
	Name    string
	Score   float64 // share of right answers, 0 to 1
	Samples int     // that were scored, repeats included
	Repeats int     // how often each question is asked
}

// Coverage counts the samples of a log.
type Coverage struct {
	Samples  int // in the ground truth
	Scored   int // different samples in the log
	Repeated int // records of a sample that was seen before, which do not count
}

// count counts a record of a sample.
func (c *Coverage) count(repeated bool) {
	if repeated {
		c.Repeated++
	} else {
		c.Scored++
	}
}

// records returns the number of records that were read.
func (c Coverage) records() int { return c.Scored + c.Repeated }

// setBit sets a bit, as in Score.Right.
func setBit(bits []byte, sample uint64) { bits[sample/8] |= 1 << (sample % 8) }

// A Value is one named number of a Score.
type Value struct {
	Name          string
	Value         float64
	Unit          string // "%" or empty
	LowerIsBetter bool   // for errors and distances, as FID
	// Resampled is the value of each of the resamples sets of samples, which are the same for all systems that
	// answered the same samples. nil: the value is not resampled.
	Resampled []float64
}

// Lookup returns the first value of a name, and whether the score has it.
func (s *Score) Lookup(name string) (Value, bool) {
	for _, v := range s.Values {
		if v.Name == name {
			return v, true
		}
	}
	return Value{}, false
}

// Text returns Lines as the official script would have written them to a file.
func (s *Score) Text() string {
	if len(s.Lines) == 0 {
		return ""
	}
	return strings.Join(s.Lines, "\n") + "\n"
}

func (s *Score) printf(format string, args ...any) {
	s.Lines = append(s.Lines, fmt.Sprintf(format, args...))
}

func (s *Score) warnf(format string, args ...any) {
	s.Warnings = append(s.Warnings, fmt.Sprintf(format, args...))
}

// Classes are scores of one class each.
type Classes struct {
	Metric string // Top-1, AP or IoU
	Unit   string // "%" or empty
	Of     string // what Class.Count counts: samples, objects or pixels
	List   []Class
}

// A Class is the score of a class.
type Class struct {
	Name  string // each occurs once
	Value float64
	Count int // in the ground truth
}

// add appends a class. If its name is taken, it gets its number too.
func (c *Classes) add(name string, number int64, value float64, count int) {
	id := strconv.FormatInt(number, 10)
	if name == "" {
		name = id
	}
	for _, other := range c.List {
		if other.Name == name {
			name += " (" + id + ")"
			break
		}
	}
	c.List = append(c.List, Class{name, value, count})
}

// An Input is a file to read. Its name appears in error messages; *os.File is an Input.
type Input interface {
	io.Reader
	Name() string
}

// Named makes an Input of any reader.
func Named(name string, r io.Reader) Input { return namedReader{r, name} }

type namedReader struct {
	io.Reader
	name string
}

func (n namedReader) Name() string { return n.name }
