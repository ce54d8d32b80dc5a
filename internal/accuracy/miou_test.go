package accuracy

import (
	"math/rand/v2"
	"testing"
)

func TestMeanIoURefusesWhatDoesNotFit(t *testing.T) {
	for _, classes := range []int{0, -1, 256} {
		_, err := NewIoUCounts(classes)
		wantError(t, err, "want 1 to 255")
	}
	c, err := NewIoUCounts(255)
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, c.Add(0, make([]uint8, 2), make([]uint8, 3)), "prediction has 2 pixels, the ground truth 3")
}

func TestEveryLabelOf255ClassesCounts(t *testing.T) {
	c, _ := NewIoUCounts(255)
	labels := make([]uint8, 256)
	for i := range labels {
		labels[i] = uint8(i)
	}
	if err := c.Add(0, labels, labels); err != nil || c.meanFloat32() != 1 {
		t.Errorf("MeanFloat32 = %v, %v, want 1", c.meanFloat32(), err)
	}
}

func BenchmarkMeanIoU(b *testing.B) {
	const pixels = 512 * 512
	prediction, truth := make([]uint8, pixels), make([]uint8, pixels)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range pixels {
		prediction[i], truth[i] = uint8(rng.IntN(33)), uint8(rng.IntN(33))
	}
	c, _ := NewIoUCounts(32)
	b.SetBytes(pixels)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Add(0, prediction, truth); err != nil {
			b.Fatal(err)
		}
	}
}
