package tfgraph

import (
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// An array is what a flow value says of its TensorArray: the elements along the first axis, or that a loop adds one in each round.
type array struct {
	elements *value
	variable *variable // in the body: the one that carries the flow
	written  *value    // in the body: the element of this round
}

// A variable of a loop: its way in, through and out (Enter → Merge → Switch → body → NextIteration; Switch → Exit).
type variable struct {
	enter, merge, next, through, exit *node
	initial                           *value
}

// loop makes the results of the frame that the Exit leaves, as a node Loop of this scope's graph.
func (s step) loop() {
	through := s.nodes[s.n.inputs[0].node]
	if through == nil || through.op != "Switch" || len(through.inputs) < 2 {
		refuse("expected a Switch before it")
	}
	condition := through.inputs[1]
	var variables []*variable
	for _, n := range s.consumers[condition.node] {
		if n.op != "Switch" || len(n.inputs) != 2 {
			continue
		}
		variables = append(variables, s.variable(n))
	}
	frame := variables[0].enter.attrs["frame_name"].s
	for _, v := range variables {
		if v.enter.attrs["frame_name"].s != frame || frame == "" {
			refuse("its variables are of the frames %q and %q", frame, v.enter.attrs["frame_name"].s)
		}
		v.initial = s.get(v.enter.inputs[0])
	}

	// The condition before the first round, in this graph.
	before := s.inside(frame, s.graph)
	for _, v := range variables {
		before.made[port{v.merge.name, 0}] = v.initial
	}
	start := before.condition(condition)

	body := &onnx.Graph{Name: s.fresh(frame + "/body")}
	in := s.inside(frame, body)
	add := func(name string, elem onnx.ElemType, shape onnx.Shape) string {
		name = s.fresh(name)
		body.Inputs = append(body.Inputs, &onnx.Value{Name: name, Type: onnx.Type{Elem: elem, Shape: shape}})
		return name
	}
	add(frame+"/round", onnx.Int64, onnx.Shape{})
	add(frame+"/condition", onnx.Bool, onnx.Shape{})
	inputs := []string{"", start}
	for _, v := range variables {
		var bound *value
		if v.initial.array != nil {
			bound = &value{at: in, array: &array{variable: v}}
		} else {
			rank := v.rank()
			bound = &value{at: in, rank: rank, elem: v.initial.elem}
			bound.name[last] = add(v.merge.name, bound.elem, freeShape(rank))
			inputs = append(inputs, v.initial.in(last))
		}
		in.made[port{v.through.name, 1}], in.made[port{v.merge.name, 0}] = bound, bound
	}
	after := s.inside(frame, body)
	next := make([]*value, len(variables))
	for i, v := range variables {
		next[i] = in.get(v.next.inputs[0])
		after.made[port{v.merge.name, 0}] = next[i]
	}
	results := []string{after.condition(condition)}
	var carried, stacked []*variable
	var lists []*value
	for i, v := range variables {
		if v.initial.array == nil {
			results, carried = append(results, next[i].in(last)), append(carried, v)
		}
	}
	for i, v := range variables {
		if a := v.initial.array; a == nil {
			continue
		} else if a = next[i].array; a == nil || a.variable != v || a.written == nil {
			refuse("TensorArray %q: expected one element written in each round", v.enter.name)
		} else {
			results, stacked, lists = append(results, a.written.in(last)), append(stacked, v), append(lists, a.written)
		}
	}
	for i, x := range results {
		out := in.add(x+"/out", "Identity", 1, []string{x})[0] // values of graphs around are no outputs
		elem, shape := onnx.Bool, onnx.Shape{}
		if at := i - 1; at >= len(carried) {
			elem, shape = lists[at-len(carried)].elem, freeShape(lists[at-len(carried)].rank)
		} else if at >= 0 {
			elem, shape = carried[at].initial.elem, freeShape(carried[at].rank())
		}
		body.Outputs = append(body.Outputs, &onnx.Value{Name: out, Type: onnx.Type{Elem: elem, Shape: shape}})
	}
	outputs := s.add(frame, "Loop", len(results)-1, inputs, onnx.Attr("body", body))
	for i, v := range append(carried, stacked...) {
		if v.exit == nil {
			continue
		}
		if i < len(carried) {
			step{s.scope, v.exit}.set(0, last, outputs[i], v.rank(), v.initial.elem)
			continue
		}
		element := lists[i-len(carried)]
		elements := &value{at: s.scope, rank: -1, elem: element.elem, batch: in.batch}
		if element.rank >= 0 {
			elements.rank = element.rank + 1
		}
		elements.name[last] = outputs[i]
		s.made[port{v.exit.name, 0}] = &value{at: s.scope, array: &array{elements: elements}}
	}
}

// rank is that of a counter; others may change theirs.
func (v *variable) rank() int {
	if v.initial.rank == 0 {
		return 0
	}
	return -1
}

// inside returns a scope of the frame.
func (s *scope) inside(frame string, g *onnx.Graph) *scope {
	in := s.converter.scope(g, s)
	in.frame = frame
	return in
}

// condition is the value of a LoopCond.
func (s *scope) condition(p port) string {
	n := s.nodes[p.node]
	if n == nil || n.op != "LoopCond" || len(n.inputs) < 1 {
		refuse("loop %q has no LoopCond", s.frame)
	}
	return s.get(n.inputs[0]).in(last)
}

// variable finds the parts of the variable that a Switch of the loop guards.
func (s step) variable(through *node) *variable {
	v := &variable{through: through, merge: s.nodes[through.inputs[0].node]}
	if v.merge == nil || v.merge.op != "Merge" {
		refuse("%q of the loop guards no variable", through.name)
	}
	for _, p := range v.merge.inputs {
		switch n := s.nodes[p.node]; {
		case n == nil || len(n.inputs) < 1:
		case n.op == "Enter" || n.op == "RefEnter":
			v.enter = n
		case n.op == "NextIteration" || n.op == "RefNextIteration":
			v.next = n
		}
	}
	if v.enter == nil || v.next == nil {
		refuse("variable %q of the loop has no Enter or no NextIteration", v.merge.name)
	}
	for _, n := range s.consumers[through.name] {
		if n.op == "Exit" || n.op == "RefExit" {
			v.exit = n
		}
	}
	return v
}

// enter is a value from outside that the loop does not change.
func (s step) enter() {
	frame := s.n.attrs["frame_name"].s
	if s.frame != frame || frame == "" {
		refuse("frame %q is entered from within %q", frame, s.frame)
	}
	from := s.scope
	for from.parent.frame == frame { // a branch of the body
		from = from.parent
	}
	s.made[port{s.n.name, 0}] = from.parent.get(s.n.inputs[0])
}

// source returns where a value comes from, behind nodes that only pass it on.
func (c *converter) source(p port) port {
	for range len(c.nodes) {
		n := c.nodes[p.node]
		if n == nil || !passing[n.op] || len(n.inputs) == 0 {
			break
		}
		p = n.inputs[0]
	}
	return p
}

// follow returns the node that a value comes from.
func (c *converter) follow(p port) *node { return c.nodes[c.source(p).node] }

var passing = map[string]bool{"Identity": true, "StopGradient": true}

// isNumber reports whether the input is a constant of this number.
func (c *converter) isNumber(p port, want int64) bool {
	n := c.follow(p)
	if n != nil && n.op == "Enter" && len(n.inputs) > 0 { // from outside of the loop
		n = c.follow(n.inputs[0])
	}
	if n == nil || n.op != "Const" || n.attrs["value"].tensor == nil {
		return false
	}
	t := n.attrs["value"].tensor
	return (t.elem == onnx.Int32 || t.elem == onnx.Int64) && t.len() == 1 && t.integers()[0] == want
}

// counts reports whether the input is a counter of rounds: from 0, by 1.
func (c *converter) counts(p port) bool {
	through := c.follow(p)
	if through == nil || through.op != "Switch" || p.n > 1 || len(through.inputs) < 1 {
		return false
	}
	merge := c.nodes[through.inputs[0].node]
	if merge == nil || merge.op != "Merge" {
		return false
	}
	starts, steps := false, false
	for _, in := range merge.inputs {
		n := c.nodes[in.node]
		switch {
		case n == nil || len(n.inputs) == 0:
		case n.op == "Enter":
			starts = c.isNumber(n.inputs[0], 0)
		case n.op == "NextIteration":
			sum := c.follow(n.inputs[0])
			steps = sum != nil && (sum.op == "Add" || sum.op == "AddV2") && len(sum.inputs) == 2 && c.follow(sum.inputs[0]) == through &&
				c.isNumber(sum.inputs[1], 1)
		}
	}
	return starts && steps
}

// inOrder refuses indices that are not 0, 1, 2 and so on.
func (s step) inOrder(i int) {
	n := s.follow(s.n.inputs[i])
	if n == nil || n.op != "Range" || len(n.inputs) != 3 || !s.isNumber(n.inputs[0], 0) || !s.isNumber(n.inputs[2], 1) {
		refuse("only elements in their order are converted")
	}
}

// setArray makes a the n-th result, a flow.
func (s step) setArray(n int, a *array) {
	s.made[port{s.n.name, n}] = &value{at: s.scope, array: a}
}

// flow is what an input says of a TensorArray.
func (s step) flow(i int) *array {
	a := s.get(s.n.inputs[i]).array
	if a == nil {
		refuse("input %d is not the flow of a TensorArray", i)
	}
	return a
}

func (s step) newArray() {
	s.setArray(0, &array{})
	s.setArray(1, &array{})
}

func (s step) scatter() {
	s.inOrder(1)
	s.setArray(0, &array{elements: s.arg(2)})
}

func (s step) elements(i int) *value {
	a := s.flow(i)
	if a.elements == nil {
		refuse("the TensorArray is read before it is filled")
	}
	return a.elements
}

func (s step) readArray() {
	v := s.elements(2)
	s.batch = s.batch || v.batch && s.counts(s.n.inputs[1]) // a round for each sample
	rank := -1
	if v.rank > 0 {
		rank = v.rank - 1
	}
	s.set(0, last, s.node("Gather", []string{v.in(last), s.x(1)}, onnx.Attr("axis", int64(0))), rank, v.elem)
}

func (s step) writeArray() {
	a := s.flow(3)
	if a.variable == nil || a.written != nil || !s.counts(s.n.inputs[1]) {
		refuse("only one element in each round of a loop is converted, in the order of the rounds")
	}
	s.setArray(0, &array{variable: a.variable, written: s.arg(2)})
}

func (s step) stackArray() {
	s.inOrder(1)
	v := s.elements(2)
	s.made[port{s.n.name, 0}] = v
}

func (s step) sizeArray() {
	n := s.node("Gather", []string{s.node("Shape", []string{s.elements(1).in(last)}), s.of(onnx.Int64, 0)})
	s.set(0, last, s.cast(n, onnx.Int32), 0, onnx.Int32)
}

// branches makes a Merge outside of loops: one of two values, by the condition of the Switches before them.
func (s step) branches() {
	if len(s.n.inputs) != 2 {
		refuse("has %d inputs, expected 2", len(s.n.inputs))
	}
	pred, ok := s.predicate()
	if !ok {
		refuse("no Switch decides between its inputs")
	}
	var sides [2]*onnx.Graph
	var v *value
	for side := range sides {
		g := &onnx.Graph{Name: s.fresh(s.n.name + "/branch")}
		in := s.converter.scope(g, s.scope)
		in.pred, in.branch = pred, side
		p := s.n.inputs[side]
		if s.decided(p, pred, map[string]bool{}) == 1-side {
			p = s.n.inputs[1-side]
		}
		v = in.get(p)
		if v.array != nil {
			refuse("a TensorArray in a branch")
		}
		out := in.add(s.n.name+"/out", "Identity", 1, []string{v.in(last)})[0]
		g.Outputs = append(g.Outputs, &onnx.Value{Name: out, Type: onnx.Type{Elem: v.elem}})
		sides[side] = g
	}
	x := s.node("If", []string{s.get(pred).in(last)}, onnx.Attr("then_branch", sides[1]), onnx.Attr("else_branch", sides[0]))
	s.set(0, last, x, -1, v.elem)
}

// predicate finds the condition that decides a Merge.
func (s step) predicate() (port, bool) {
	for _, p := range s.n.inputs {
		seen := map[string]bool{}
		if found, ok := s.switchBefore(p, 0, seen); ok {
			return found, true
		}
	}
	return port{}, false
}

// switchBefore finds the Switch that an input comes from, beside those of Merges between.
func (s step) switchBefore(p port, depth int, seen map[string]bool) (port, bool) {
	n := s.nodes[p.node]
	if n == nil || seen[p.node] || len(seen) > maxDepth {
		return port{}, false
	}
	seen[p.node] = true
	switch {
	case n.op == "Switch" && len(n.inputs) == 2 && depth == 0:
		return s.source(n.inputs[1]), true
	case n.op == "Switch":
		depth--
	case n.op == "Merge":
		depth++
	}
	before := slices.Clone(n.inputs)
	for _, name := range n.controls {
		before = append(before, port{name, 0})
	}
	for _, p := range before {
		if found, ok := s.switchBefore(p, depth, seen); ok {
			return found, true
		}
	}
	return port{}, false
}

// decided returns the side of the predicate's Switch that an input comes from: 0, 1, or -1 if that is not known.
func (s step) decided(p port, pred port, seen map[string]bool) int {
	n := s.nodes[p.node]
	if n == nil || seen[p.node] || len(seen) > maxDepth {
		return -1
	}
	seen[p.node] = true
	if n.op == "Switch" && len(n.inputs) == 2 && s.source(n.inputs[1]) == pred {
		return p.n
	}
	for _, p := range n.inputs {
		if side := s.decided(p, pred, seen); side >= 0 {
			return side
		}
	}
	return -1
}

// guarded is the value that a Switch lets into the branch of this scope.
func (s step) guarded() {
	from := s.scope
	for from != nil && (from.pred == port{} || from.pred != s.source(s.n.inputs[1])) {
		from = from.parent
	}
	if from == nil || from.parent == nil {
		refuse("no branch or loop needs it")
	}
	s.made[port{s.n.name, from.branch}] = from.parent.get(s.n.inputs[0])
}
