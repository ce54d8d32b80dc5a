package recsys

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A pairKind is the kind of data that an input of DLRM takes.
type pairKind int

const (
	numbers pairKind = iota
	categories
	offsets
)

// A pairInput is an input, and its table or allTables.
type pairInput struct {
	port  backend.Port
	kind  pairKind
	table int
}

// bindPairs finds the kind of each input by its name: dense_x, and offsets and indices of all tables, or offsets_0 and
// so on. Where indices have two axes, no offsets are needed.
func bindPairs(ports []backend.Port, hot []int) ([]pairInput, error) {
	var inputs []pairInput
	seen := map[pairKind][]int{} // the tables of the inputs of a kind
	for _, port := range ports {
		in, err := bindPair(port)
		if err == nil {
			err = in.fits(hot)
		}
		if err != nil {
			return nil, err
		}
		seen[in.kind] = append(seen[in.kind], in.table)
		inputs = append(inputs, in)
	}
	if !slices.ContainsFunc(inputs, pairInput.flat) && len(seen[categories]) > 0 && len(seen[offsets]) == 0 {
		seen[offsets] = []int{allTables} // none is needed
	}
	each := make([]int, dataset.CriteoCategories)
	for table := range each {
		each[table] = table
	}
	for kind, name := range map[pairKind]string{numbers: "dense_x", categories: "indices", offsets: "offsets"} {
		tables := slices.Sorted(slices.Values(seen[kind]))
		if !slices.Equal(tables, []int{allTables}) && !slices.Equal(tables, each) {
			return nil, fmt.Errorf("%d inputs of the model are %s: must be one, or one for each of the %d tables", len(tables), name, dataset.CriteoCategories)
		}
	}
	return inputs, nil
}

// allTables is the table of an input for all tables.
const allTables = -1

// bindPair finds the kind of an input.
func bindPair(port backend.Port) (pairInput, error) {
	in := pairInput{port: port, table: allTables}
	if port.Name == "dense_x" {
		if s := port.Shape; len(s) != 2 || s[1] != -1 && s[1] != dataset.CriteoNumbers {
			return in, fmt.Errorf("input %s of the model has shape %v, expected %d numbers of each pair", port.Name, s, dataset.CriteoNumbers)
		}
		return in, in.wants(tensor.Float32)
	}
	name, number, numbered := strings.Cut(port.Name, "_")
	kind, known := map[string]pairKind{"indices": categories, "offsets": offsets}[name]
	if !known {
		return in, fmt.Errorf("input %s of the model is unknown: must be dense_x, offsets and indices", port.Name)
	}
	in.kind = kind
	if numbered {
		table, err := strconv.ParseUint(number, 10, 8)
		if err != nil || table >= dataset.CriteoCategories {
			return in, fmt.Errorf("input %s of the model names no table from 0 to %d", port.Name, dataset.CriteoCategories-1)
		}
		in.table = int(table)
	}
	return in, in.wants(tensor.Int64)
}

// wants checks the type of elements.
func (in pairInput) wants(t tensor.DType) error {
	if in.port.Type != t {
		return fmt.Errorf("input %s of the model has elements of type %v, expected %v", in.port.Name, in.port.Type, t)
	}
	return nil
}

// flat reports whether an input has the categories of all pairs one after the other, so that offsets are needed.
func (in pairInput) flat() bool {
	return in.kind == categories && (in.table < 0 || len(in.port.Shape) < 2)
}

// fits checks an input of categories against the number that each table has for a pair.
func (in pairInput) fits(hot []int) error {
	if in.kind != categories {
		return nil
	}
	if in.table < 0 && slices.Max(hot) > 1 {
		return fmt.Errorf("input %s of the model is for all tables, and the data have up to %d categories of a pair: expected an input for "+
			"each table", in.port.Name, slices.Max(hot))
	}
	if in.flat() {
		return nil
	}
	if n := in.port.Shape[1]; n != -1 && n != int64(hot[in.table]) {
		return fmt.Errorf("input %s of the model takes %d categories of a pair, the data have %d", in.port.Name, n, hot[in.table])
	}
	return nil
}

// bindPrediction finds the output with a prediction for each pair.
func bindPrediction(ports []backend.Port) (string, error) {
	i := slices.IndexFunc(ports, func(p backend.Port) bool {
		return p.Type == tensor.Float32 && (len(p.Shape) == 1 || len(p.Shape) == 2 && (p.Shape[1] == 1 || p.Shape[1] == -1))
	})
	if i < 0 {
		return "", errors.New("the model has no output with a prediction for each pair, float32[N 1]")
	}
	return ports[i].Name, nil
}
