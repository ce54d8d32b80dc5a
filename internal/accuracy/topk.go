package accuracy

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
)

// ScoreTopK scores a log whose responses are labels as int32, the best first, at least one: the first record of a sample
// counts. The values are "accuracy", which is Top-1, and "topK", in percent; the second is missing if no response
// has more than one label.
func ScoreTopK(log Input, truth []int64, k int) (*Score, error) {
	score := &Score{Coverage: Coverage{Samples: len(truth)}, Right: make([]byte, (len(truth)+7)/8)}
	first, among, several := 0, 0, false
	good, total := map[int64]int{}, map[int64]int{} // by label
	for rec, err := range FirstRecords(log, &score.Coverage) {
		if err != nil {
			return nil, err
		}
		if len(rec.Data) == 0 || len(rec.Data)%4 != 0 {
			return nil, rec.errorf(log, "payload has %d bytes, want labels of 4 bytes", len(rec.Data))
		}
		want := truth[rec.QSLIndex]
		total[want]++
		several = several || len(rec.Data) > 4
		for i := range min(k, len(rec.Data)/4) {
			if int64(int32(binary.LittleEndian.Uint32(rec.Data[4*i:]))) != want {
				continue
			}
			among++
			if i == 0 {
				first++
				good[want]++
				setBit(score.Right, rec.QSLIndex)
			}
			break
		}
	}
	n := score.Coverage.Scored
	if n == 0 {
		return nil, errNoRecord(log)
	}
	percent := func(good, total int) float64 { return 100 * float64(good) / float64(total) }
	score.Values = []Value{{Name: "accuracy", Value: percent(first, n), Unit: "%"}}
	line := fmt.Sprintf("top1=%.3f%%", percent(first, n))
	if several {
		score.Values = append(score.Values, Value{Name: fmt.Sprintf("top%d", k), Value: percent(among, n), Unit: "%"})
		line += fmt.Sprintf(", top%d=%.3f%%", k, percent(among, n))
	}
	score.printf("%s, good=%d, total=%d", line, first, n)
	score.Classes = &Classes{Metric: "Top-1", Unit: "%", Of: "samples"}
	for _, label := range slices.Sorted(maps.Keys(total)) {
		score.Classes.add("", label, percent(good[label], total[label]), total[label])
	}
	return score, nil
}
