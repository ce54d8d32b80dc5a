package dataset

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// A Run is a run of user-item pairs that makes one sample of the recommendation benchmarks.
type Run struct{ First, Count int }

// runSizes are the sizes from which the reference draws (tools/dist_quantile.txt): 100 to
// 700 pairs, 270 on average.
var runSizes = [20]int{100, 100, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 300, 300, 400, 500, 600, 700}

// AggregatePairs cuts pairs into runs as the reference does: sizes are drawn evenly from 20
// by NumPy's generator with seed 123; the last run has what is left.
func AggregatePairs(pairs int) []Run {
	r := newTwister(123)
	var runs []Run
	for first := 0; first < pairs; {
		n := min(runSizes[r.below20()], pairs-first)
		runs = append(runs, Run{first, n})
		first += n
	}
	return runs
}

// WriteRuns writes runs as the official trace has them (dlrm_trace_of_aggregated_samples.txt):
// first pair, pair after the last, and count.
func WriteRuns(w io.Writer, runs []Run) error {
	b := bufio.NewWriter(w)
	for _, r := range runs {
		fmt.Fprintf(b, "%d, %d, %d\n", r.First, r.First+r.Count, r.Count)
	}
	return b.Flush()
}

// parseNext reads a run that has to begin where the one before ends.
func parseNext(text string, end int) (Run, error) {
	r, err := parseRun(text)
	if err == nil && r.First != end {
		err = fmt.Errorf("it begins with pair %d, the one before ends with %d", r.First, end)
	}
	return r, err
}

// readRuns reads such a trace.
func readRuns(path string) ([]Run, error) {
	f, err := fileio.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var runs []Run
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		r, err := parseNext(lines.Text(), endOf(runs))
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, len(runs)+1, err)
		}
		runs = append(runs, r)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: line %d: %w", path, len(runs)+1, err)
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("%s: the file is empty, want first pair, end and count of each sample", path)
	}
	return runs, nil
}

func endOf(runs []Run) int {
	if len(runs) == 0 {
		return 0
	}
	last := runs[len(runs)-1]
	return last.First + last.Count
}

func parseRun(line string) (Run, error) {
	var numbers [3]int
	parts := strings.Split(line, ",")
	if len(parts) != 3 {
		return Run{}, fmt.Errorf("want first pair, end and count, got %d fields", len(parts))
	}
	for i, part := range parts {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 0 {
			return Run{}, fmt.Errorf("%q is not a number of pairs", part)
		}
		numbers[i] = n
	}
	if numbers[2] < 1 || numbers[1]-numbers[0] != numbers[2] {
		return Run{}, errors.New("the count is not the end less the first pair")
	}
	return Run{numbers[0], numbers[2]}, nil
}

// A twister is MT19937 as NumPy's RandomState seeds it with a whole number.
type twister struct {
	state [624]uint32
	at    int
}

func newTwister(seed uint32) *twister {
	t := &twister{at: 624}
	t.state[0] = seed
	for i := 1; i < len(t.state); i++ {
		t.state[i] = 1812433253*(t.state[i-1]^t.state[i-1]>>30) + uint32(i)
	}
	return t
}

// next returns 32 bits.
func (t *twister) next() uint32 {
	if t.at == len(t.state) {
		t.twist()
	}
	y := t.state[t.at]
	t.at++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

func (t *twister) twist() {
	const n, m = 624, 397
	for i := range n {
		y := t.state[i]&0x80000000 | t.state[(i+1)%n]&0x7fffffff
		t.state[i] = t.state[(i+m)%n] ^ y>>1
		if y&1 != 0 {
			t.state[i] ^= 0x9908b0df
		}
	}
	t.at = 0
}

// below20 is randint(0, 20): five bits, again if they are too large.
func (t *twister) below20() int {
	for {
		if v := t.next() & 31; v < 20 {
			return int(v)
		}
	}
}
