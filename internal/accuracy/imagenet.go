package accuracy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// A LabeledImage is one line of ImageNet's val_map.txt.
type LabeledImage struct {
	Name  string
	Label int64
}

// ReadValMap reads val_map.txt: a file name and a class per line, separated by white
// space, sample i in line i. Like accuracy-imagenet.py it ignores further columns, lets
// file names repeat (only the line number identifies a sample) and refuses a blank line.
func ReadValMap(in Input) ([]LabeledImage, error) {
	data, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name(), err)
	}
	var images []LabeledImage
	for line := range strings.Lines(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data))) { // as Python reads text
		columns := pytext.Fields(line)
		if len(columns) < 2 {
			return nil, fmt.Errorf("%s: line %d: expected a file name and a class, got %d fields", in.Name(), len(images)+1, len(columns))
		}
		label, err := strconv.ParseInt(columns[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: class of %s is %q: must be a whole number", in.Name(), len(images)+1, columns[0], columns[1])
		}
		images = append(images, LabeledImage{columns[0], label})
	}
	if len(images) == 0 {
		return nil, fmt.Errorf("%s: file is empty, expected a file name and a class per line", in.Name())
	}
	return images, nil
}

// ImageNetOptions are the options of accuracy-imagenet.py.
type ImageNetOptions struct {
	DType   DType // of the label: float32 (default), int32 or int64
	Verbose bool  // also print every wrong sample and the number of repeated ones
	// Best has the labels of the highest scores of each sample, the best first: the log has one alone. Nil: not known.
	Best [][]int32
}

// ScoreImageNet scores a log of class labels as accuracy-imagenet.py does: the first
// record of a sample counts, its first number is the label, truncated to an integer.
// The first value is "accuracy" in percent. If the best labels of all samples of the log are known, the second is Top5.
func ScoreImageNet(log Input, truth []LabeledImage, opts ImageNetOptions) (*Score, error) {
	dtype, err := opts.DType.check("dtype", float32s, Int32, Int64)
	if err != nil {
		return nil, err
	}
	score := &Score{Coverage: Coverage{Samples: len(truth)}, Right: make([]byte, (len(truth)+7)/8)}
	good, good1, total1 := 0, map[int64]int{}, map[int64]int{} // in all, and by label
	among, ranked := 0, opts.Best != nil
	for rec, err := range FirstRecords(log, &score.Coverage) {
		if err != nil {
			return nil, err
		}
		found, digits, err := parseLabel(rec.Data, dtype)
		if err != nil {
			return nil, rec.errorf(log, "%w", err)
		}
		want := truth[rec.QSLIndex]
		total1[want.Label]++
		if ranked = ranked && rec.QSLIndex < uint64(len(opts.Best)) && len(opts.Best[rec.QSLIndex]) > 1; ranked &&
			amongFive(want.Label, found, opts.Best[rec.QSLIndex]) {
			among++
		}
		switch {
		case found == want.Label:
			good++
			good1[want.Label]++
			setBit(score.Right, rec.QSLIndex)
		case opts.Verbose:
			score.printf("%s, expected: %d, found %s", want.Name, want.Label, digits)
		}
	}
	total := score.Coverage.Scored
	if total == 0 {
		return nil, errNoRecord(log)
	}
	percent := func(good, total int) float64 { return 100 * float64(good) / float64(total) } // rounded as 100.0 * good / total
	score.Values = []Value{{Name: "accuracy", Value: percent(good, total), Unit: "%"}}
	if ranked {
		score.Values = append(score.Values, Value{Name: Top5, Value: percent(among, total), Unit: "%"})
	}
	score.printf("accuracy=%.3f%%, good=%d, total=%d", percent(good, total), good, total)
	if opts.Verbose {
		score.printf("found and ignored %d dupes", score.Coverage.Repeated)
	}
	score.Classes = &Classes{Metric: "Top-1", Unit: "%", Of: "samples"}
	for _, label := range slices.Sorted(maps.Keys(total1)) {
		score.Classes.add("", label, percent(good1[label], total1[label]), total1[label])
	}
	return score, nil
}

// amongFive reports whether a label is the answer or one of the four best others.
func amongFive(want, answer int64, best []int32) bool {
	others := slices.DeleteFunc(slices.Clone(best), func(label int32) bool { return int64(label) == answer })
	return want == answer || slices.ContainsFunc(others[:min(4, len(others))], func(label int32) bool { return int64(label) == want })
}

// parseLabel returns the first number of a payload as an integer, and its digits, which may be more than an int64 has.
func parseLabel(data []byte, dtype DType) (label int64, digits string, err error) {
	n, number, err := dtype.numbers(data)
	if err != nil {
		return 0, "", err
	}
	if n == 0 {
		return 0, "", errors.New("payload is empty, expected a label")
	}
	if dtype == Int64 {
		label = int64(binary.LittleEndian.Uint64(data))
		return label, strconv.FormatInt(label, 10), nil
	}
	if label, err = truncate(number(0)); err != nil {
		return 0, "", fmt.Errorf("label: %w", err)
	}
	return label, integerText(number(0)), nil
}
