//go:build ort

package arch

import (
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestORTDeepLabDrawsRegionsOfAllClasses(t *testing.T) {
	useRuntime(t)
	const size, images = 512, 8
	m, _ := build(t, DeepLabV3Plus(), Options{Outputs: []string{"ArgMax", "MobilenetV2/expanded_conv_16/project/BatchNorm:0", "decoder/concat:0", "logits/semantic:0"}})
	n := load(t, m)
	everywhere := make(map[float32]bool)
	var last []float32
	for i := range images {
		out := n.runValue(floatsLast(size)(t, uint64(5000+i)))
		labels := out[0]
		for j, layer := range out[1:] {
			checkRange(t, m.Graph.Outputs[1+j].Name, layer)
		}
		counts := countLabels(labels)
		for class := range counts {
			everywhere[class] = true
		}
		covered := inRegions(labels, []int{size, size}, 100)
		t.Logf("image %d: %d classes, %.3f of it in regions", i, len(counts), covered)
		if len(counts) < 10 || largest(counts) > 0.5*size*size || covered < 0.95 {
			t.Errorf("image %d: %d classes, the largest covers %v pixels, %v are in regions of at least 100", i, len(counts), largest(counts), covered)
		}
		if slices.Equal(labels, last) {
			t.Errorf("image %d is labelled as the one before", i)
		}
		last = labels
	}
	for class := range deepLabClasses {
		if !everywhere[float32(class)] {
			t.Errorf("class %d is in none of %d images", class, images)
		}
	}
	if len(everywhere) != deepLabClasses {
		t.Errorf("there are %d classes, want %d", len(everywhere), deepLabClasses)
	}
}

func TestORTDeepLabTreatsImagesOfABatchAlone(t *testing.T) {
	useRuntime(t)
	m, _ := build(t, DeepLabV3Plus(), Options{})
	n := load(t, m)
	together := n.runValue(floatsLast(512)(t, 1, 2, 3))[0]
	for i := range 3 {
		alone := n.runValue(floatsLast(512)(t, uint64(1+i)))[0]
		different := 0
		for p, label := range alone {
			if label != together[i*len(alone)+p] {
				different++
			}
		}
		if different > len(alone)/10_000 { // where two classes are equally likely
			t.Errorf("%d labels of image %d differ from alone", different, i)
		}
	}
}

func TestORT3DUNetDrawsRegions(t *testing.T) {
	testenv.SkipLong(t, "convolutions in three dimensions")
	useRuntime(t)
	m, _ := build(t, UNet3D(), Options{Outputs: []string{"output", "bottleneck/conv2/relu:0", "upsample4/conv2/relu:0"}})
	out := load(t, m).runValue(newTensor(t, volume(1), 1, 1, 128, 128, 128))
	for j, layer := range out {
		checkRange(t, m.Graph.Outputs[j].Name, layer)
	}
	labels := argMax(out[0], 3)
	counts := countLabels(labels)
	covered := inRegions(labels, []int{128, 128, 128}, 100)
	t.Logf("voxels %v, %.3f of them in regions", counts, covered)
	if counts[0] < counts[1]+counts[2] || counts[1] < len(labels)/50 || counts[2] < len(labels)/50 || covered < 0.95 {
		t.Errorf("voxels %v, %v are in regions of at least 100", counts, covered)
	}
}

// The same network for smaller cubes is fast enough to be run several times.
func TestORT3DUNetTreatsVolumesOfABatchAlone(t *testing.T) {
	testenv.SkipLong(t, "convolutions in three dimensions")
	useRuntime(t)
	const size = 32
	b := NewBuilder("small 3D-UNet", 3)
	b.Output(unet3DScores(b, b.Input("input", onnx.Float32, onnx.Batched(1, size, size, size))))
	m, _, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	n := load(t, m)
	var volumes [][]float32
	for seed := range 3 {
		volumes = append(volumes, middle(volume(uint64(seed)), size))
	}
	together := n.run(volumes...)[0]
	for i, v := range volumes {
		alone := n.run(v)[0]
		if diff := largestDifference(alone, together[i*len(alone):][:len(alone)]); diff > 1e-4 {
			t.Errorf("volume %d differs by %v from alone", i, diff)
		}
		if i > 0 && distance(alone, together[:len(alone)]) < 0.1 {
			t.Errorf("volumes 0 and %d have nearly the same scores", i)
		}
	}
}

// middle cuts a cube out of one of 128³.
func middle(voxels []float32, size int) []float32 {
	var cut []float32
	first := (128 - size) / 2
	for z := range size {
		for y := range size {
			row := ((first+z)*128+first+y)*128 + first
			cut = append(cut, voxels[row:row+size]...)
		}
	}
	return cut
}

// argMax returns the class with the best of [classes, places] scores at each place.
func argMax(scores []float32, classes int) []float32 {
	places := len(scores) / classes
	labels := make([]float32, places)
	for p := range labels {
		for c := 1; c < classes; c++ {
			if scores[c*places+p] > scores[int(labels[p])*places+p] {
				labels[p] = float32(c)
			}
		}
	}
	return labels
}

func countLabels(labels []float32) map[float32]int {
	counts := make(map[float32]int)
	for _, label := range labels {
		counts[label]++
	}
	return counts
}

func largest(counts map[float32]int) int {
	most := 0
	for _, n := range counts {
		most = max(most, n)
	}
	return most
}

// inRegions returns which part of a picture or volume lies in connected regions of at
// least so many places with the same label.
func inRegions(labels []float32, sides []int, least int) float64 {
	seen := make([]bool, len(labels))
	covered := 0
	for start := range labels {
		if seen[start] {
			continue
		}
		seen[start] = true
		region := []int{start}
		for i := 0; i < len(region); i++ {
			at, step := region[i], 1
			for axis := len(sides) - 1; axis >= 0; axis-- {
				place := at / step % sides[axis]
				if place > 0 {
					region = visit(labels, seen, region, at, at-step)
				}
				if place < sides[axis]-1 {
					region = visit(labels, seen, region, at, at+step)
				}
				step *= sides[axis]
			}
		}
		if len(region) >= least {
			covered += len(region)
		}
	}
	return float64(covered) / float64(len(labels))
}

func visit(labels []float32, seen []bool, region []int, from, to int) []int {
	if seen[to] || labels[to] != labels[from] {
		return region
	}
	seen[to] = true
	return append(region, to)
}
