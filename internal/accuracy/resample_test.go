package accuracy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/stat"
)

func TestSetsOfSamplesAreThoseOfTheirNumber(t *testing.T) {
	a, b := make([]int, 1000), make([]int, 1000)
	draw(a, 3)
	draw(b, 3)
	if !slices.Equal(a, b) {
		t.Error("the same set is drawn in two ways")
	}
	draw(b, 4)
	if slices.Equal(a, b) {
		t.Error("two sets are the same")
	}
	sum, none := 0, 0
	for _, w := range a {
		if sum += w; w == 0 {
			none++
		}
	}
	if sum != 1000 || none < 300 || none > 440 { // 1/e of them
		t.Errorf("%d were drawn of 1000, %d never", sum, none)
	}
}

// TestAMeanVariesAsItsStandardErrorSays is the textbook's check of a bootstrap.
func TestAMeanVariesAsItsStandardErrorSays(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	values := make([]float64, 2000)
	for i := range values {
		values[i] = random.ExpFloat64()
	}
	got, want := stat.StdDev(resampleMean(values), nil), stat.StdDev(values, nil)/math.Sqrt(2000)
	if got < 0.85*want || got > 1.15*want {
		t.Errorf("the resampled mean varies by %v, want about %v", got, want)
	}
}

// TestIntervalsOfPairedScoresHold: the difference of two systems on the same questions, of which one
// is 2 points better, in 150 sets of questions.
func TestIntervalsOfPairedScoresHold(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const n, sets, better = 400, 150, 2.0
	held, found := 0, 0
	for range sets {
		a, b := make([]float64, n), make([]float64, n)
		for i := range a {
			hard := 40 + 50*random.Float64()
			a[i], b[i] = hard+5*random.NormFloat64(), hard+better+5*random.NormFloat64()
		}
		base, new := resampleMean(a), resampleMean(b)
		for i := range base {
			new[i] -= base[i]
		}
		change, half := stat.Mean(b, nil)-stat.Mean(a, nil), 1.96*stat.StdDev(new, nil)
		if math.Abs(change-better) <= half {
			held++
		}
		if change > half {
			found++
		}
	}
	if held < 90*sets/100 || held > 99*sets/100 || found < 95*sets/100 {
		t.Errorf("of %d intervals %d hold and %d show the difference, want about 95 %% and nearly all", sets, held, found)
	}
}

// TestWeighedImagesCountAsSoMany compares the mean average precision of weighed images with that of a data set
// that has them so many times.
func TestWeighedImagesCountAsSoMany(t *testing.T) {
	gt, detections := scene{12, 3, 80, 300}.make(5)
	e, err := matched(gt, detections, DetectionParams{})
	if err != nil {
		t.Fatal(err)
	}
	score := e.weighedScore(e.weighedClasses())
	weights := make([]int, 12)
	for i := range weights {
		weights[i] = 1
	}
	for range 2 {
		r := evaluate(t, repeated(gt, &detections, weights), detections, DetectionParams{})
		if got, want := score(weights), 100*r.Stats[ap]; math.Abs(got-want) > 1e-9 {
			t.Errorf("of images %v the score is %v, want %v", weights, got, want)
		}
		_, detections = scene{12, 3, 80, 300}.make(5)
		copy(weights, []int{2, 0, 1, 3, 0, 0, 1, 1, 2, 1, 0, 1})
	}
	if all := e.resampled(); len(all) != resamples || stat.StdDev(all, nil) == 0 {
		t.Errorf("%d scores, which vary by %v", len(all), stat.StdDev(all, nil))
	}
	e.p.MaxDets = []int{1, 10, 50}
	if got := e.resampled(); got != nil {
		t.Errorf("without the first of COCO's numbers there are %d scores", len(got))
	}
}

// repeated is a data set, and its detections, that has each image so many times.
func repeated(gt *GroundTruth, detections *[]Detection, weights []int) *GroundTruth {
	out, found := &GroundTruth{Categories: gt.Categories}, []Detection(nil)
	for i, image := range gt.Images {
		for k := range weights[i] {
			twin := image
			twin.ID += int64(1000 * k)
			out.Images = append(out.Images, twin)
			for _, a := range gt.Annotations {
				if a.ImageID == image.ID {
					a.ImageID, a.ID = twin.ID, a.ID+int64(1000*k)
					out.Annotations = append(out.Annotations, a)
				}
			}
		}
	}
	for _, d := range *detections {
		i := slices.IndexFunc(gt.Images, func(image Image) bool { return image.ID == d.ImageID })
		for k := range weights[i] {
			d.ImageID = gt.Images[i].ID + int64(1000*k)
			found = append(found, d)
		}
	}
	*detections = found
	return out
}

func TestTranslationsAreResampledBySentence(t *testing.T) {
	var log strings.Builder
	var references [][]string
	for i := range 40 {
		words := fmt.Sprintf("a b c d e f%d g h", i)
		references = append(references, strings.Fields(words))
		said := words
		if i%4 == 0 {
			said = "a b c x e f g h"
		}
		fmt.Fprintf(&log, "%s{ \"seq_id\" : %d, \"qsl_idx\" : %d, \"data\" : \"%X\" }", map[bool]string{true: "[\n", false: ",\n"}[i == 0], i, i, said)
	}
	log.WriteString("\n]\n")
	score, err := ScoreTranslations(text(log.String()), references, TranslationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if mean := stat.Mean(score.Values[0].Resampled, nil); len(score.Values[0].Resampled) != resamples || math.Abs(mean-score.Values[0].Value) > 2 {
		t.Errorf("%d scores around %v, want %v around %v", len(score.Values[0].Resampled), mean, resamples, score.Values[0].Value)
	}
	counter := newBLEUCounter(4, false)
	before := counter.sums()
	counter.Add(references[0], references[0])
	all := counter.resampled([][]int{counter.since(before)})
	if slices.Min(all) != 100 || slices.Max(all) != 100 {
		t.Errorf("a perfect sentence alone has %v to %v", slices.Min(all), slices.Max(all))
	}
	if all := newBLEUCounter(4, false).resampled([][]int{nil, nil}); slices.Max(all) != 0 {
		t.Errorf("no words have a score of %v", slices.Max(all))
	}
}

func TestAnswersAreResampledByQuestion(t *testing.T) {
	questions := []Question{{"1", []string{"yes"}}, {"2", []string{"no"}}, {"3", []string{"maybe so"}}}
	score, err := ScoreSQuAD(questions, map[string]string{"1": "yes", "3": "maybe"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := (100.0 + 0 + 200.0/3) / 3
	if mean := stat.Mean(score.Values[0].Resampled, nil); math.Abs(mean-want) > 6 || slices.Max(score.Values[0].Resampled) != 100 || slices.Min(score.Values[0].Resampled) != 0 {
		t.Errorf("scores from %v to %v around %v, want 0 to 100 around %v", slices.Min(score.Values[0].Resampled), slices.Max(score.Values[0].Resampled), mean, want)
	}
}

func TestScoresByClass(t *testing.T) {
	log := text("[\n" + strings.Join([]string{record(0, 7), record(1, 8), record(2, 9), record(3, 7)}, ",\n") + "\n]\n")
	score, err := ScoreImageNet(log, []LabeledImage{{"a", 7}, {"b", 7}, {"c", 9}, {"d", 7}, {"not in the log", 1}}, ImageNetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := &Classes{Metric: "Top-1", Unit: "%", Of: "samples", List: []Class{{"7", 200.0 / 3, 3}, {"9", 100, 1}}}
	if diff := cmp.Diff(want, score.Classes); diff != "" {
		t.Errorf("of labels (-want +got):\n%s", diff)
	}

	gt, _ := scene{20, 3, 100, 0}.make(1)
	gt.Categories = append(gt.Categories, Category{ID: 99, Name: "nowhere"})
	gt.Categories[1].Name = gt.Categories[0].Name
	e, err := matched(gt, perfect(gt), DetectionParams{})
	if err != nil {
		t.Fatal(err)
	}
	classes := summarise(e.accumulate(), e.p).classes(gt, e.wantedByClass())
	var names []string
	count := 0
	for _, c := range classes.List {
		names, count = append(names, c.Name), count+c.Count
		if math.Abs(c.Value-100) > 1e-9 {
			t.Errorf("%s has an AP of %v %%, want 100", c.Name, c.Value)
		}
	}
	if diff := cmp.Diff([]string{"0", "0 (3)", "2"}, names); diff != "" || count != len(perfect(gt)) {
		t.Errorf("%d objects, classes (-want +got):\n%s", count, diff)
	}

	iou, err := NewIoUCounts(3)
	if err != nil {
		t.Fatal(err)
	}
	if err := iou.Add(0, []uint8{1, 1, 2, 2}, []uint8{1, 2, 2, 2}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Class{{"1", 0.5, 1}, {"2", 2.0 / 3, 3}}, iou.Score().Classes.List); diff != "" {
		t.Errorf("of pixels (-want +got):\n%s", diff)
	}
}

// record is one of a label.
func record(sample int, label float32) string {
	return fmt.Sprintf(`{ "seq_id" : %d, "qsl_idx" : %d, "data" : "%X" }`, sample, sample, float32s(label))
}
