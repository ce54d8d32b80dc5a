package accuracy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
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
	var images []LabeledImage
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), 1<<20)
	lines.Split(pythonLines)
	for lines.Scan() {
		image, err := parseValMapLine(lines.Text())
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", in.Name(), len(images)+1, err)
		}
		images = append(images, image)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: line %d: %w", in.Name(), len(images)+1, err)
	}
	if len(images) == 0 {
		return nil, fmt.Errorf("%s: file is empty, want a file name and a class per line", in.Name())
	}
	return images, nil
}

func parseValMapLine(line string) (LabeledImage, error) {
	columns := pytext.Fields(line)
	if len(columns) < 2 {
		return LabeledImage{}, fmt.Errorf("want a file name and a class, got %d fields", len(columns))
	}
	label, err := strconv.ParseInt(columns[1], 10, 64)
	if err != nil {
		return LabeledImage{}, fmt.Errorf("class of %s is %q, want a whole number", columns[0], columns[1])
	}
	return LabeledImage{columns[0], label}, nil
}

// pythonLines splits at "\n", "\r\n" and "\r", as Python does when it reads text.
func pythonLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	i := bytes.IndexAny(data, "\r\n")
	switch {
	case i < 0 && atEOF && len(data) > 0:
		return len(data), data, nil
	case i < 0, data[i] == '\r' && i+1 == len(data) && !atEOF:
		return 0, nil, nil // the next byte decides whether "\r" stands alone
	case bytes.HasPrefix(data[i:], []byte("\r\n")):
		return i + 2, data[:i], nil
	}
	return i + 1, data[:i], nil
}

// ImageNetOptions are the options of accuracy-imagenet.py.
type ImageNetOptions struct {
	DType   DType // of the label: float32 (default), int32 or int64
	Verbose bool  // also print every wrong sample and the number of repeated ones
}

// A ClassificationScore is what ScoreImageNet finds. Its first value is "accuracy" in percent.
type ClassificationScore struct {
	Score
	Hits
}

// Hits counts samples and those of them that were predicted correctly.
type Hits struct{ Good, Total int }

// Percent returns the fraction in percent, rounded as accuracy-imagenet.py does
// (100.0 * good / total).
func (h Hits) Percent() float64 { return 100 * float64(h.Good) / float64(h.Total) }

// ScoreImageNet scores a log of class labels as accuracy-imagenet.py does: the first
// record of a sample counts, its first number is the label, cut to an integer.
func ScoreImageNet(log Input, truth []LabeledImage, opts ImageNetOptions) (*ClassificationScore, error) {
	dtype, err := opts.DType.check("dtype", Float32, Int32, Int64)
	if err != nil {
		return nil, err
	}
	score := &ClassificationScore{}
	score.Coverage.Samples = len(truth)
	score.Right = make([]byte, (len(truth)+7)/8)
	scored := make([]byte, len(score.Right))
	for rec, err := range FirstRecords(log, &score.Coverage) {
		if err != nil {
			return nil, err
		}
		found, text, err := label(rec.Data, dtype)
		if err != nil {
			return nil, rec.errorf(log, "%w", err)
		}
		setBit(scored, rec.QSLIndex)
		if score.count(rec.QSLIndex, truth[rec.QSLIndex], found); opts.Verbose && found != truth[rec.QSLIndex].Label {
			score.printf("%s, expected: %d, found %s", truth[rec.QSLIndex].Name, truth[rec.QSLIndex].Label, text)
		}
	}
	if score.Total == 0 {
		return nil, fmt.Errorf("%s: the log has no record", log.Name())
	}
	score.printf("accuracy=%.3f%%, good=%d, total=%d", score.Percent(), score.Good, score.Total)
	if opts.Verbose {
		score.printf("found and ignored %d dupes", score.Coverage.Repeated)
	}
	score.Classes = hitsByLabel(truth, scored, score.Right)
	score.Values = []Value{{Name: "accuracy", Value: score.Percent(), Unit: "%"}}
	return score, nil
}

// count counts the answer to a sample.
func (s *ClassificationScore) count(sample uint64, want LabeledImage, found int64) {
	s.Total++
	if found == want.Label {
		s.Good++
		setBit(s.Right, sample)
	}
}

// label returns the first number of a payload as an integer, and its digits, of which there may be more than fit.
func label(data []byte, dtype DType) (found int64, text string, err error) {
	if err := dtype.checkPayload(data); err != nil {
		return 0, "", err
	}
	if len(data) == 0 {
		return 0, "", errors.New("payload is empty, want a label")
	}
	switch dtype {
	case Int32:
		found = int64(int32At(data, 0))
	case Int64:
		found = int64At(data, 0)
	default:
		v := float64(float32At(data, 0))
		if found, err = truncate(v); err != nil {
			return 0, "", fmt.Errorf("label: %w", err)
		}
		return found, wholeText(v), nil
	}
	return found, strconv.FormatInt(found, 10), nil
}
