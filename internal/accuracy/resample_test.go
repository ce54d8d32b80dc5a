package accuracy

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestResampled compares the score of a set of samples with that of a data set that has its samples so often.
func TestResampled(t *testing.T) {
	const samples = 30
	for name, score := range map[string]func(t *testing.T, list []int) Value{
		"word errors": scoreWordErrors, "Dice": scoreDice, "mean IoU": scoreIoU, "AUC": scoreAUC, "BLEU": scoreBLEU, "F1": scoreF1, "mAP": scoreMAP,
		"ROUGE-1": func(t *testing.T, list []int) Value { return scoreROUGE(t, list, 0) },
		"ROUGE-L": func(t *testing.T, list []int) Value { return scoreROUGE(t, list, 2) },
	} {
		t.Run(name, func(t *testing.T) {
			all := make([]int, samples)
			for i := range all {
				all[i] = i
			}
			whole := score(t, all)
			if len(whole.Resampled) != resamples {
				t.Fatalf("%d sets, want %d", len(whole.Resampled), resamples)
			}
			different := map[float64]bool{}
			for set := range 20 {
				weights := make([]int, samples)
				draw(weights, uint64(set))
				var list []int // the samples of the set
				for sample, w := range weights {
					for range w {
						list = append(list, sample)
					}
				}
				want := score(t, list).Value
				if math.Abs(whole.Resampled[set]-want) > 1e-6*math.Abs(want) {
					t.Errorf("set %d has %v, a data set like it %v", set, whole.Resampled[set], want)
				}
				different[want] = true
			}
			if len(different) < 5 {
				t.Errorf("20 sets have %d scores", len(different))
			}
		})
	}
}

// TestSetsOfSmallLogs: of a log of two samples of many, sets have these two only, as if the data set had no others.
func TestSetsOfSmallLogs(t *testing.T) {
	const samples, few = 30, 2
	letters := func(text string) (labels []byte) {
		for _, r := range text {
			labels = append(labels, byte(strings.IndexRune(rnntLabels, r)))
		}
		return labels
	}
	part := func(of func(sample int) []byte) (Input, Input) { // the last samples, as a log of many and as one of few
		var many, alone []Record
		for i := range few {
			data := of(i)
			many, alone = append(many, Record{QSLIndex: uint64(samples - few + i), Data: data}), append(alone, Record{QSLIndex: uint64(i), Data: data})
		}
		return text(formatLog(many)), text(formatLog(alone))
	}
	wanted := slices.Repeat([]string{"no words here"}, samples)
	wanted[samples-2], wanted[samples-1] = "a bc", "one two three"
	words := make([][]string, samples)
	for i := range words {
		words[i] = strings.Fields(wanted[i] + " and some more")
	}
	decode := func(ids []int32) (string, error) { return strings.Join(numerals[:ids[0]], " "), nil }
	for name, c := range map[string]struct {
		answer func(sample int) []byte
		score  func(log Input, from int) (*Score, error) // of the samples from one on
	}{
		"RNN-T": {func(i int) []byte { return letters([]string{"a c", "one two"}[i]) },
			func(log Input, from int) (*Score, error) { return ScoreSpeech(log, wanted[from:], int8s) }},
		"Whisper": {func(i int) []byte { return letters([]string{"a c", "one two"}[i]) },
			func(log Input, from int) (*Score, error) { return ScoreWhisper(log, wanted[from:], int8s) }},
		"ROUGE": {func(i int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(i+2)) },
			func(log Input, from int) (*Score, error) {
				return ScoreSummaries(t.Context(), log, wanted[from:], decode, QuotedForm, Int32)
			}},
		"BLEU": {func(i int) []byte { return []byte([]string{"a bc and some", "one three and some more"}[i]) },
			func(log Input, from int) (*Score, error) { return ScoreTranslations(log, words[from:], nil) }},
		"AUC": {func(i int) []byte { return floats(0.2, 0, 0.4, 1, 0.3, float32(i), 0.6, 0) },
			func(log Input, from int) (*Score, error) { return ScoreClicks(log, samples-from, ClickOptions{}) }},
	} {
		t.Run(name, func(t *testing.T) {
			many, alone := part(c.answer)
			got, want := must(c.score(many, 0)).Values[0], must(c.score(alone, samples-few)).Values[0]
			if got.Value != want.Value || len(got.Resampled) != resamples || !slices.Equal(got.Resampled, want.Resampled) {
				t.Errorf("of %d samples %v, sets %v;\nof two %v, sets %v", samples, got.Value, got.Resampled, want.Value, want.Resampled)
			}
			for _, v := range got.Resampled {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Fatalf("a set has %v", v)
				}
			}
		})
	}
}

// TestSetsWithoutAScore: where a set may have no score, there are no sets rather than some that are not numbers.
func TestSetsWithoutAScore(t *testing.T) {
	log := func(first, second []byte) Input {
		return text(formatLog([]Record{{QSLIndex: 0, Data: first}, {QSLIndex: 1, Data: second}}))
	}
	for name, score := range map[string]*Score{
		"a transcript without words": must(ScoreSpeech(log([]byte{1}, []byte{1}), []string{"", "a"}, int8s)),
		"the same of Whisper":        must(ScoreWhisper(log([]byte{1}, []byte{1}), []string{"", "a"}, int8s)),
		"a sample of each kind":      must(ScoreClicks(log(floats(0.5, 1), floats(0.25, 0)), 2, ClickOptions{})),
	} {
		if v := score.Values[0]; v.Resampled != nil || math.IsNaN(v.Value) {
			t.Errorf("%s: %v, sets %v", name, v.Value, v.Resampled)
		}
	}
}

// The sets have to stay as they are: results are compared with older ones.
func TestSetsStayTheSame(t *testing.T) {
	weights := make([]int, 12)
	draw(weights, 3)
	if got, want := fmt.Sprint(weights), "[1 0 3 1 1 1 0 2 0 0 2 1]"; got != want {
		t.Errorf("set 3 of 12 samples is %s, want %s", got, want)
	}
}

// responses is a log of the responses of a system to a list of samples, in another order than that of the data.
func responses(list []int, of func(sample int) []byte) Input {
	var log []Record
	for i := range list {
		at := (i*7 + 3) % len(list)
		log = append(log, Record{QSLIndex: uint64(at), Data: of(list[at])})
	}
	return text(formatLog(log))
}

// volume is a volume of labels at random.
func volume(sample, seed, labels, size int) []byte {
	random := rand.New(rand.NewPCG(uint64(sample), uint64(seed)))
	v := make([]byte, size)
	for i := range v {
		v[i] = byte(random.IntN(labels))
	}
	return v
}

func scoreWordErrors(_ *testing.T, list []int) Value {
	var wanted []string
	for _, sample := range list {
		wanted = append(wanted, strings.Repeat("a ", sample%5+1)+"bc")
	}
	log := responses(list, func(sample int) (data []byte) {
		for _, letter := range strings.Repeat("a ", sample%3+1) + "bc" {
			data = append(data, byte(strings.IndexRune(rnntLabels, letter)))
		}
		return data
	})
	return must(ScoreSpeech(log, wanted, int8s)).Values[0]
}

func scoreDice(_ *testing.T, list []int) Value {
	var cases []KiTSCase
	for i, sample := range list {
		cases = append(cases, KiTSCase{Name: strconv.Itoa(i), Shape: []int{40}, Truth: EncodeRuns(volume(sample, 1, 3, 40))})
	}
	return must(ScoreKiTS(responses(list, func(sample int) []byte { return volume(sample, 2, 3, 40) }), cases, "")).Values[0]
}

// scoreIoU has a class that only one image in eight has.
func scoreIoU(t *testing.T, list []int) Value {
	counts := NewIoUCounts(9)
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
	return Value{Value: counts.MeanPresent(), Resampled: counts.Score().Values[0].Resampled}
}

var numerals = strings.Fields("one two three four five six seven eight nine ten")

func scoreROUGE(t *testing.T, list []int, which int) Value {
	var wanted []string
	for _, sample := range list {
		wanted = append(wanted, strings.Join(numerals[:sample%9+1], " "))
	}
	decode := func(ids []int32) (string, error) { return strings.Join(numerals[ids[0]:ids[1]], " "), nil }
	log := responses(list, func(sample int) []byte {
		return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, uint32(sample%3)), uint32(sample%4+5))
	})
	return must(ScoreSummaries(t.Context(), log, wanted, decode, QuotedForm, Int32)).Values[which]
}

func scoreBLEU(_ *testing.T, list []int) Value {
	var references [][]string
	for _, sample := range list {
		references = append(references, append(numerals[:4+sample%5:4+sample%5], strconv.Itoa(sample)))
	}
	log := responses(list, func(sample int) []byte { return []byte(strings.Join(numerals[sample%3:6+sample%4], " ")) })
	return must(ScoreTranslations(log, references, nil)).Values[0]
}

func scoreF1(_ *testing.T, list []int) Value {
	var questions []Question
	predictions := map[string]string{}
	for i, sample := range list {
		questions = append(questions, Question{strconv.Itoa(i), []string{strings.Join(numerals[:sample%4+1], " ")}})
		if sample%6 > 0 { // others are not answered
			predictions[strconv.Itoa(i)] = strings.Join(numerals[sample%2:sample%5+1], " ")
		}
	}
	return must(ScoreSQuAD(questions, predictions, 0)).Values[0]
}

// scoreAUC has ties within samples and among them.
func scoreAUC(_ *testing.T, list []int) Value {
	return must(ScoreClicks(responses(list, func(sample int) []byte {
		random := rand.New(rand.NewPCG(5, uint64(sample)))
		var pairs []float32
		for range sample%4 + 1 {
			label := random.IntN(2)
			pairs = append(pairs, float32(random.IntN(8)+2*label)/10, float32(label))
		}
		return floats(pairs...)
	}), len(list), ClickOptions{})).Values[0]
}

func scoreMAP(_ *testing.T, list []int) Value {
	gt, imageIDs, detections := scene{30, 3, 120, 400}.make(5)
	drawn, found := &GroundTruth{Categories: gt.Categories}, []detection(nil)
	var ids []int64
	for i, sample := range list {
		id := 1000*imageIDs[sample] + int64(i) // the order of images decides between equal scores
		ids = append(ids, id)
		for _, a := range gt.Annotations {
			if a.ImageID == imageIDs[sample] {
				a.ImageID, a.ID = id, int64(len(drawn.Annotations)+1)
				drawn.Annotations = append(drawn.Annotations, a)
			}
		}
		for _, d := range detections {
			if d.imageID == imageIDs[sample] {
				d.imageID = id
				found = append(found, d)
			}
		}
	}
	e := evaluate(drawn, ids, found)
	return Value{Value: 100 * e.cocoStats()[0].value, Resampled: e.resampled()}
}

func TestTooManyPredictionsAreNotResampled(t *testing.T) {
	k := &pairKeeper{pairs: make([]keptPair, mostPairs)}
	if k.add(0, 0.5, true); k.resampled() != nil || k.pairs != nil {
		t.Error("more than mostPairs are kept")
	}
	if k.add(0, 0.5, true); k.pairs != nil {
		t.Error("pairs are kept again")
	}
}
