package accuracy

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// picks are the samples of a set of n, each as often as it is in it.
func picks(n, set int) []int {
	weights := make([]int, n)
	draw(weights, uint64(set))
	var list []int
	for sample, w := range weights {
		for range w {
			list = append(list, sample)
		}
	}
	return list
}

// TestASetScoresAsADataSetThatHasItsSamplesSoOften compares what is kept of sums with what the whole
// way of each metric says of a data set of the set's samples.
func TestASetScoresAsADataSetThatHasItsSamplesSoOften(t *testing.T) {
	const samples = 30
	for name, score := range map[string]func(t *testing.T, list []int) (Value, error){
		"word errors": wordErrors, "Dice": diceOf, "mean IoU": iouOf, "ROUGE-1": func(t *testing.T, list []int) (Value, error) { return rougeOf(t, list, 0) },
		"ROUGE-L": func(t *testing.T, list []int) (Value, error) { return rougeOf(t, list, 2) }, "AUC": aucOf,
	} {
		t.Run(name, func(t *testing.T) {
			all := make([]int, samples)
			for i := range all {
				all[i] = i
			}
			whole, err := score(t, all)
			if err != nil || len(whole.Resampled) != resamples {
				t.Fatalf("%v, %d sets", err, len(whole.Resampled))
			}
			different := map[float64]bool{}
			for set := range 20 {
				want, err := score(t, picks(samples, set))
				if err != nil || math.Abs(whole.Resampled[set]-want.Value) > 1e-6*math.Abs(want.Value) {
					t.Errorf("set %d has %v, %v, a data set like it %v", set, whole.Resampled[set], err, want.Value)
				}
				different[want.Value] = true
			}
			if len(different) < 5 {
				t.Errorf("20 sets have %d scores", len(different))
			}
		})
	}
}

// responses is a log of what some system says, sample by sample, in another order than that of the data.
func responses(list []int, of func(sample int) []byte) Input {
	var log []Record
	for i := range list {
		at := (i*7 + 3) % len(list)
		log = append(log, Record{QSLIndex: uint64(at), Data: of(list[at])})
	}
	return text(formatLog(log))
}

func wordErrors(_ *testing.T, list []int) (Value, error) {
	var said []string
	for _, sample := range list {
		said = append(said, strings.Repeat("a ", sample%5+1)+"bc")
	}
	log := responses(list, func(sample int) []byte {
		var data []byte
		for _, letter := range strings.Repeat("a ", sample%3+1) + "bc" {
			data = append(data, byte(strings.IndexRune(speechLabels, letter)))
		}
		return data
	})
	score, err := ScoreSpeech(log, said, SpeechOptions{DType: Int8})
	if err != nil {
		return Value{}, err
	}
	return score.Values[0], nil
}

// volume is one that depends on a sample and on what is asked for.
func volume(sample, seed, labels, size int) []byte {
	random := rand.New(rand.NewPCG(uint64(sample), uint64(seed)))
	v := make([]byte, size)
	for i := range v {
		v[i] = byte(random.IntN(labels))
	}
	return v
}

func diceOf(_ *testing.T, list []int) (Value, error) {
	var cases []KiTSCase
	for i, sample := range list {
		cases = append(cases, KiTSCase{Name: string(rune('a' + i)), Shape: []int{40}, Truth: EncodeRuns(volume(sample, 1, 3, 40))})
	}
	score, err := ScoreKiTS(responses(list, func(sample int) []byte { return volume(sample, 2, 3, 40) }), cases, KiTSOptions{})
	if err != nil {
		return Value{}, err
	}
	return score.Values[0], nil
}

// iouOf has a class that only one image in eight has.
func iouOf(t *testing.T, list []int) (Value, error) {
	counts, err := NewIoUCounts(9)
	if err != nil {
		return Value{}, err
	}
	for i := range list {
		at := (i*7 + 3) % len(list)
		truth := volume(list[at], 3, 8, 64)
		if list[at]%8 == 0 {
			truth[0] = 9
		}
		if err := counts.Add(at, volume(list[at], 4, 8, 64), truth); err != nil {
			t.Fatal(err)
		}
	}
	score := counts.Score()
	return Value{Value: counts.MeanPresent(), Resampled: score.Values[0].Resampled}, nil
}

func rougeOf(t *testing.T, list []int, which int) (Value, error) {
	words := strings.Fields("one two three four five six seven eight nine ten")
	var wanted []string
	for _, sample := range list {
		wanted = append(wanted, strings.Join(words[:sample%9+1], " "))
	}
	decode := func(ids []int32) (string, error) { return strings.Join(words[ids[0]:ids[1]], " "), nil }
	log := responses(list, func(sample int) []byte {
		return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, uint32(sample%3)), uint32(sample%4+5))
	})
	score, err := ScoreSummaries(t.Context(), log, wanted, decode, QuotedForm, TokenOptions{DType: Int32})
	if err != nil {
		return Value{}, err
	}
	return score.Values[which], nil
}

// aucOf has ties within samples and among them.
func aucOf(_ *testing.T, list []int) (Value, error) {
	score, err := ScoreClicks(responses(list, func(sample int) []byte {
		random := rand.New(rand.NewPCG(5, uint64(sample)))
		var pairs []float32
		for range sample%4 + 1 {
			label := random.IntN(2)
			pairs = append(pairs, float32(random.IntN(8)+2*label)/10, float32(label))
		}
		return float32s(pairs...)
	}), ClickOptions{})
	if err != nil {
		return Value{}, err
	}
	return score.Values[0], nil
}

func TestTooManyPredictionsAreNotResampled(t *testing.T) {
	k := &pairKeeper{pairs: make([]keptPair, mostPairs-1)}
	k.add(1, 0.5, true)
	if len(k.pairs) != mostPairs || k.resampled(1) != nil {
		t.Error("a sample beyond the data set is resampled")
	}
	if k.add(0, 0.5, true); k.resampled(2) != nil || k.pairs != nil {
		t.Error("there is no limit")
	}
	if k.add(0, 0.5, true); k.pairs != nil {
		t.Error("pairs are kept again after there were too many")
	}
}
