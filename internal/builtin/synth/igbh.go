package synth

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/dataset/igbh"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
)

// An IGBHSpec says everything about a built-in graph of papers, in the layout of the Illinois Graph Benchmark. Equal specs make
// equal graphs.
type IGBHSpec struct {
	Seed   uint64 `json:"seed"`
	Papers int    `json:"papers"`
	Width  int    `json:"width"` // numbers of a node
	// Truth names the way in which the Judge chooses labels. It may be empty.
	Truth string `json:"truth,omitempty"`
}

// GraphClasses is how many subjects papers have.
const GraphClasses = 2983

func (s IGBHSpec) check() error {
	switch {
	case s.Papers < 200 || s.Papers > 1_000_000: // half a percent are samples
		return fmt.Errorf("papers is %d: must be 200 to 1000000", s.Papers)
	case s.Width < 1 || s.Width > igbh.Features:
		return fmt.Errorf("width is %d: must be 1 to %d", s.Width, igbh.Features)
	}
	return nil
}

// Key returns a name for the data set, fit for a folder: equal keys mean equal graphs.
func (s IGBHSpec) Key() string {
	return "igbh-" + keyOf("igbh seed %d papers %d width %d truth %q", s.Seed, s.Papers, s.Width, s.Truth)
}

// WriteIGBH makes a data set: tiny/processed with the files of IGBH, and the Manifest. Labels are drawn, until the judge, if there
// is one, writes others.
//
// Folder, errors and ctx are as with WriteImageNet.
func WriteIGBH(ctx context.Context, dir string, spec IGBHSpec, judge Judge) error {
	return publish(ctx, dir, "IGBH", &spec, func(folder string) error { return spec.fill(ctx, folder) }, judge)
}

// nodes is how many nodes of a kind there are.
func (s IGBHSpec) nodes(kind igbh.Kind) int {
	share := [igbh.Kinds]int{igbh.Author: 750, igbh.Conference: 5, igbh.Field: 50, igbh.Institute: 10, igbh.Journal: 10, igbh.Paper: 1000}[kind]
	return max(1, s.Papers*share/1000)
}

// home is the folder of the files.
func (IGBHSpec) home(folder string) string { return filepath.Join(folder, "tiny", "processed") }

func (s IGBHSpec) fill(ctx context.Context, folder string) error {
	home := s.home(folder)
	for kind := range igbh.Kind(igbh.Kinds) {
		if err := s.writeFeatures(ctx, home, kind); err != nil {
			return err
		}
	}
	for _, r := range igbh.Stored() {
		if err := s.writeEdges(home, r); err != nil {
			return err
		}
	}
	r := newStream("subjects", s.Seed)
	labels := make([]float32, s.Papers)
	for i := range labels {
		labels[i] = float32(r.below(GraphClasses))
	}
	return errors.Join(
		s.writeLabels(folder, labels),
		writeIndices(filepath.Join(home, igbh.TrainingFile), igbh.Training(int64(s.Papers))),
		writeIndices(filepath.Join(home, igbh.ValidationFile), igbh.Validation(int64(s.Papers))),
	)
}

// groups is how many groups of nodes there are that are mostly related among themselves, as those of a science are.
const groups = 200

// group is that of a node.
func (s IGBHSpec) group(kind igbh.Kind, node int) int {
	return newStream("group", s.Seed, uint64(kind), uint64(node)).below(groups)
}

// writeFeatures writes the numbers of the nodes of a kind: those of its group, and some of its own.
func (s IGBHSpec) writeFeatures(ctx context.Context, home string, kind igbh.Kind) error {
	const common, own = 0.96, 0.28 // squares add up to 1
	centres := make([][]float64, groups)
	for i := range centres {
		r := newStream("centre", s.Seed, uint64(kind), uint64(i))
		for range s.Width {
			centres[i] = append(centres[i], r.normal())
		}
	}
	row := make([]float32, s.Width)
	return writeMarked(filepath.Join(home, kind.String(), igbh.FeatureFile), tensor.Float32, []int64{int64(s.nodes(kind)), int64(s.Width)},
		func(w io.Writer) error {
			for node := range s.nodes(kind) {
				if err := context.Cause(ctx); err != nil {
					return err
				}
				r, centre := newStream("features", s.Seed, uint64(kind), uint64(node)), centres[s.group(kind, node)]
				for i := range row {
					row[i] = float32(float64(common*centre[i]) + float64(own*r.normal()))
				}
				if _, err := w.Write(tensor.Of(row, int64(len(row))).Bytes()); err != nil {
					return err
				}
			}
			return nil
		})
}

// writeEdges writes a relation: each node of its first kind has a few, mostly to nodes of its group.
func (s IGBHSpec) writeEdges(home string, relation igbh.Relation) error {
	few := map[string][2]int{"cites": {2, 8}, "written_by": {1, 4}, "affiliated_to": {0, 2}, "topic": {2, 5}, "published": {0, 1},
		"venue": {0, 1}}[relation.Name]
	members := make([][]int, groups)
	for node := range s.nodes(relation.To) {
		g := s.group(relation.To, node)
		members[g] = append(members[g], node)
	}
	var edges []int64
	for node := range s.nodes(relation.From) {
		r, near := newStream(relation.Name, s.Seed, uint64(node)), members[s.group(relation.From, node)]
		for range r.between(few[0], few[1]) {
			to := r.below(s.nodes(relation.To))
			if r.below(16) > 0 && len(near) > 0 {
				to = near[r.below(len(near))]
			}
			edges = append(edges, int64(node), int64(to))
		}
	}
	n := int64(len(edges) / 2)
	return writeMarked(filepath.Join(home, relation.String(), igbh.EdgeFile), tensor.Int64, []int64{n, 2}, func(w io.Writer) error {
		_, err := w.Write(tensor.Of(edges, n, 2).Bytes())
		return err
	})
}

// WriteLabels replaces the labels of the samples, in their order.
func (s IGBHSpec) WriteLabels(folder string, samples []int64) error {
	truth, err := igbh.OpenTruth(folder, "")
	if err != nil {
		return err
	}
	if len(samples) != len(truth.Papers) {
		return fmt.Errorf("%d labels for %d samples", len(samples), len(truth.Papers))
	}
	r := newStream("subjects", s.Seed)
	labels := make([]float32, s.Papers)
	for i := range labels {
		labels[i] = float32(r.below(GraphClasses))
	}
	for i, paper := range truth.Papers {
		labels[paper] = float32(samples[i])
	}
	return s.writeLabels(folder, labels)
}

// writeLabels writes the labels of all papers, and those of 19 classes.
func (s IGBHSpec) writeLabels(folder string, labels []float32) error {
	coarse := make([]float32, len(labels))
	for i, v := range labels {
		coarse[i] = float32(math.Mod(float64(v), 19))
	}
	for name, list := range map[string][]float32{igbh.LabelFile: labels, "node_label_19.npy": coarse} {
		err := writeMarked(filepath.Join(s.home(folder), igbh.Paper.String(), name), tensor.Float32, []int64{int64(len(list))}, func(w io.Writer) error {
			_, err := w.Write(tensor.Of(list, int64(len(list))).Bytes())
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// writeMarked writes an array, and the Mark behind it.
func writeMarked(path string, dtype tensor.DType, shape []int64, content func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return fileio.WriteAtomic(path, 0o644, func(f io.Writer) error {
		w := bufio.NewWriterSize(f, 1<<20)
		if err := npy.WriteHeader(w, dtype, shape); err != nil {
			return err
		}
		if err := content(w); err != nil {
			return err
		}
		if _, err := w.WriteString(markComment); err != nil {
			return err
		}
		return w.Flush()
	})
}

// writeIndices writes a list as torch.save does.
func writeIndices(path string, list []int64) error {
	var memory []byte
	for _, v := range list {
		memory = binary.LittleEndian.AppendUint64(memory, uint64(v))
	}
	file, err := saveTensor("archive/", "LongStorage", memory, []int{len(list)})
	if err != nil {
		return err
	}
	return fileio.WriteFile(path, file, 0o644)
}
