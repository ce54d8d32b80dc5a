package recsys

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// threeHot are pairs of which the first table has three categories of a pair and all others
// one: 10·pair, and so on.
type threeHot struct{}

func (threeHot) Len() int                   { return 2 }
func (threeHot) Labels(int) ([]bool, error) { return nil, nil }
func (threeHot) Read(sample int, c dataset.Click) error {
	n := len(c.Labels)
	for i := range c.Categories {
		pair := (i - 3*n) % n
		if i < 3*n {
			pair = i / 3
		}
		c.Categories[i] = int64(1000*sample + 10*pair)
		if i < 3*n {
			c.Categories[i] += int64(i % 3)
		}
	}
	return nil
}

// portsOf are inputs for each table, with one or two axes of categories.
func portsOf(axes int, withOffsets bool) []backend.Port {
	ports := []backend.Port{{Name: "dense_x", Type: tensor.Float32, Shape: tensor.Shape{-1, 13}}}
	for table := range dataset.CriteoCategories {
		number := string(rune('0'+table/10)) + string(rune('0'+table%10))
		shape := tensor.Shape{-1, -1}
		if table == 0 {
			shape[1] = 3
		}
		ports = append(ports, backend.Port{Name: "indices_" + number, Type: tensor.Int64, Shape: shape[:axes]})
		if withOffsets {
			ports = append(ports, backend.Port{Name: "offsets_" + number, Type: tensor.Int64, Shape: tensor.Shape{-1}})
		}
	}
	return ports
}

func TestCategoriesOfABatchGoIntoTheInputOfTheirTable(t *testing.T) {
	hot := slices.Repeat([]int{1}, dataset.CriteoCategories)
	hot[0] = 3
	for _, test := range []struct {
		name  string
		ports []backend.Port
		shape tensor.Shape
	}{
		{"in two axes", portsOf(2, false), tensor.Shape{3, 3}},
		{"one after the other, with offsets", portsOf(1, true), tensor.Shape{9}},
	} {
		w := newClickWorkload(threeHot{}, []dataset.Run{{First: 0, Count: 1}, {First: 1, Count: 2}}, hot)
		var err error
		if w.inputs, err = bindPairs(test.ports, hot); err != nil {
			t.Fatal(test.name, err)
		}
		s := &fakeDLRM{info: backend.Info{Inputs: test.ports, Outputs: []backend.Port{{Name: "pred", Shape: tensor.Shape{-1, 1}}}}}
		c := &predictor{w: w, session: s}
		store, err := workload.NewStore(2, w.workload().Row)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		items := []workload.Item{{Row: 0, Index: 0}, {Row: 1, Index: 1}}
		for i := range 2 {
			if err := w.prepare(i, store.Row(i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Use(store); err != nil {
			t.Fatal(err)
		}
		if err := c.bind(3); err != nil {
			t.Fatal(err)
		}
		c.gather(items, 3)
		for i, port := range test.ports {
			x := c.values[i].Tensor()
			switch port.Name {
			case "indices_00":
				if diff := cmp.Diff([]int64{0, 1, 2, 1000, 1001, 1002, 1010, 1011, 1012}, tensor.Data[int64](x)); diff != "" || !slices.Equal(x.Shape, test.shape) {
					t.Errorf("%s: %v (-want +got):\n%s", test.name, x, diff)
				}
			case "indices_25":
				if diff := cmp.Diff([]int64{0, 1000, 1010}, tensor.Data[int64](x)); diff != "" {
					t.Errorf("%s, table 25 (-want +got):\n%s", test.name, diff)
				}
			case "offsets_00":
				if diff := cmp.Diff([]int64{0, 3, 6}, tensor.Data[int64](x)); diff != "" {
					t.Errorf("%s, offsets (-want +got):\n%s", test.name, diff)
				}
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestModelsThatDoNotFitToSeveralCategories(t *testing.T) {
	hot := slices.Repeat([]int{1}, dataset.CriteoCategories)
	hot[0] = 4
	for _, test := range []struct {
		name  string
		ports []backend.Port
		want  string
	}{
		{"another number", portsOf(2, false), "takes 3 categories of a pair, the data have 4"},
		{"no offsets", portsOf(1, false), "0 inputs of the model are offsets"},
		{"all tables in one", []backend.Port{portsOf(1, false)[0], {Name: "indices", Type: tensor.Int64, Shape: tensor.Shape{26, -1}}}, "want an input for each table"},
	} {
		if _, err := bindPairs(test.ports, hot); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}
