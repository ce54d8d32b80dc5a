package own

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// inputs are the inputs of a model with their contents.
type inputs struct {
	list    []*input
	sized   bool   // outputs may have as many elements as the contents of inputs ask for
	batched bool   // the first axis of each is the batch
	batch   int    // samples in a run of the model; 0: any number
	perRun  string // the same in words, with the reason

	row     []workload.Slot
	length  int64 // of a sequence, with the past: what inputs with lengths have
	samples int

	dir      string          // of the data; empty: none
	labels   []int64         // of the samples; nil: none
	expected []*expected     // outputs
	lines    map[string]bool // arrays of the folder that are lines of a file of texts
	images   *dataset.Folder // nil: no image is read
	pipeline string          // of the images, in the key of their cache

	notes       []string
	limitations []limitation.Limitation
}

// An input is one input of a model.
type input struct {
	backend.Port

	// Of the graph:
	rows    int64  // of the embedding that the input is an index into; 0: unknown
	batch   int    // the axis that is the batch of an operator; added: none
	batchOf string // that operator; empty: none is known

	// Of the user:
	told   tensor.Shape    // --shape
	option string          // --input
	arrays []tensor.Tensor // data
	from   string          // where they are from

	content *content // data; nil: the content is made
	size    tensor.Shape
	guessed bool // a part of size
	fill    func(index int, dst tensor.Tensor) error
}

// openInputs finds the shape and the content of each input. Texts are inputs of servers only.
func openInputs(s workload.Setup, ports, outputs []backend.Port, texts bool) (*inputs, error) {
	in := &inputs{dir: s.DatasetDir}
	for _, stage := range []func() error{
		func() error { return in.add(ports, texts) },
		func() error { in.readGraph(s.ModelPath); return nil },
		func() error { return in.readOptions(s.Options) },
		func() error { return in.readData(s.Count, outputs) },
		func() error { return in.findBatch(outputs, s.Scored) },
		func() error { return in.bindData(s.Options) },
		in.settle,
		in.fillInputs,
		func() error { return in.countSamples(s.Count) },
	} {
		if err := stage(); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// add adds the inputs of the model, all of which can be made or read.
func (in *inputs) add(ports []backend.Port, texts bool) error {
	for _, p := range ports {
		switch {
		case p.Other != "":
			return fmt.Errorf("input %s of the model (%s) cannot be made or read: use a model with inputs of common types", p.Name, p.Other)
		case p.Type == tensor.String && !texts:
			return fmt.Errorf("input %s of the model has texts, which cannot be made or read: use a model that takes their tokens", p.Name)
		}
		in.list = append(in.list, &input{Port: p})
	}
	return nil
}

// readOptions reads what the user says about inputs: their shapes and contents.
func (in *inputs) readOptions(v workload.Values) error {
	err := in.eachPair(v, shapeOption, func(i *input, text string) error {
		i.told = nil // the last holds
		for extent := range strings.SplitSeq(text, "x") {
			n, err := strconv.ParseInt(extent, 10, 64)
			if err != nil || n < 0 {
				return userinput.Invalid(shapeOption, i.Name+"="+text, "extents with x between, as "+i.Name+"=1x3x640x640")
			}
			i.told = append(i.told, n)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return in.eachPair(v, inputOption, func(i *input, text string) error {
		i.option = text
		return nil
	})
}

// eachPair reads an option of NAME=VALUE pairs, each of an input.
func (in *inputs) eachPair(v workload.Values, option string, take func(i *input, value string) error) error {
	if v[option] == "" {
		return nil
	}
	for pair := range strings.SplitSeq(v[option], ",") {
		at := strings.LastIndex(pair, "=")
		if at <= 0 || at == len(pair)-1 {
			return userinput.Invalid(option, pair, "NAME=VALUE")
		}
		i := in.named(pair[:at])
		if i == nil {
			var ports []backend.Port
			for _, i := range in.list {
				ports = append(ports, i.Port)
			}
			return userinput.Errorf(option, "the model has no input %q; it has %s", pair[:at], workload.DescribePorts(ports))
		}
		if err := take(i, pair[at+1:]); err != nil {
			return err
		}
	}
	return nil
}

// named is the input of a name; nil: none.
func (in *inputs) named(name string) *input {
	k := slices.IndexFunc(in.list, func(i *input) bool { return i.Name == name })
	if k < 0 {
		return nil
	}
	return in.list[k]
}

// has reports whether a name has one of some parts.
func has(name string, parts ...string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(name, p) })
}

// prepare fills the row of a sample.
func (in *inputs) prepare(index int, row []tensor.Tensor) error {
	for k, i := range in.list {
		if err := i.fill(index, row[k]); err != nil {
			return fmt.Errorf("sample %d, input %s: %w", index, i.Name, err)
		}
	}
	return nil
}
