package accuracy

import (
	"fmt"
	"math"
)

// ClickTruth has the labels of samples that are runs of user-item pairs.
type ClickTruth interface {
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
}

// ScoreClicks scores a log of predictions for a data set of some samples as accuracy-dlrm.py does: the first
// record of a sample counts. A prediction of one half counts as 0 for the accuracy. The first value is "AUC" in percent.
func ScoreClicks(log Input, samples int, o ClickOptions) (*Score, error) {
	dtype, err := o.DType.check("dtype", float32s, Int32, Int64)
	if err != nil {
		return nil, err
	}
	score, c := &Score{Coverage: Coverage{Samples: samples}}, &clickCounter{}
	for rec, err := range FirstRecords(log, &score.Coverage) {
		if err != nil {
			return nil, err
		}
		if err := c.add(rec, dtype, o.Truth); err != nil {
			return nil, rec.errorf(log, "%w", err)
		}
	}
	auc, err := c.auc.area()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", log.Name(), err)
	}
	accuracy := float64(c.good) / float64(c.total)
	score.Values = []Value{{Name: "AUC", Value: 100 * auc, Unit: "%", Resampled: c.kept.resampled()},
		{Name: "accuracy", Value: 100 * accuracy, Unit: "%"}}
	score.printf("AUC=%.3f%%, accuracy=%.3f%%, good=%d, total=%d, queries=%d", 100*auc, 100*accuracy, c.good, c.total, score.Coverage.Scored)
	if o.Verbose {
		score.printf("found and ignored %d query dupes", score.Coverage.Repeated)
	}
	return score, nil
}

// A clickCounter counts pairs.
type clickCounter struct {
	auc         aucCounter
	kept        pairKeeper
	good, total int
}

// add adds the pairs of a record.
func (c *clickCounter) add(rec Record, dtype DType, truth ClickTruth) error {
	n, number, err := dtype.numbers(rec.Data)
	if err != nil {
		return err
	}
	prediction, label := number, number
	if truth == nil {
		if n%2 != 0 {
			return fmt.Errorf("response has %d numbers, expected a prediction and a label of each pair", n)
		}
		n /= 2
		prediction, label = func(i int) float64 { return number(2 * i) }, func(i int) float64 { return number(2*i + 1) }
	} else {
		labels, err := truth.Labels(int(rec.QSLIndex))
		if err == nil && len(labels) != n {
			err = fmt.Errorf("response has %d predictions, the sample has %d pairs", n, len(labels))
		}
		if err != nil {
			return err
		}
		label = func(i int) float64 {
			if labels[i] {
				return 1
			}
			return 0
		}
	}
	for i := range n {
		p, want := prediction(i), label(i)
		narrow := float32(p)
		switch {
		case want != 0 && want != 1:
			err = fmt.Errorf("label is %v: must be 0 or 1", want)
		case float64(narrow) != p && p == p:
			err = fmt.Errorf("prediction is %.0f: must be one of at most 24 bits", p)
		default:
			err = c.auc.add(narrow, want == 1)
		}
		if err != nil {
			return fmt.Errorf("pair %d: %w", i, err)
		}
		c.kept.add(rec.QSLIndex, narrow, want == 1)
		if c.total++; math.RoundToEven(p) == want {
			c.good++
		}
	}
	return nil
}
