package synth

import (
	"fmt"
	"image"
	"path/filepath"
	"testing"
)

func BenchmarkRender(b *testing.B) {
	scene, img := NewScene(1), image.NewRGBA(image.Rect(0, 0, 500, 375))
	var p painter
	b.ReportAllocs()
	for b.Loop() {
		p.render(&scene, img)
	}
}

func BenchmarkJitter(b *testing.B) {
	scene := NewScene(1)
	b.ReportAllocs()
	for seed := uint64(0); b.Loop(); seed++ {
		scene.Jitter(seed, 0.15)
	}
}

func BenchmarkObjects(b *testing.B) {
	scene := NewScene(1)
	b.ReportAllocs()
	for b.Loop() {
		scene.Objects(640, 480)
	}
}

// BenchmarkWriteImageNet makes sets of 100 images.
func BenchmarkWriteImageNet(b *testing.B) {
	spec := ImageNetSpec{Seed: 1, Images: 100, Classes: 100, Jitter: 0.15}
	dir := b.TempDir()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := WriteImageNet(b.Context(), filepath.Join(dir, fmt.Sprint(i)), spec, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N*spec.Images)*1000, "ms/image")
}
