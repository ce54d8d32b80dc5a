package accuracy

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
)

// Top5 is the name of the value of classifiers that is the Top-5 accuracy.
const Top5 = "top5"

// TopK fills top with the places of the highest scores, the highest first and of equal ones the first, and returns how many
// there are. A NaN is an error: NumPy, and so the reference, would take it as the maximum.
func TopK[T float32 | uint8 | int8](top []int, scores []T) (int, error) {
	found := 0
	for i, s := range scores {
		if s != s {
			return 0, fmt.Errorf("the model's score of class %d is not a number", i)
		}
		if found == len(top) && s <= scores[top[found-1]] {
			continue
		}
		at := min(found, len(top)-1)
		for at > 0 && s > scores[top[at-1]] {
			top[at] = top[at-1]
			at--
		}
		top[at] = i
		found = min(found+1, len(top))
	}
	return found, nil
}

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
			return nil, rec.errorf(log, "payload has %d bytes, expected labels of 4 bytes", len(rec.Data))
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
	if several {
		score.Values = append(score.Values, Value{Name: fmt.Sprintf("top%d", k), Value: percent(among, n), Unit: "%"})
	}
	score.printf("top1=%.3f%%, good=%d, total=%d", percent(first, n), first, n)
	score.Classes = &Classes{Metric: "Top-1", Unit: "%", Of: "samples"}
	for _, label := range slices.Sorted(maps.Keys(total)) {
		score.Classes.add("", label, percent(good[label], total[label]), total[label])
	}
	return score, nil
}
