package simulated

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func open(t *testing.T, config Config, options backend.Options) backend.Session {
	t.Helper()
	engine, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	s, err := engine.Open(context.Background(), options)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// samples binds an input of numbers, one a row.
func samples(t *testing.T, s backend.Session, numbers ...float32) []backend.Value {
	t.Helper()
	v, err := s.Bind(tensor.Of(numbers, int64(len(numbers)), 1))
	if err != nil {
		t.Fatal(err)
	}
	return []backend.Value{v}
}

// timed runs once and returns what it took.
func timed(t *testing.T, s backend.Session, batch int) time.Duration {
	t.Helper()
	start := time.Now()
	if err := s.Run(context.Background(), samples(t, s, make([]float32, batch)...), make([]backend.Value, 1)); err != nil {
		t.Fatal(err)
	}
	return time.Since(start)
}

func TestTimeOfRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Config{Latency: 10 * time.Millisecond, PerSample: 2 * time.Millisecond, SlowEvery: 4, SlowTime: time.Second}, backend.Options{})
		for _, test := range []struct {
			batch int
			want  time.Duration
		}{{1, 10 * time.Millisecond}, {2, 12 * time.Millisecond}, {8, 24 * time.Millisecond}, {1, time.Second + 10*time.Millisecond}, {0, 10 * time.Millisecond}} {
			if got := timed(t, s, test.batch); got != test.want {
				t.Errorf("a batch of %d took %v, want %v", test.batch, got, test.want)
			}
		}
	})
}

// The samples of a graph are the rows of its answers, and not the nodes of its first input.
func TestSamplesOfAGraph(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, Config{
			Latency: 10 * time.Millisecond, PerSample: 2 * time.Millisecond,
			Inputs:  []backend.Port{{Name: "nodes", Type: tensor.Float32, Shape: tensor.Shape{-1, 1}, Axes: []string{"nodes", ""}}},
			Outputs: []backend.Port{{Name: "scores", Type: tensor.Int64, Shape: tensor.Shape{-1, 2}, Axes: []string{"samples", ""}}},
		}, backend.Options{})
		nodes, scores := tensor.Of([]float32{7, 5, 3, 9, 8}, 5, 1), tensor.New(tensor.Int64, 2, 2)
		inputs, err := backend.BindAll(s, []tensor.Tensor{nodes})
		testenv.Must(t, err)
		outputs, err := backend.BindAll(s, []tensor.Tensor{scores})
		testenv.Must(t, err)
		start := time.Now()
		testenv.Must(t, s.Run(t.Context(), inputs, outputs))
		if d := time.Since(start); d != 12*time.Millisecond {
			t.Errorf("two samples took %v, want 12 ms", d)
		}
		if got := tensor.Data[int64](scores); !slices.Equal(got, []int64{7, 8, 5, 6}) {
			t.Errorf("scores are %v, want those of the first two rows", got)
		}
	})
}

func TestJitter(t *testing.T) {
	const latency, jitter, runs = 100 * time.Millisecond, 10 * time.Millisecond, 2000
	times := func(seed uint64) (all []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, Config{Latency: latency, Jitter: jitter, Seed: seed}, backend.Options{})
			for range runs {
				all = append(all, timed(t, s, 1))
			}
		})
		return all
	}
	first := times(1)
	if !slices.Equal(first, times(1)) {
		t.Error("the same seed gave other times")
	}
	if slices.Equal(first, times(2)) {
		t.Error("another seed gave the same times")
	}
	var sum, squares float64
	for _, d := range first {
		sum += float64(d)
		squares += float64(d-latency) * float64(d-latency)
	}
	if mean, sd := sum/runs, math.Sqrt(squares/runs); math.Abs(mean-float64(latency)) > 1e6 || math.Abs(sd-float64(jitter)) > 1e6 {
		t.Errorf("mean %v, standard deviation %v, want %v and %v", time.Duration(mean), time.Duration(sd), latency, jitter)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	enough := errors.New("enough")
	for _, latency := range []time.Duration{0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, Config{Latency: latency, Parallel: 1}, backend.Options{})
			ctx, cancel := context.WithCancelCause(t.Context())
			if latency == 0 {
				cancel(enough)
			}
			time.AfterFunc(time.Second, func() { cancel(enough) })
			start := time.Now()
			var group sync.WaitGroup
			for range 2 { // one runs, one waits for its turn
				group.Go(func() {
					if err := s.Run(ctx, samples(t, s, 1), make([]backend.Value, 1)); !errors.Is(err, enough) {
						t.Errorf("the run ended with %v, want %v", err, enough)
					}
				})
			}
			group.Wait()
			if took := time.Since(start); took > time.Second {
				t.Errorf("the runs ended %v after they began, want a second", took)
			}
		})
	}
}

func TestPortsOfTheFile(t *testing.T) {
	engine, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	b := arch.NewBuilder("identity", 1)
	x := b.Input("image", onnx.Float32, onnx.Batched(3))
	b.Output(b.Node("Identity", "copy", []*onnx.Value{x}, nil, x.Type)[0])
	m, _, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "identity.onnx")
	if err := m.WriteFile(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{path: "image", "": "input"} {
		options := backend.Options{ModelPath: path}
		in, _, err := engine.Ports(t.Context(), options)
		if err != nil || len(in) != 1 || in[0].Name != want {
			t.Errorf("the inputs of %q are %v, %v, want %s", path, in, err, want)
		}
		s, err := engine.Open(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Info().Inputs[0].Name; got != want {
			t.Errorf("%q opens with the input %s, want %s", path, got, want)
		}
	}
	if _, _, err := engine.Ports(t.Context(), backend.Options{ModelPath: path + "x.onnx"}); err == nil {
		t.Error("the ports of a file that is not there were told, want an error")
	}
}

func TestParallel(t *testing.T) {
	for _, test := range []struct {
		parallel int
		want     time.Duration
	}{{0, time.Second}, {1, 6 * time.Second}, {2, 3 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, Config{Latency: time.Second, Parallel: test.parallel}, backend.Options{})
			start := time.Now()
			var group sync.WaitGroup
			for range 6 {
				group.Go(func() { timed(t, s, 1) })
			}
			group.Wait()
			if got := time.Since(start); got != test.want {
				t.Errorf("6 runs, %d at once, took %v, want %v", test.parallel, got, test.want)
			}
		})
	}
}

func TestInjectedFailures(t *testing.T) {
	s := open(t, Config{FailEvery: 3, NaNEvery: 4,
		Outputs: []backend.Port{{Name: "f", Type: tensor.Float32, Shape: tensor.Shape{-1}}, {Name: "d", Type: tensor.Float64, Shape: tensor.Shape{-1}},
			{Name: "i", Type: tensor.Int64, Shape: tensor.Shape{-1}}}}, backend.Options{})
	var got []string
	for range 8 {
		outputs := make([]backend.Value, 3)
		err := s.Run(context.Background(), samples(t, s, 7), outputs)
		switch {
		case errors.Is(err, ErrInjected):
			got = append(got, "fail")
		case err != nil:
			t.Fatal(err)
		default:
			got = append(got, fmt.Sprint(tensor.Data[float32](outputs[0].Tensor())[0], tensor.Data[float64](outputs[1].Tensor())[0], tensor.Data[int64](outputs[2].Tensor())[0]))
		}
	}
	if want := []string{"7 7 7", "7 7 7", "fail", "NaN NaN 7", "7 7 7", "fail", "7 7 7", "NaN NaN 7"}; !slices.Equal(got, want) {
		t.Errorf("runs ended as %q, want %q", got, want)
	}
}

func TestOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine, err := New(Config{OpenTime: 30 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		s, err := engine.Open(context.Background(), backend.Options{})
		if err != nil || s.Info().LoadTime != 30*time.Second {
			t.Errorf("LoadTime = %v, %v, want 30s", s.Info().LoadTime, err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := engine.Open(ctx, backend.Options{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", err)
		}
		broken := errors.New("no such model")
		engine, _ = New(Config{OpenError: broken})
		if _, err := engine.Open(context.Background(), backend.Options{}); !errors.Is(err, broken) {
			t.Errorf("got %v, want %v", err, broken)
		}
	})
}

func TestEchoOfBatches(t *testing.T) {
	ports := []backend.Port{{Name: "scores", Type: tensor.Float32, Shape: tensor.Shape{-1, 3}}, {Name: "word", Type: tensor.String, Shape: tensor.Shape{-1}}}
	s := open(t, Config{Outputs: ports}, backend.Options{})
	answer := func(numbers ...float32) (scores []float32, words []string) {
		outputs := make([]backend.Value, 2)
		if err := s.Run(context.Background(), samples(t, s, numbers...), outputs); err != nil {
			t.Fatal(err)
		}
		return tensor.Data[float32](outputs[0].Tensor()), outputs[1].Tensor().Strings()
	}
	scores, words := answer(5, 0.25, 900)
	if !slices.Equal(scores[:3], []float32{5, 6, 7}) || !slices.Equal(scores[6:], []float32{900, 901, 902}) || words[2] != "900" {
		t.Errorf("answers are %v, %q", scores, words)
	}
	if alone, word := answer(0.25); !slices.Equal(alone, scores[3:6]) || word[0] != words[1] {
		t.Errorf("0.25 alone: %v, %q; in a batch: %v, %q", alone, word, scores[3:6], words[1])
	}
	if other, _ := answer(0.75); slices.Equal(other, scores[3:6]) {
		t.Error("another sample got the same answer")
	}
}

func TestEchoOfTypes(t *testing.T) {
	for d := tensor.Float32; d <= tensor.String; d++ {
		s := open(t, Config{Outputs: []backend.Port{{Name: "y", Type: d, Shape: tensor.Shape{-1, 2}}}}, backend.Options{})
		outputs := make([]backend.Value, 1)
		if err := s.Run(context.Background(), samples(t, s, 1), outputs); err != nil {
			t.Fatal(err)
		}
		y := outputs[0].Tensor()
		written := slices.ContainsFunc(y.Bytes(), func(b byte) bool { return b != 0 }) || slices.Contains(y.Strings(), "1")
		if y.Type != d || !written {
			t.Errorf("%v: got %v with %v %q", d, y, y.Bytes(), y.Strings())
		}
	}
}

func TestAnswer(t *testing.T) {
	s := open(t, Config{Answer: func(in, out []tensor.Tensor) error {
		tensor.Data[int64](out[0])[0] = int64(10 * tensor.Data[float32](in[0])[0])
		return nil
	}}, backend.Options{})
	y := tensor.New(tensor.Int64, 1)
	out, err := s.Bind(y)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(context.Background(), samples(t, s, 4), []backend.Value{out}); err != nil || tensor.Data[int64](y)[0] != 40 {
		t.Errorf("got %v, %v, want 40", tensor.Data[int64](y)[0], err)
	}
	broken := errors.New("broken")
	s = open(t, Config{Answer: func(_, _ []tensor.Tensor) error { return broken }}, backend.Options{})
	if err := s.Run(context.Background(), samples(t, s, 4), make([]backend.Value, 1)); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

// What Echo makes of a sample, computed plainly: the mark is the first number, or FNV-1a of lengths and of every step-th byte.
func TestMarks(t *testing.T) {
	drawn := func(parts ...[]byte) int64 {
		h := uint64(14695981039346656037)
		for _, part := range parts {
			h = (h ^ uint64(len(part))) * 1099511628211
			for i := 0; i < len(part); i += len(part)/4096 + 1 | 1 {
				h = (h ^ uint64(part[i])) * 1099511628211
			}
		}
		return int64(h % 1000)
	}
	bytesOf := func(in tensor.Tensor) []byte { return in.Bytes() }
	half, minus, long := tensor.Of([]float32{0.5}, 1), tensor.Of([]int32{-3}, 1), tensor.Of(make([]uint8, 10000), 1, 10000)
	for i := range tensor.Data[uint8](long) {
		tensor.Data[uint8](long)[i] = byte(7 * i)
	}
	words := tensor.OfStrings([]string{"one", ""}, 1, 2)
	for _, c := range []struct {
		name   string
		inputs []tensor.Tensor
		want   int64
	}{
		{"nothing", []tensor.Tensor{tensor.Of([]float32{0}, 1)}, 0},
		{"a whole float64", []tensor.Tensor{tensor.Of([]float64{65535}, 1)}, 65535},
		{"the first of several", []tensor.Tensor{tensor.Of([]int64{7, 9}, 1, 2), half}, 7},
		{"half a number", []tensor.Tensor{half}, drawn(bytesOf(half))},
		{"a number below 0", []tensor.Tensor{minus, half}, drawn(bytesOf(minus), bytesOf(half))},
		{"a number that is too large", []tensor.Tensor{tensor.Of([]int32{65536}, 1)}, drawn([]byte{0, 0, 1, 0})},
		{"no number", []tensor.Tensor{tensor.Of([]float32{float32(math.NaN())}, 1)}, drawn(tensor.Of([]float32{float32(math.NaN())}, 1).Bytes())},
		{"many bytes", []tensor.Tensor{long}, drawn(bytesOf(long))},
		{"texts", []tensor.Tensor{words}, drawn(bytesOf(words), []byte("one"), nil)},
		{"no elements", []tensor.Tensor{tensor.New(tensor.Float32, 1, 0)}, drawn(nil)},
		{"no inputs", nil, drawn()},
	} {
		out := tensor.New(tensor.Int64, 1, 2)
		if err := Echo(c.inputs, []tensor.Tensor{out}); err != nil {
			t.Fatal(err)
		}
		if got := tensor.Data[int64](out); got[0] != c.want || got[1] != c.want+1 {
			t.Errorf("%s: %v, want %d and the next", c.name, got, c.want)
		}
	}
}

func TestOutputsCountUp(t *testing.T) {
	in := []tensor.Tensor{tensor.Of([]int64{5}, 1)}
	for _, c := range []struct {
		out  tensor.Tensor
		want string
	}{
		{tensor.New(tensor.Bool, 1, 3), "[1 0 1]"}, {tensor.New(tensor.Uint8, 1, 2), "[5 6]"}, {tensor.New(tensor.Int8, 1, 2), "[5 6]"},
		{tensor.New(tensor.BFloat16, 1, 2), "[5 0 6 0]"}, {tensor.New(tensor.Float16, 1, 2), "[5 0 6 0]"},
	} {
		if err := Echo(in, []tensor.Tensor{c.out}); err != nil || fmt.Sprint(c.out.Bytes()) != c.want {
			t.Errorf("%v is %v, %v, want %s", c.out.Type, c.out.Bytes(), err, c.want)
		}
	}
	once := tensor.New(tensor.Int64, 1) // an output without a row for each sample is that of the last one
	if err := Echo([]tensor.Tensor{tensor.Of([]int64{5, 8}, 2)}, []tensor.Tensor{once}); err != nil || tensor.Data[int64](once)[0] != 8 {
		t.Errorf("of two samples %v, %v", tensor.Data[int64](once), err)
	}
}

func TestAllocatedOutputs(t *testing.T) {
	ports := []backend.Port{{Name: "free", Type: tensor.Int64, Shape: tensor.Shape{-1, -1, 4}}, {Name: "fixed", Type: tensor.Int64, Shape: tensor.Shape{7, -1}}, {Name: "scalar", Type: tensor.Int64}}
	s := open(t, Config{Outputs: ports}, backend.Options{})
	outputs := make([]backend.Value, 3)
	if err := s.Run(t.Context(), samples(t, s, 1, 2, 3), outputs); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"[3 1 4]", "[7 1]", "[]"} {
		if got := fmt.Sprint(outputs[i].Tensor().Shape); got != want {
			t.Errorf("%s is %s, want %s", ports[i].Name, got, want)
		}
	}
	if fmt.Sprint(ports[0].Shape) != "[? ? 4]" {
		t.Errorf("the port is %v now", ports[0].Shape)
	}
	// A free axis of an output is as long as that of the same name of an input.
	named := open(t, Config{
		Inputs:  []backend.Port{{Name: "picture", Type: tensor.Float32, Shape: tensor.Shape{1, -1, -1}, Axes: []string{"", "height", "width"}}},
		Outputs: []backend.Port{{Name: "scores", Type: tensor.Float32, Shape: tensor.Shape{1, 19, -1, -1}, Axes: []string{"", "", "height", "width"}}},
	}, backend.Options{})
	picture, err := named.Bind(tensor.New(tensor.Float32, 1, 5, 6))
	if err != nil {
		t.Fatal(err)
	}
	scores := make([]backend.Value, 1)
	if err := named.Run(t.Context(), []backend.Value{picture}, scores); err != nil || fmt.Sprint(scores[0].Tensor().Shape) != "[1 19 5 6]" {
		t.Errorf("%v, %v", scores[0], err)
	}
	wrong, err := s.Bind(tensor.New(tensor.Int64, 3, 1, 5))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context(), samples(t, s, 1, 2, 3), []backend.Value{wrong, nil, nil}); err == nil || !strings.Contains(err.Error(), "output free: got int64[3 1 5], the model has int64[? ? 4]") {
		t.Errorf("an output of another size: %v", err)
	}
}

func TestChosenOutputs(t *testing.T) {
	ports := []backend.Port{{Name: "a", Type: tensor.Int64}, {Name: "b", Type: tensor.Int64}, {Name: "c", Type: tensor.Int64}}
	s := open(t, Config{Outputs: ports}, backend.Options{Outputs: []string{"c", "a"}, Device: "cpu"})
	if got := s.Info().Outputs; len(got) != 2 || got[0].Name != "c" || got[1].Name != "a" {
		t.Errorf("outputs %v", got)
	}
	if facts := s.Info().Facts; facts["sim_latency"] != "0s" || facts["sim_parallel"] != "0" || len(facts) != 5 {
		t.Errorf("facts %v", facts)
	}
}

func TestMisuse(t *testing.T) {
	for _, config := range []Config{{Latency: -1}, {Jitter: -1}, {Parallel: -1}, {FailEvery: -2}, {OpenTime: -1}, {Inputs: []backend.Port{{Name: "x"}}}} {
		if _, err := New(config); err == nil {
			t.Errorf("New(%+v) succeeded, want an error", config)
		}
	}
	engine, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, options := range []backend.Options{{Device: "cuda"}, {Outputs: []string{"nothing"}}} {
		if _, err := engine.Open(context.Background(), options); err == nil {
			t.Errorf("Open(%+v) succeeded, want an error", options)
		}
	}
	s, err := engine.Open(context.Background(), backend.Options{Outputs: []string{"output"}})
	if err != nil {
		t.Fatal(err)
	}
	wrongType, _ := s.Bind(tensor.New(tensor.Int8, 1, 1))
	closed := samples(t, s, 1)[0]
	closed.Close()
	for name, inputs := range map[string][]backend.Value{"none": nil, "nil": {nil}, "type": {wrongType}, "closed": {closed}} {
		if err := s.Run(context.Background(), inputs, make([]backend.Value, 1)); err == nil || !strings.HasPrefix(err.Error(), "running the simulated model: ") {
			t.Errorf("inputs %s: got %v, want an error", name, err)
		}
	}
	if _, err := s.Bind(tensor.Tensor{}); err == nil {
		t.Error("no tensor was bound, want an error")
	}
	if err := engine.Close(); err == nil {
		t.Error("an engine with an open session was closed, want an error")
	}
	if err := errors.Join(s.Close(), s.Close(), engine.Close()); err != nil {
		t.Error(err)
	}
	if err := s.Run(context.Background(), samplesOf(1), make([]backend.Value, 1)); err == nil {
		t.Error("a closed session ran, want an error")
	}
	if _, err := engine.Open(context.Background(), backend.Options{}); err == nil {
		t.Error("a closed engine opened a model, want an error")
	}
	if engine.Runs() != 0 {
		t.Errorf("Runs() = %d, want 0", engine.Runs())
	}
}

// view is a value over a tensor that has a type.
func view(t tensor.Tensor) backend.Value {
	v, err := backend.NewView(t)
	if err != nil {
		panic(err)
	}
	return v
}

func samplesOf(n float32) []backend.Value {
	return []backend.Value{view(tensor.Of([]float32{n}, 1, 1))}
}

func BenchmarkRun(b *testing.B) {
	engine, err := New(Config{})
	if err != nil {
		b.Fatal(err)
	}
	s, err := engine.Open(context.Background(), backend.Options{})
	if err != nil {
		b.Fatal(err)
	}
	in, out := samplesOf(1), []backend.Value{view(tensor.New(tensor.Int64, 1))}
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Run(context.Background(), in, out); err != nil {
			b.Fatal(err)
		}
	}
}

func TestNaN(t *testing.T) {
	types := []tensor.DType{tensor.Float32, tensor.Float64, tensor.Float16, tensor.BFloat16, tensor.Int32, tensor.Uint8}
	var ports []backend.Port
	for _, d := range types {
		ports = append(ports, backend.Port{Name: d.String(), Type: d, Shape: tensor.Shape{-1, 2}})
	}
	s := open(t, Config{Outputs: ports, NaNEvery: 2}, backend.Options{})
	for k := 1; k <= 4; k++ {
		outputs := make([]backend.Value, len(ports))
		if err := s.Run(t.Context(), samples(t, s, 3), outputs); err != nil {
			t.Fatal(err)
		}
		for i, v := range outputs {
			d, x := types[i], v.Tensor()
			var numbers []float64
			switch d {
			case tensor.Float32:
				for _, f := range tensor.Data[float32](x) {
					numbers = append(numbers, float64(f))
				}
			case tensor.Float64:
				numbers = tensor.Data[float64](x)
			case tensor.Float16, tensor.BFloat16: // a sign, an exponent of all ones, a fraction that is not zero
				exponent := map[tensor.DType]uint16{tensor.Float16: 0x7c00, tensor.BFloat16: 0x7f80}[d]
				for _, bits := range tensor.Data[uint16](x) {
					if bits&exponent == exponent && bits&^(exponent|0x8000) != 0 {
						numbers = append(numbers, math.NaN())
					} else {
						numbers = append(numbers, 0)
					}
				}
			default:
				if x.Bytes()[0] != 3 {
					t.Errorf("run %d: %v begins with %d, want its mark", k, d, x.Bytes()[0])
				}
			}
			for _, n := range numbers {
				if math.IsNaN(n) != (k%2 == 0) {
					t.Errorf("run %d: %v has %v", k, d, n)
				}
			}
		}
	}
}

// An engine counts its sessions: closing one twice must not let it be closed while another is open.
func TestClosedTwice(t *testing.T) {
	engine, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	var list []backend.Session
	for range 2 {
		s, err := engine.Open(t.Context(), backend.Options{})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	if err := errors.Join(list[0].Close(), list[0].Close(), list[0].Close()); err != nil {
		t.Error(err)
	}
	if err := engine.Close(); err == nil || !strings.Contains(err.Error(), "1 ") {
		t.Errorf("an engine of which a session is open is closed with %v", err)
	}
	if err := list[1].Run(context.Background(), samples(t, list[1], 1), make([]backend.Value, 1)); err != nil {
		t.Error(err)
	}
	if err := errors.Join(list[1].Close(), engine.Close()); err != nil {
		t.Error(err)
	}
}
