package accuracy

import (
	"fmt"
	"math"
)

// ClickTruth has the labels of samples that are runs of user-item pairs.
type ClickTruth interface {
	// Len is the number of samples.
	Len() int
	// Labels returns the labels of a sample's pairs.
	Labels(sample int) ([]bool, error)
}

// ClickOptions are the options of accuracy-dlrm.py.
type ClickOptions struct {
	DType   DType // of predictions and labels: float32 (default), int32 or int64
	Verbose bool  // also say how many records were repeated

	// Truth has the labels if the log has predictions only. If it is nil, the log has pairs of
	// a prediction and a label.
	Truth ClickTruth
	// Samples is how many the data set has; 0: as many as the log, or as the truth.
	Samples int
}

// A ClickScore is what ScoreClicks finds. Its first value is "AUC" in percent.
type ClickScore struct {
	Score
	Good, Total int // pairs
}

// clicks are the pairs that were read.
type clicks struct {
	score *ClickScore
	seen  map[uint64]bool // samples
	area  aucCounter
	kept  pairKeeper
}

// ScoreClicks scores a log of predictions as accuracy-dlrm.py does: the first record of a
// sample counts. A prediction of one half counts as 0 for the accuracy.
func ScoreClicks(log Input, o ClickOptions) (*ClickScore, error) {
	dtype, err := o.DType.check("dtype", Float32, Int32, Int64)
	if err != nil {
		return nil, err
	}
	if o.Truth != nil {
		o.Samples = o.Truth.Len()
	}
	score := &ClickScore{}
	pairs := &clicks{score: score, seen: make(map[uint64]bool)}
	if err := pairs.read(log, dtype, o); err != nil {
		return nil, err
	}
	samples := len(pairs.seen)
	score.Coverage.Scored, score.Coverage.Samples = samples, max(samples, o.Samples)
	auc, err := pairs.area.Area()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", log.Name(), err)
	}
	good := float64(score.Good) / float64(score.Total)
	score.Values = []Value{{Name: "AUC", Value: 100 * auc, Unit: "%", Resampled: pairs.kept.resampled(score.Coverage.Samples)}, {Name: "accuracy", Value: 100 * good, Unit: "%"}}
	score.printf("AUC=%.3f%%, accuracy=%.3f%%, good=%d, total=%d, queries=%d", 100*auc, 100*good, score.Good, score.Total, samples)
	if o.Verbose {
		score.printf("found and ignored %d query dupes", score.Coverage.Repeated)
	}
	return score, nil
}

// read adds the pairs of the first record of each sample.
func (c *clicks) read(log Input, dtype DType, o ClickOptions) error {
	for rec, err := range Records(log) {
		if err != nil {
			return err
		}
		if c.seen[rec.QSLIndex] {
			c.score.Coverage.Repeated++
			continue
		}
		if o.Samples > 0 && rec.QSLIndex >= uint64(o.Samples) {
			return rec.errorf(log, "the data set has only %d samples", o.Samples)
		}
		c.seen[rec.QSLIndex] = true
		if err := c.add(rec, dtype, o.Truth); err != nil {
			return rec.errorf(log, "%w", err)
		}
	}
	return nil
}

// add adds the pairs of a record.
func (c *clicks) add(rec Record, dtype DType, truth ClickTruth) error {
	if err := dtype.checkPayload(rec.Data); err != nil {
		return err
	}
	number := numbers(rec.Data, dtype)
	n := len(rec.Data) / dtype.size()
	labels, err := clickLabels(rec.QSLIndex, n, truth)
	if err != nil {
		return err
	}
	each, label := 1, func(i int) float64 {
		if labels[i] {
			return 1
		}
		return 0
	}
	if truth == nil {
		each, n, label = 2, n/2, func(i int) float64 { return number(2*i + 1) }
	}
	for i := range n {
		if err := c.pair(rec.QSLIndex, number(each*i), label(i)); err != nil {
			return fmt.Errorf("pair %d: %w", i, err)
		}
	}
	return nil
}

// pair adds a prediction and its label.
func (c *clicks) pair(sample uint64, prediction, label float64) error {
	narrow := float32(prediction)
	switch {
	case label != 0 && label != 1:
		return fmt.Errorf("label is %v, want 0 or 1", label)
	case float64(narrow) != prediction && prediction == prediction:
		return fmt.Errorf("prediction is %.0f, want one of at most 24 bits", prediction)
	}
	if err := c.area.Add(narrow, label == 1); err != nil {
		return err
	}
	c.kept.add(sample, narrow, label == 1)
	c.score.Total++
	if math.RoundToEven(prediction) == label {
		c.score.Good++
	}
	return nil
}

// clickLabels returns the labels of a sample of which the log has n numbers, nil if they are
// in the log.
func clickLabels(sample uint64, n int, truth ClickTruth) ([]bool, error) {
	if truth == nil {
		if n%2 != 0 {
			return nil, fmt.Errorf("response has %d numbers, want a prediction and a label of each pair", n)
		}
		return nil, nil
	}
	if sample >= uint64(truth.Len()) {
		return nil, fmt.Errorf("the data set has only %d samples", truth.Len())
	}
	labels, err := truth.Labels(int(sample))
	if err == nil && len(labels) != n {
		err = fmt.Errorf("response has %d predictions, the sample has %d pairs", n, len(labels))
	}
	return labels, err
}
