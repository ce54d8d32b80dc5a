package tfgraph

import (
	"bytes"
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// converted is the ONNX form of a graph of testdata (made by make_graphs.py).
func converted(t *testing.T, name string) *onnx.Model {
	t.Helper()
	m, err := Convert(name, testenv.Read(t, filepath.Join("testdata", name+".pb")))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Inputs and outputs have TensorFlow's names, the batch is free, and a chain of convolutions has no transposes inside.
func TestConvertKeepsInterface(t *testing.T) {
	g := converted(t, "network").Graph
	if in := g.Inputs[0]; in.Name != "input:0" || in.Type.Elem != onnx.Float32 || !slices.Equal(in.Type.Shape, onnx.Batched(9, 10, 3)) {
		t.Errorf("input %v, want input:0 float32[N 9 10 3]", in)
	}
	var names []string
	for _, v := range g.Outputs {
		names = append(names, v.Name)
	}
	slices.Sort(names)
	if want := []string{"label:0", "probabilities:0"}; !slices.Equal(names, want) {
		t.Errorf("outputs %v, want %v", names, want)
	}
	for name, want := range map[string]string{"network": "[N 10] [N]", "detector": "[N ? ?] [N ?] [N ?] [N]"} {
		var shapes []string
		for _, v := range converted(t, name).Graph.Outputs {
			shapes = append(shapes, v.Type.Shape.String())
		}
		slices.SortFunc(shapes, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
		if got := strings.Join(shapes, " "); got != want {
			t.Errorf("%s: outputs %s, want %s", name, got, want)
		}
	}
	transposes := 0
	for _, n := range g.Nodes {
		if n.Op == "Transpose" {
			transposes++
		}
	}
	if transposes > 2 {
		t.Errorf("%d transposes, want one at each end", transposes)
	}
}

// graphOf is a GraphDef of nodes NAME OP INPUT…
func graphOf(nodes ...string) []byte {
	var b []byte
	for _, line := range nodes {
		var n []byte
		for i, word := range strings.Fields(line) {
			n = protowire.AppendString(protowire.AppendTag(n, protowire.Number(min(i+1, 3)), protowire.BytesType), word)
		}
		if strings.Contains(line, "Placeholder") {
			kind := protowire.AppendVarint(protowire.AppendTag(nil, 6, protowire.VarintType), 1)
			entry := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "dtype")
			entry = protowire.AppendBytes(protowire.AppendTag(entry, 2, protowire.BytesType), kind)
			n = protowire.AppendBytes(protowire.AppendTag(n, 5, protowire.BytesType), entry)
		}
		b = protowire.AppendBytes(protowire.AppendTag(b, 1, protowire.BytesType), n)
	}
	return b
}

func TestConvertRefuses(t *testing.T) {
	chain := []string{"x Placeholder", "n0 Neg x"}
	for i := range maxDepth + 1 {
		chain = append(chain, "n"+strings.Repeat("i", i+1)+" Neg n"+strings.Repeat("i", i))
		if i == 300 { // long names cost more than they tell
			break
		}
	}
	chain[1] = "n Neg x"
	whole := testenv.Read(t, "testdata/detector.pb")
	for _, test := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"an empty file", nil, "it has no nodes"},
		{"a SavedModel", []byte{8, 1, 0x12, 0}, "freeze it first"},
		{"a file that is cut off", whole[:len(whole)/2], "not a frozen TensorFlow graph"},
		{"a variable", graphOf("x Placeholder", "v VariableV2", "y Add x v"), `node "v" is a variable`},
		{"an operator", graphOf("x Placeholder", "y RandomUniform x"), `node "y" (RandomUniform): this operator is not converted`},
		{"a node that is missing", graphOf("x Placeholder", "y Add x z"), `node "z" is read, but missing`},
		{"two nodes of a name", graphOf("x Placeholder", "x Neg x"), `node "x": expected a name of its own`},
		{"a circle", graphOf("x Placeholder", "a Add x b", "b Neg a", "c Neg a"), "reads itself"},
		{"a loop without an entrance", graphOf("x Placeholder", "e Exit x"), "expected a Switch before it"},
		{"a Merge without a Switch", graphOf("x Placeholder", "e Merge x x"), "no Switch decides"},
		{"a result too many", graphOf("x Placeholder", "z Neg x", "y Neg z:1"), `result 1 is not converted`},
		{"no input", graphOf("y NoOp"), "0 inputs (Placeholder) and 0 outputs"},
	} {
		if _, err := Convert("my.pb", test.content); err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "my.pb: ") {
			t.Errorf("Convert(%s) = %v, want an error with %q", test.name, err, test.want)
		}
	}
	if _, err := Convert("swish", graphOf("x Placeholder", "both IdentityN x x", "y Mul both both:1")); err != nil {
		t.Errorf("the second result of IdentityN: %v", err)
	}
	if _, err := Convert("chain", graphOf(chain...)); err != nil {
		t.Errorf("a chain of %d nodes: %v", len(chain), err)
	}
}

// A few bytes can ask for large constants and for the same branches again and again.
func TestConvertBoundsWork(t *testing.T) {
	// A constant of 2³⁰ zeros in 10 bytes.
	dim := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1<<30)
	shape := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), dim)
	value := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1)
	value = protowire.AppendBytes(protowire.AppendTag(value, 2, protowire.BytesType), shape)
	value = protowire.AppendBytes(protowire.AppendTag(nil, 8, protowire.BytesType), value)
	entry := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "value")
	entry = protowire.AppendBytes(protowire.AppendTag(entry, 2, protowire.BytesType), value)
	c := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "c")
	c = protowire.AppendString(protowire.AppendTag(c, 2, protowire.BytesType), "Const")
	c = protowire.AppendBytes(protowire.AppendTag(c, 5, protowire.BytesType), entry)
	large := protowire.AppendBytes(protowire.AppendTag(graphOf("x Placeholder", "y Add x c"), 1, protowire.BytesType), c)
	if _, err := Convert("large", large); err == nil || !strings.Contains(err.Error(), "times the size of the file") {
		t.Errorf("a constant of 4 GB: %v, want an error", err)
	}
	// Each Merge reads the one before in both branches: 2ⁿ graphs.
	nodes := []string{"x Placeholder", "p Placeholder", "m Neg x"}
	for range 40 {
		last := strings.Fields(nodes[len(nodes)-1])[0]
		next := last + "m"
		nodes = append(nodes, "s"+next+" Switch "+last+" p", "t"+next+" Neg s"+next+":1", "f"+next+" Neg s"+next, "a"+next+" Add t"+next+" "+last, "b"+next+" Add f"+next+" "+last, next+" Merge b"+next+" a"+next)
	}
	if _, err := Convert("branches", graphOf(nodes...)); err == nil || !strings.Contains(err.Error(), "too many nodes in common") {
		t.Errorf("40 branches in each other: %v, want an error", err)
	}
}

// What is accepted can be written, however the file was changed.
func FuzzConvert(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.pb")
	testenv.Must(f, err)
	for _, path := range paths {
		f.Add(testenv.Read(f, path))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		m, err := Convert("fuzz", content)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if _, err := m.WriteTo(&b); err == nil && b.Len() > 64*(len(content)+1<<20) {
			t.Errorf("%d bytes became %d", len(content), b.Len())
		}
	})
}
