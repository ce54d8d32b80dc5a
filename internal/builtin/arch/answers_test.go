package arch

import (
	"math"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A question in pieces, with the text that has the answer.
type asked struct {
	ids, segments []int64
	start, end    int // of the answer
}

// ask makes a question for a word, and a text in which it is followed by an answer as long as its first piece says.
func ask(first int) asked {
	const begin, separator, common = bertBeginID, 102, 1000 // marks and a word that has no code
	word := BERTFirstWord + 77
	question := []int64{begin, common, common + 1, int64(word), common + 2, separator}
	text := []int64{common + 3, int64(BERTFirstWord + 500), common, int64(BERTFirstWord + 901), int64(word)}
	start := len(question) + len(text)
	for i := range bertAnswer(first) {
		text = append(text, int64(first+1000*i))
	}
	text = append(text, common+4, int64(BERTFirstWord+333), common+5, int64(BERTFirstWord+700), separator)
	a := asked{ids: slices.Concat(question, text), start: start, end: start + bertAnswer(first) - 1}
	for i := range a.ids {
		a.segments = append(a.segments, int64(min(1, i/len(question))))
	}
	return a
}

// answer is where a network finds the start and the end, of which the end is not before the start.
func answer(t *testing.T, m *onnx.Model, a asked, padding int) (start, end int) {
	t.Helper()
	n := int64(len(a.ids) + padding)
	ids, segments, mask := newArray(onnx.Int64, 1, n), newArray(onnx.Int64, 1, n), newArray(onnx.Int64, 1, n)
	for i := range a.ids {
		ids.data[i], segments.data[i], mask.data[i] = float64(a.ids[i]), float64(a.segments[i]), 1
	}
	values := evaluate(t, m, map[string]array{"input_ids": ids, "input_mask": mask, "segment_ids": segments})
	return likeliest(values["output_start_logits"].data), likeliest(values["output_end_logits"].data)
}

func checkAnswers(t *testing.T, name string, firsts ...int) {
	t.Helper()
	m, _ := build(t, lookup(t, name), Options{Layers: 3})
	inMemory(t, m)
	for i, first := range firsts {
		a := ask(first)
		if start, end := answer(t, m, a, 3*i); start != a.start || end != a.end {
			t.Errorf("%s: an answer of %d pieces is found from %d to %d, want %d to %d", name, bertAnswer(first), start, end, a.start, a.end)
		}
	}
}

// Three of the layers know all that there is to know. Padding is not looked at.
func TestMobileBERTFindsWhatFollowsAWord(t *testing.T) {
	checkAnswers(t, "mobilebert", BERTFirstWord+2000, BERTFirstWord+2003)
}

func TestMobileBERTFindsAnswersOfAllLengths(t *testing.T) {
	testenv.SkipLong(t, "several texts")
	var firsts []int
	for length := range BERTLengths {
		firsts = append(firsts, BERTFirstWord+4000+length)
	}
	checkAnswers(t, "mobilebert", firsts...)
}

func TestBERTFindsWhatFollowsAWord(t *testing.T) {
	testenv.SkipLong(t, "its tables have 31 million numbers")
	checkAnswers(t, "bert", BERTFirstWord+2000, BERTFirstWord+2003)
}

// What the network says of the noise is the latents, for the most part; the rest follows from the text.
func TestTheSmallUNetPassesTheLatentsOn(t *testing.T) {
	testenv.SkipLong(t, "convolutions")
	m, _ := build(t, lookup(t, "sdxl-mini-unet"), Options{})
	in := inputsOf(m, 2, 500)
	in["timestep"].data[0] = 501
	half := len(in["sample"].data) / 2
	copy(in["sample"].data[half:], in["sample"].data[:half]) // the same latents with two texts
	out := evaluate(t, m, in)["out_sample"]
	latents, said, other := in["sample"].data[:half], out.data[:half], out.data[half:]
	if likeness := dot(latents, said) / math.Sqrt(dot(latents, latents)*dot(said, said)); likeness < 0.8 || likeness > 0.999 {
		t.Errorf("what is said of the noise is like the latents by %v", likeness)
	}
	apart := 0.0
	for i, v := range said {
		apart += abs(v-other[i]) / float64(half)
	}
	if apart < 0.01 {
		t.Errorf("two texts differ by %v", apart)
	}
}

func dot(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// A decoder of latents doubles their size at each level but the first, and makes each image of a batch alone.
func TestADecoderOfLatentsMakesImagesOfThem(t *testing.T) {
	a := sdxlDecoder("tiny", "tiny", "", sdxlVAESize{channels: []int64{4, 4, 8}, layers: 1, groups: 2, side: 3}, 1)
	m, _ := build(t, a, Options{})
	inMemory(t, m)
	in := inputsOf(m, 2, 1)
	both := evaluate(t, m, in)["sample"]
	if !slices.Equal(both.shape, []int64{2, 3, 12, 12}) {
		t.Errorf("images of latents of 3×3 are %v, want 12×12 with three colours", both.shape)
	}
	alone := evaluate(t, m, map[string]array{"latent_sample": in["latent_sample"].sample(0, 1)})["sample"]
	checkArray(t, "the second image", both.sample(0, 1), alone)
	if slices.Equal(both.sample(0, 0).data, alone.data) {
		t.Error("two latents make one image")
	}
}

// The eyes see nothing in their last features but what is added to them, and tell images apart in the others.
func TestEyesScaleAndShiftWhatTheySee(t *testing.T) {
	x := rounded(randoms(3, 2, imageChannels, 24, 24))
	see := func(e Eyes) array {
		e.Input, e.Output, e.Side, e.Seed = "x", "y", 24, 7
		m, err := e.Build()
		if err != nil {
			t.Fatal(err)
		}
		return evaluate(t, m, map[string]array{"x": x})["y"]
	}
	plain, twice := see(Eyes{Scale: 1}), see(Eyes{Scale: 2, Shift: []float32{5}})
	for image := range 2 {
		for i := range EyesFeatures {
			want := 2 * plain.at(image, i)
			if i == 0 {
				want += 5
			}
			if abs(twice.at(image, i)-want) > 1e-5 {
				t.Errorf("image %d, feature %d is %v, want %v", image, i, twice.at(image, i), want)
			}
			if unused := i >= EyesFeatures-EyesUnused; unused && plain.at(image, i) != 0 {
				t.Errorf("image %d, feature %d is %v, want 0", image, i, plain.at(image, i))
			}
		}
	}
	if slices.Equal(plain.sample(0, 0).data, plain.sample(0, 1).data) {
		t.Error("two images have the same features")
	}
}
