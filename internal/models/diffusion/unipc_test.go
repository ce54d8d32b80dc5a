package diffusion

import (
	"math"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// The steps equal those of diffusers 0.35.2 with a stated network (testdata/make_unipc.py).
func TestUniPCEqualsDiffusers(t *testing.T) {
	golden := testenv.JSON[struct {
		Runs []struct {
			Shift     float64 `json:"flow_shift"`
			Steps     int
			Timesteps []int64
			Sigmas    []float32
			High      int `json:"high_noise_steps"`
			Start     []float32
			End       []float64
			Trace     []struct {
				T      int64
				Expert string
				X      []float64
			}
		}
	}](t, "testdata/unipc.json")
	if len(golden.Runs) != 8 {
		t.Fatalf("%d runs, want 8", len(golden.Runs))
	}
	for _, run := range golden.Runs {
		s := officialFlow()
		s.Shift = run.Shift
		u, err := newUniPC(s, run.Steps)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(u.timesteps, run.Timesteps) || !slices.Equal(u.sigmas, run.Sigmas) {
			t.Errorf("shift %v: steps %v with noise %v, want %v and %v", run.Shift, u.timesteps, u.sigmas, run.Timesteps, run.Sigmas)
		}
		x, state := slices.Clone(run.Start), newUniPCState(len(run.Start))
		high := 0
		for step, want := range run.Trace {
			expert, guidance := expertOf(float64(u.timesteps[step]), s.Trained)
			if expert != want.Expert {
				t.Errorf("shift %v, step %d: %s, want %s", run.Shift, step, expert, want.Expert)
			}
			if expert == transformer {
				high++
			}
			with, without := make([]float32, len(x)), make([]float32, len(x))
			for i, v := range x {
				noise := float32(float64(u.timesteps[step]) / 1000)
				with[i], without[i] = 0.3*v+0.1*noise, 0.2*v-0.05*noise
			}
			guide(without, with, guidance)
			u.step(state, x, without, step)
			for i, v := range want.X {
				if math.Abs(float64(x[i])-v) > 2e-6*(1+math.Abs(v)) {
					t.Fatalf("shift %v, %d steps, step %d: number %d is %v, want %v", run.Shift, run.Steps, step, i, x[i], v)
				}
			}
		}
		for i, v := range run.End {
			if math.Abs(float64(x[i])-v) > 2e-6*(1+math.Abs(v)) {
				t.Errorf("shift %v, %d steps: number %d is %v at the end, want %v", run.Shift, run.Steps, i, x[i], v)
			}
		}
		if high != run.High {
			t.Errorf("shift %v: %d steps of the high-noise expert, want %d", run.Shift, high, run.High)
		}
	}
}

func TestFlowSchedules(t *testing.T) {
	s, err := parseFlow([]byte(`{"_class_name":"UniPCMultistepScheduler","flow_shift":5,"use_flow_sigmas":true,"disable_corrector":[]}`))
	if err != nil || s.Shift != 5 || s.Trained != 1000 {
		t.Errorf("%+v, %v", s, err)
	}
	for text, want := range map[string]string{
		`{"_class_name":"FlowMatchEulerDiscreteScheduler"}`: "_class_name … FlowMatchEulerDiscreteScheduler … UniPCMultistepScheduler",
		`{"solver_order":3}`:            "solver_order … 3 … 2",
		`{"prediction_type":"epsilon"}`: "prediction_type … epsilon … flow_prediction",
		`{"flow_shift":0}`:              "shift … 0 … 100",
		`{"flow_shift":101}`:            "shift … 101 … 100",
		`{"use_karras_sigmas":true}`:    "Karras",
		`{"num_train_timesteps":1}`:     "num_train_timesteps … 1 … 2",
		`{"predict_x0":false}`:          "predict_x0 … false … true",
	} {
		if _, err := parseFlow([]byte(text)); !testenv.Names(err, want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := newUniPC(s, 1001); !testenv.Names(err, "1001 … 1000") {
		t.Errorf("too many steps: %v", err)
	}
}
