package diffusion

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// randomSchedule is one that is computed here.
func randomSchedule(r *rand.Rand) noiseSchedule {
	s := officialSchedule()
	s.BetaStart = math.Exp(-9 + 3*r.Float64())
	s.BetaEnd = min(s.BetaStart*(2+30*r.Float64()), 0.5)
	s.Trained = 2 + r.IntN(1500)
	s.Offset = r.IntN(min(s.Trained, 3))
	return s
}

// plainNoise is the definition, in float64: betas whose roots lie evenly, what is left of the image after each, and the ratio
// of noise to it.
func plainNoise(s noiseSchedule) (sigmas []float64) {
	left := 1.0
	for i := range s.Trained {
		root := math.Sqrt(s.BetaStart) + (math.Sqrt(s.BetaEnd)-math.Sqrt(s.BetaStart))*float64(i)/float64(s.Trained-1)
		left *= 1 - root*root
		sigmas = append(sigmas, math.Sqrt((1-left)/left))
	}
	return sigmas
}

func TestNoiseIsWhatItsDefinitionSays(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		s := randomSchedule(r)
		if err := s.check(); err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		got, want := s.noise(), plainNoise(s)
		if len(got) != s.Trained || !slices.IsSorted(got) {
			t.Fatalf("%+v: %d amounts of noise, which grow: %t", s, len(got), slices.IsSorted(got))
		}
		for i, exact := range want {
			// Nearly nothing of 1 is lost at the beginning, of which float32 keeps few digits.
			if off := math.Abs(float64(got[i])/exact - 1); off > 1e-3 {
				t.Fatalf("%+v: the noise of step %d is %v, want %v", s, i, got[i], exact)
			}
		}
	}
}

func TestStepsLieEvenlyAndEndAtTheOffset(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		s := randomSchedule(r)
		n := 1 + r.IntN(s.Trained)
		e, err := newEuler(s, n)
		if beyond := (n-1)*(s.Trained/n)+s.Offset >= s.Trained; beyond != (err != nil) {
			t.Fatalf("%d of %d steps from %d on: %v, want an error: %t", n, s.Trained, s.Offset, err, beyond)
		}
		if err != nil {
			continue
		}
		if e.steps() != n || len(e.sigmas) != n+1 || e.timesteps[n-1] != float32(s.Offset) || e.sigmas[n] != 0 {
			t.Fatalf("%d of %d steps from %d on: %v with noise %v", n, s.Trained, s.Offset, e.timesteps, e.sigmas)
		}
		noise := s.noise()
		for i, at := range e.timesteps {
			if i > 0 && e.timesteps[i-1]-at != float32(s.Trained/n) {
				t.Fatalf("%d of %d steps: %v and %v are neighbours", n, s.Trained, e.timesteps[i-1], at)
			}
			if e.sigmas[i] != noise[int(at)] || e.sigmas[i] <= e.sigmas[i+1] {
				t.Fatalf("%d of %d steps: the noise at %v is %v, and %v behind it", n, s.Trained, at, e.sigmas[i], e.sigmas[i+1])
			}
		}
	}
}

func TestALinspaceHasItsEndsAndIsEven(t *testing.T) {
	for _, c := range []struct {
		start, end float32
		n          int
	}{{0, 1, 2}, {0, 1, 11}, {-3, 5, 1000}, {0.029154759, 0.109544516, 1000}, {2, -2, 5}, {1, 1, 4}} {
		got := torchLinspace(c.start, c.end, c.n)
		if len(got) != c.n || got[0] != c.start || got[c.n-1] != c.end {
			t.Errorf("%+v: %d values from %v to %v", c, len(got), got[0], got[c.n-1])
		}
		for i, v := range got {
			exact := float64(c.start) + (float64(c.end)-float64(c.start))*float64(i)/float64(c.n-1)
			if math.Abs(float64(v)-exact) > 2e-7*(math.Abs(float64(c.start))+math.Abs(float64(c.end))) {
				t.Errorf("%+v: value %d is %v, want %v", c, i, v, exact)
			}
		}
	}
}

// A model that always knows which image is behind the noise leads to that image, in however many steps: then the way there is
// a straight line, which Euler's method follows exactly.
func TestWhoKnowsTheImageArrivesAtIt(t *testing.T) {
	image := []float32{-1.5, 0, 0.25, 3}
	noise := []float32{0.5, -2, 1, 0.125}
	for _, n := range []int{1, 2, 20, 50} {
		e := euler(t, n)
		latents := make([]float32, len(image))
		for i := range latents {
			latents[i] = image[i] + e.sigmas[0]*noise[i]
		}
		for step := range e.steps() {
			said := make([]float32, len(latents))
			for i, v := range latents {
				said[i] = (v - image[i]) / e.sigmas[step]
			}
			e.step(latents, said, step)
		}
		for i, v := range latents {
			if math.Abs(float64(v-image[i])) > 1e-4 {
				t.Errorf("in %d steps number %d is %v, want %v", n, i, v, image[i])
			}
		}
	}
}

// What the model reads has the deviation of an image without noise, at every step.
func TestLatentsAreScaledToTheDeviationOfAnImage(t *testing.T) {
	e := euler(t, 20)
	r := rand.New(rand.NewPCG(7, 8))
	const count = 20000
	latents, scaled := make([]float32, count), make([]float32, count)
	for _, step := range []int{0, 7, 19} {
		for i := range latents {
			latents[i] = float32(r.NormFloat64() + float64(e.sigmas[step])*r.NormFloat64())
		}
		e.scaled(scaled, latents, step)
		squares := 0.0
		for _, v := range scaled {
			squares += float64(v) * float64(v)
		}
		if deviation := math.Sqrt(squares / count); math.Abs(deviation-1) > 0.03 {
			t.Errorf("at step %d the deviation is %v", step, deviation)
		}
	}
	if got, want := e.initialNoise(), float32(math.Hypot(float64(e.sigmas[0]), 1)); math.Abs(float64(got/want)-1) > 1e-6 {
		t.Errorf("latents begin with a deviation of %v, want %v", got, want)
	}
}

func TestSchedulesAreCheckedAtTheirBorders(t *testing.T) {
	for _, c := range []struct {
		text string
		good bool
	}{
		{`{"num_train_timesteps":2,"steps_offset":1}`, true},
		{`{"num_train_timesteps":2,"steps_offset":2}`, false},
		{`{"num_train_timesteps":1,"steps_offset":0}`, false},
		{fmt.Sprintf(`{"num_train_timesteps":%d}`, maxTrained), true},
		{fmt.Sprintf(`{"num_train_timesteps":%d}`, maxTrained+1), false},
		{`{"steps_offset":0}`, true}, {`{"steps_offset":-1}`, false},
		{`{"beta_start":0}`, false}, {`{"beta_start":0.012}`, false}, {`{"beta_start":0.0119}`, true},
		{`{"beta_end":1}`, false}, {`{"beta_end":0.999}`, true}, {`{"beta_end":0.00085}`, false},
		{`{"beta_schedule":"linear"}`, false}, {`{"interpolation_type":"log_linear"}`, false}, {`{"final_sigmas_type":"sigma_min"}`, false},
		{`{"use_exponential_sigmas":true}`, false}, {`{"use_beta_sigmas":true}`, false}, {`{"rescale_betas_zero_snr":true}`, false},
		{`{"trained_betas":[]}`, true}, {`{"beta_start":"small"}`, false}, {``, false}, {`[]`, false}, {`{}`, true},
	} {
		s, err := parseSchedule([]byte(c.text))
		if (err == nil) != c.good {
			t.Errorf("%s: %v, want it taken: %t", c.text, err, c.good)
		}
		if err == nil {
			if _, err := newEuler(s, 1); err != nil {
				t.Errorf("%s is taken, and then: %v", c.text, err)
			}
		}
	}
}

// Noise that leaves nothing of an image makes latents that are no numbers: it is refused before a run.
func TestNoiseWithoutEndIsRefused(t *testing.T) {
	s := officialSchedule()
	s.BetaStart, s.BetaEnd = 0.5, 0.9
	if err := s.check(); err != nil {
		t.Fatal(err)
	}
	_, err := newEuler(s, 20)
	if err == nil || !strings.HasSuffix(err.Error(), "nothing is left of an image: beta_start 0.5 and beta_end 0.9 are too much for 1000 steps") {
		t.Errorf("got %v", err)
	}
	s.Trained, s.Offset = 20, 0 // as many as these betas allow
	if e, err := newEuler(s, 20); err != nil || math.IsInf(float64(e.sigmas[0]), 0) {
		t.Errorf("20 steps: %v", err)
	}
}
