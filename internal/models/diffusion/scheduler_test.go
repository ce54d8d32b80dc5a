package diffusion

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// schedulerGolden is what testdata/make_scheduler.py computes with NumPy.
type schedulerGolden struct {
	Schedules []struct {
		Steps             int
		Timesteps, Sigmas []float32
		Exact             []float64
		Initial           float32
	}
	Loop struct {
		Steps    int
		Guidance float32
		Latents  []float32
		Trace    [][]float32
	}
}

func readSchedulerGolden(t testing.TB) (g schedulerGolden) {
	t.Helper()
	data, err := os.ReadFile("testdata/scheduler.json")
	if err == nil {
		err = json.Unmarshal(data, &g)
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func euler(t testing.TB, steps int) *eulerScheduler {
	t.Helper()
	e, err := newEuler(officialSchedule(), steps)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestStepsAndNoiseAreThoseOfDiffusers(t *testing.T) {
	for _, want := range readSchedulerGolden(t).Schedules {
		e := euler(t, want.Steps)
		if !slices.Equal(e.timesteps, want.Timesteps) || !slices.Equal(e.sigmas, want.Sigmas) || e.initialNoise() != want.Initial {
			t.Errorf("%d steps: %v with %v from %v on, want %v with %v from %v on", want.Steps, e.timesteps, e.sigmas, e.initialNoise(), want.Timesteps, want.Sigmas, want.Initial)
		}
		for i, exact := range want.Exact {
			if off := math.Abs(float64(e.sigmas[i])/exact - 1); off > 1e-5 {
				t.Errorf("%d steps: the noise of step %d is off by %g", want.Steps, i, off)
			}
		}
	}
}

func TestALoopTakesNoiseAwayAsDiffusersDoes(t *testing.T) {
	want := readSchedulerGolden(t).Loop
	e := euler(t, want.Steps)
	latents := slices.Clone(want.Latents)
	for i := range latents {
		latents[i] *= e.initialNoise()
	}
	scaled, without, with := make([]float32, len(latents)), make([]float32, len(latents)), make([]float32, len(latents))
	for i, at := range e.timesteps {
		e.scaled(scaled, latents, i)
		for k, v := range scaled { // the model that make_scheduler.py has, too
			without[k] = float32(v*0.75) + 0.1
			with[k] = float32(v*0.7) - at/4000
		}
		guide(without, with, want.Guidance)
		e.step(latents, without, i)
		for k, v := range latents {
			if w := want.Trace[i][k]; math.Abs(float64(v-w)) > 4e-6*math.Abs(float64(w)) {
				t.Fatalf("after step %d number %d is %v, want %v", i, k, v, w)
			}
		}
	}
}

func TestGuide(t *testing.T) {
	for scale, want := range map[float32][]float32{0: {1, 2}, 1: {3, 1}, 8: {17, -6}} {
		without := []float32{1, 2}
		if guide(without, []float32{3, 1}, scale); !slices.Equal(without, want) {
			t.Errorf("guidance %v is %v, want %v", scale, without, want)
		}
	}
}

func TestScheduleErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no JSON", "<html>", "invalid character"},
		{"another scheduler", `{"_class_name":"DDIMScheduler"}`, `_class_name is "DDIMScheduler": must be "EulerDiscreteScheduler"`},
		{"another spacing", `{"timestep_spacing":"trailing"}`, `timestep_spacing is "trailing": must be "leading"`},
		{"velocities", `{"prediction_type":"v_prediction"}`, `prediction_type is "v_prediction"`},
		{"Karras", `{"use_karras_sigmas":true}`, "sigmas are Karras"},
		{"given betas", `{"trained_betas":[0.1]}`, "sigmas are Karras"},
		{"a negative beta", `{"beta_start":-1}`, "beta_start is -1"},
		{"no steps", `{"num_train_timesteps":0}`, "num_train_timesteps is 0"},
		{"many steps", `{"num_train_timesteps":1000000000}`, "num_train_timesteps is 1000000000"},
		{"an offset beyond", `{"steps_offset":1000}`, "steps_offset 1000"},
	} {
		if _, err := parseSchedule([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if s, err := parseSchedule([]byte(`{"clip_sample":false,"skip_prk_steps":true,"trained_betas":null,"sigma_min":null}`)); err != nil || s.check() != nil {
		t.Errorf("the official one: %+v, %v", s, err)
	}
	for steps, want := range map[int]string{0: "0 steps, expected", 1001: "1001 steps, expected", 1000: "step 1000 is beyond"} {
		if _, err := newEuler(officialSchedule(), steps); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d steps: %v, want %q", steps, err, want)
		}
	}
}

func FuzzSchedule(f *testing.F) {
	f.Add([]byte(`{"beta_start":0.00085,"num_train_timesteps":1000}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := parseSchedule(text)
		if err != nil {
			return
		}
		if e, err := newEuler(s, 1); err == nil && !(e.sigmas[0] >= 0) {
			t.Errorf("%s: noise %v", text, e.sigmas)
		}
	})
}
