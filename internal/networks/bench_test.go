package networks

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

func BenchmarkBuildResNet50(b *testing.B) {
	a := lookup(b, "resnet50")
	b.ReportAllocs()
	for b.Loop() {
		build(b, a, Options{})
	}
}

func BenchmarkWriteTo(b *testing.B) {
	for _, a := range architectures() {
		b.Run(a.Name, func(b *testing.B) {
			m, _ := build(b, a, Options{})
			size, err := m.EncodedSize()
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.WriteTo(io.Discard); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkWriteFile(b *testing.B) {
	m, _ := build(b, lookup(b, "resnet50"), Options{})
	path := filepath.Join(b.TempDir(), "resnet50.onnx")
	b.ReportAllocs()
	for b.Loop() {
		if err := m.WriteFile(b.Context(), path); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadFile(b *testing.B) {
	m, _ := build(b, lookup(b, "resnet50"), Options{})
	path := filepath.Join(b.TempDir(), "resnet50.onnx")
	if err := m.WriteFile(b.Context(), path); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := onnx.ReadFile(path); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkKeyWithClassifier(b *testing.B) {
	a := lookup(b, "resnet50")
	o := Options{Classifier: &Classifier{Weights: make([]float32, 1000*2048), Bias: make([]float32, 1000)}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Key(o); err != nil {
			b.Fatal(err)
		}
	}
}
