package accuracy

// NodeOptions are the options of accuracy_igbh.py.
type NodeOptions struct {
	// DType is the type of a response: uint8, int64, int32 or float32. Empty: int64 if the first response has 8 bytes, and
	// otherwise uint8, which the script takes.
	DType DType
}

// ScoreNodes scores a log of classes of nodes by the class of each sample, as accuracy_igbh.py of R-GAT does: the first record of a
// sample counts, and of a response its first number. The only value is "accuracy", as a share of 1, as in the table of targets; the line of
// the script has percent.
func ScoreNodes(log Input, classes []int64, o NodeOptions) (*Score, error) {
	dtype := o.DType
	if dtype != "" {
		if _, err := dtype.check("dtype", uint8s, float32s, Int32, Int64); err != nil {
			return nil, err
		}
	}
	score := &Score{Coverage: Coverage{Samples: len(classes)}, Right: make([]byte, (len(classes)+7)/8)}
	good, beyond := 0, 0
	for rec, err := range FirstRecords(log, &score.Coverage) {
		if err != nil {
			return nil, err
		}
		if dtype == "" {
			if dtype = uint8s; len(rec.Data) == 8 {
				dtype = Int64
				score.warnf("responses are int64: accuracy_igbh.py needs --dtype int64 for them, since it takes bytes by default")
			}
		}
		class, _, err := parseLabel(rec.Data, dtype)
		if err != nil {
			return nil, rec.errorf(log, "%w", err)
		}
		want := classes[rec.QSLIndex]
		if want > 0xff {
			beyond++
		}
		if class == want {
			good++
			setBit(score.Right, rec.QSLIndex)
		}
	}
	total := score.Coverage.Scored
	if total == 0 {
		return nil, errNoRecord(log)
	}
	share := float64(good) / float64(total)
	score.Values = []Value{{Name: "accuracy", Value: share}}
	score.printf("accuracy=%.3f%%, good=%d, total=%d", 100.0*share, good, total)
	if dtype == uint8s && beyond > 0 {
		score.warnf("a byte holds classes up to 255: %d of %d samples have a higher one, and no answer to them is right", beyond, total)
	}
	return score, nil
}
