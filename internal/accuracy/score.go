package accuracy

import (
	"fmt"
	"io"
	"strings"
)

// A Score is the outcome of scoring one accuracy log, in a shape that is the same
// for every metric: numbers to compare, text to print.
type Score struct {
	// Values holds the numbers in full precision. The first ones are those that the
	// benchmark has a target for, in the unit in which the target is given.
	Values []Value
	// Lines is what the official script prints, byte for byte and in its order,
	// without line ends. It is what accuracy.txt must hold.
	Lines []string
	// Warnings are facts that whoever relies on the score should know.
	Warnings []string
	// Coverage says how many samples the score is over. Whoever judges it has to look: the
	// official scripts score whatever is in a log, if only a part of the data set.
	Coverage Coverage
	// Right has one bit for each sample, the lowest first, of what was answered right. nil: the
	// metric is not a share of right answers.
	Right []byte
	// Classes are scores class by class. nil: the metric has none.
	Classes *Classes
}

// Coverage counts the samples of a log.
type Coverage struct {
	Samples  int // that the ground truth has
	Scored   int // of these, each once
	Repeated int // records of a sample that was seen before, which do not count
}

// count counts a record of a sample, of which there may have been one before.
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
	LowerIsBetter bool   // for errors and distances, such as FID
	// Resampled is the value of Resamples sets of samples, which are the same for all systems that
	// answered the same samples. nil: there are none of it.
	Resampled []float64
}

// Lookup returns the value of the given name, and whether there is one.
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
