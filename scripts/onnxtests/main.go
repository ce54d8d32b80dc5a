// Onnxtests gives the test data of the ONNX project to mlperf: models with inputs and the outputs that they should have.
//
//	go run ./scripts/onnxtests [-mlperf bin/mlperf] [-update] onnx/backend/test/data
//
// Each model runs with "mlperf run --mode accuracy". The program prints how many had equal outputs, other ones, or were refused, and
// the messages. known.txt lists those that are not equal; the exit status is 1 where another model is, or one ends in another way.
// -update writes the list anew.
package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/machine/workerpool"
	"github.com/mlperf-go/mlperf/internal/models/singlepass"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
)

// Outcomes of a model.
const (
	equal     = "equal"
	different = "different" // outputs
	refused   = "refused"   // by mlperf, with a message
	noArray   = "no-array"  // its data have a type or form that .npy files do not have
	broken    = "broken"    // mlperf ended in no orderly way
)

// A result is the outcome of a model, and the line that says why.
type result struct{ name, outcome, why string }

const (
	list    = "scripts/onnxtests/known.txt"
	patient = 2 * time.Minute // for a model
)

//go:embed known.txt
var known string

func main() {
	mlperf := flag.String("mlperf", "bin/mlperf", "the program")
	update := flag.Bool("update", false, "write "+list+" anew")
	flag.Parse()
	if err := run(*mlperf, flag.Arg(0), *update); err != nil {
		fmt.Fprintln(os.Stderr, "onnxtests:", err)
		os.Exit(1)
	}
}

func run(mlperf, data string, update bool) error {
	mlperf, err := filepath.Abs(mlperf)
	if err != nil {
		return err
	}
	models, err := filepath.Glob(filepath.Join(data, "*", "*", "model.onnx"))
	if err != nil || len(models) == 0 {
		return fmt.Errorf("no model in %q: expected the folder onnx/backend/test/data of the package onnx", data)
	}
	work, err := os.MkdirTemp("", "onnxtests-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	results := make([]result, len(models))
	err = workerpool.Each(context.Background(), runtime.NumCPU(), len(models), func(_ context.Context, k int) error {
		r := &results[k]
		r.name = strings.TrimPrefix(filepath.Dir(models[k]), filepath.Clean(data)+string(filepath.Separator))
		r.outcome, r.why = try(mlperf, models[k], filepath.Join(work, fmt.Sprint(k)))
		return nil
	})
	if err != nil {
		return err
	}
	if update {
		var text strings.Builder
		for _, r := range results {
			if r.outcome != equal {
				fmt.Fprintln(&text, r.outcome, r.name)
			}
		}
		return os.WriteFile(list, []byte(text.String()), 0o644)
	}
	return judge(results, known)
}

// judge prints the results, and compares them with a list.
func judge(results []result, known string) error {
	want := map[string]string{}
	for line := range strings.Lines(known) {
		outcome, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		want[name] = outcome
	}
	counts, whys, worse := map[string]int{}, map[string][]string{}, 0
	for _, r := range results {
		counts[r.outcome]++
		if r.outcome != equal {
			whys[r.outcome+": "+r.why] = append(whys[r.outcome+": "+r.why], r.name)
		}
		if expected := cmp.Or(want[r.name], equal); r.outcome != expected {
			fmt.Printf("%s: %s, and was %s: %s\n", r.name, r.outcome, expected, r.why)
			if r.outcome != equal {
				worse++
			}
		}
	}
	for _, why := range slices.Sorted(maps.Keys(whys)) {
		fmt.Printf("%4d %s (%s)\n", len(whys[why]), why, whys[why][0])
	}
	fmt.Printf("%d models: %d equal, %d different, %d refused, %d with data that arrays do not hold, %d broken\n",
		len(results), counts[equal], counts[different], counts[refused], counts[noArray], counts[broken])
	if worse > 0 {
		return fmt.Errorf("%d models are worse than in %s", worse, list)
	}
	return nil
}

// numbers and names are left out of messages, so that alike ones are counted together.
var numbers = regexp.MustCompile(`'[^']*'|"[^"]*"|\b(input|output|port|node|Node:)\s\S+|[0-9]+`)

// try runs a model with its data in a folder that it makes.
func try(mlperf, model, dir string) (outcome, why string) {
	shapes, err := arrays(model, dir)
	if err != nil {
		return noArray, numbers.ReplaceAllString(err.Error(), "…")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	args := append([]string{"run", model, "--mode", "accuracy", "--data", dir, "--output", filepath.Join(dir, "results")}, shapes...)
	cmd := exec.CommandContext(ctx, mlperf, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "MLPERF_INTRA_THREADS=1", "MLPERF_INSTANCES=1")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return broken, "it hangs"
	case err == nil && bytes.Contains(out, []byte("equal=1 of 1")):
		return equal, ""
	case err == nil && bytes.Contains(out, []byte("equal=0 of 1")):
		return different, "other numbers"
	case errors.As(err, &exit) && exit.ExitCode() > 0 && !bytes.Contains(out, []byte("goroutine ")):
		for line := range strings.Lines(string(out)) {
			if text, ok := strings.CutPrefix(line, "mlperf: "); ok {
				return refused, numbers.ReplaceAllString(strings.TrimSpace(strings.NewReplacer(model+": ", "", dir, "DIR").Replace(text)), "…")
			}
		}
	}
	return broken, fmt.Sprintf("%v: %.200s", err, out)
}

// arrays writes the inputs and outputs of a test as arrays, and returns flags with the shapes of the inputs.
func arrays(model, dir string) (flags []string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	m, err := onnx.ReadFile(model)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(filepath.Dir(model), "test_data_set_0")
	for k, v := range m.Graph.FreeInputs() {
		t, err := read(filepath.Join(data, fmt.Sprintf("input_%d.pb", k)), v)
		if err == nil {
			err = npy.WriteFile(filepath.Join(dir, fileName(v.Name)), t)
		}
		if err != nil {
			return nil, err
		}
		if len(t.Shape) > 0 {
			flags = append(flags, "--shape", v.Name+"="+strings.ReplaceAll(strings.Trim(t.Shape.String(), "[]"), " ", "x"))
		}
	}
	for k, v := range m.Graph.Outputs {
		t, err := read(filepath.Join(data, fmt.Sprintf("output_%d.pb", k)), v)
		if err == nil { // of one sample
			err = npy.WriteFile(filepath.Join(dir, "expected_"+fileName(v.Name)), t.Reshape(append(tensor.Shape{1}, t.Shape...)...))
		}
		if err != nil {
			return nil, err
		}
	}
	return flags, nil
}

func fileName(port string) string {
	return strings.NewReplacer("/", "_", ":", "_", "\\", "_").Replace(port) + ".npy"
}

// read reads the tensor of a port, bfloat16 as float32, since arrays have no bfloat16.
func read(path string, v *onnx.Value) (t tensor.Tensor, err error) {
	if kind := v.Type.Kind(); kind != "tensor" {
		return t, fmt.Errorf("a port is a %s", cmp.Or(kind, "value without a type"))
	}
	p, err := onnx.ReadTensor(path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, errors.New("a port has no data")
	}
	if err != nil {
		return t, err
	}
	if p.Type.DType() == tensor.Invalid || p.Type == onnx.String {
		return t, fmt.Errorf("a port has %v", p.Type)
	}
	content, err := p.Bytes()
	if err != nil {
		return t, err
	}
	t = tensor.New(p.Type.DType(), p.Dims...)
	if copy(t.Bytes(), content) != len(t.Bytes()) {
		return t, errors.New("a port has other data than its shape says")
	}
	if t.Type == tensor.BFloat16 {
		var memory []float32
		return singlepass.AsFloat32(t, &memory), nil
	}
	return t, nil
}
