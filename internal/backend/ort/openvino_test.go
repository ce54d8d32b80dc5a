//go:build ort && cgo && linux

package ort

import (
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/fileio"
	format "github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

func TestORTOpenVINOComputes(t *testing.T) {
	withDevice(t, "openvino", func(t *testing.T) {
		p := provider(t, openEngine(t), "openvino")
		if !p.Usable || p.Nodes["openvino"] == 0 || p.Difference == nil || *p.Difference > 1e-4 {
			t.Errorf("%+v, want OpenVINO usable, with nodes of the small model and its right answer", p)
		}
	})
}

// What OpenVINO compiles is kept, so that it is quick the next time; nodes that it leaves to the CPU are named.
func TestORTOpenVINOKeepsAndNames(t *testing.T) {
	withDevice(t, "openvino", func(t *testing.T) {
		cache := t.TempDir()
		g := doubled("N")
		g.nodes[1].Outputs[0] = "z"
		g.nodes = append(g.nodes, node("MatMul", []string{"z", "w"}, []string{"m"}), node("Det", []string{"m"}, []string{"y"}))
		g.weights = []*format.Tensor{format.TensorOf("w", []float32{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1}, 4, 3)}
		g.inputs = []*format.Value{port("x", tensor.Float32, "N", 3, 4)}
		g.outputs = []*format.Value{port("y", tensor.Float32, "N")}
		s := openModel(t, g, backend.Options{Device: "openvino", EngineCacheDir: cache, CountDeviceNode: true})
		if got := s.Info().Facts["operators on cpu"]; got != "Det" {
			t.Errorf("operators on the CPU: %q on %v, want Det", got, s.Info().Devices)
		}
		y := tensor.New(tensor.Float32, 2)
		run(t, s, values(bind(t, s, tensor.Of([]float32{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0}, 2, 3, 4))), values(bind(t, s, y)))
		if got := tensor.Data[float32](y); math.Abs(float64(got[0]-8)) > 1e-4 || math.Abs(float64(got[1]-64)) > 1e-4 {
			t.Errorf("determinants are %v, want 8 and 64", got)
		}
		strict := backend.Options{ModelPath: g.write(t), Device: "openvino", Config: map[string]string{"session.disable_cpu_ep_fallback": "1"}, CountDeviceNode: true}
		if _, err := openEngine(t).Open(t.Context(), strict); err == nil || !strings.Contains(err.Error(), "fallback to CPU EP has been explicitly disabled") {
			t.Errorf("with the fallback to the CPU disabled: %v, want an error", err)
		}
		folders := fileio.Glob(filepath.Join(cache, "openvino"), "*")
		if len(folders) != 1 || len(fileio.Glob(folders[0], "*")) < 2 {
			t.Errorf("the cache has %v, want a folder with a key and a compiled model", folders)
		}
	})
}

// OpenVINO ignores the lengths of sequences if axes are free, and computes with them if all are fixed.
func TestORTOpenVINORefusesSequenceLengths(t *testing.T) {
	withDevice(t, "openvino", func(t *testing.T) {
		const hidden, in, steps, sentences = 4, 3, 5, 2
		weights := func(name string, dims ...int64) *format.Tensor {
			data := make([]float32, dims[0]*dims[1]*dims[2])
			for i := range data {
				data[i] = float32(math.Sin(float64(i + 1)))
			}
			return format.TensorOf(name, data, dims...)
		}
		g := graph{
			nodes: []*format.Node{ // OpenVINO leaves an LSTM alone that reads an input of the model
				node("Add", []string{"x", "x"}, []string{"x2"}),
				node("LSTM", []string{"x2", "w", "r", "", "lengths"}, []string{"y"}, format.Attr("hidden_size", int64(hidden))),
			},
			inputs:  []*format.Value{port("x", tensor.Float32, "steps", "sentences", in), port("lengths", tensor.Int32, "sentences")},
			outputs: []*format.Value{port("y", tensor.Float32, "steps", 1, "sentences", hidden)},
			weights: []*format.Tensor{weights("w", 1, 4*hidden, in), weights("r", 1, 4*hidden, hidden)},
		}
		engine, options := openEngine(t), backend.Options{ModelPath: g.write(t), Device: "openvino", IntraThreads: 1}
		_, err := engine.Open(t.Context(), options)
		if device := new(deviceError); !errors.As(err, &device) || !strings.Contains(device.reason, "node my_LSTM (LSTM) takes sequence_lens") {
			t.Errorf("with free axes: %v, want an error that names the node", err)
		}
		answer := func(o backend.Options) []float32 {
			s := openWith(t, engine, o)
			x, y := tensor.New(tensor.Float32, steps, sentences, in), tensor.New(tensor.Float32, steps, 1, sentences, hidden)
			for i := range tensor.Data[float32](x) {
				tensor.Data[float32](x)[i] = float32(math.Cos(float64(i)))
			}
			run(t, s, values(bind(t, s, x), bind(t, s, tensor.Of([]int32{steps, 3}, sentences))), values(bind(t, s, y)))
			return tensor.Data[float32](y)
		}
		options.FreeDimensions = map[string]int64{"steps": steps, "sentences": sentences}
		options.CountDeviceNode = true
		fixed := answer(options)
		options.Device = "cpu"
		for i, want := range answer(options) {
			if math.Abs(float64(fixed[i]-want)) > 1e-5 {
				t.Fatalf("with fixed axes OpenVINO has %v at %d, the CPU %v", fixed[i], i, want)
			}
		}
		options.Device, options.FreeDimensions, options.AllowFallback = "openvino", nil, true
		if w := openWith(t, engine, options).Info(); len(w.Warnings) != 1 || w.Devices[0].Device != "cpu" {
			t.Errorf("with a fallback: %v on %v, want a warning, and the CPU", w.Warnings, w.Devices)
		}
	})
}
