package onnx

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/mlperf-go/mlperf/internal/onnx/onnxpb"
)

// HasFunctions reports whether a model has local functions, whose nodes this package does not read.
func (m *Model) HasFunctions() (has bool) {
	eachBytes([]byte(m.Extra), func(num protowire.Number, _ []byte) { has = has || num == modelFunctions })
	return has
}

// selfCalling is the name of a local function that calls itself, perhaps through others, which ONNX forbids and which ends
// ONNX Runtime by a stack overflow; empty: none.
func (m *Model) selfCalling() string {
	const name, node, domain = 1, 7, 10 // fields of a FunctionProto
	calls := map[[2]string][][2]string{}
	eachBytes([]byte(m.Extra), func(num protowire.Number, function []byte) {
		if num != modelFunctions {
			return
		}
		var own [2]string // domain and name
		var called [][2]string
		eachBytes(function, func(num protowire.Number, content []byte) {
			var n onnxpb.NodeProto
			switch num {
			case name:
				own[1] = string(content)
			case domain:
				own[0] = string(content)
			case node:
				if proto.Unmarshal(content, &n) == nil {
					called = append(called, operators(&n)...)
				}
			}
		})
		calls[own] = append(calls[own], called...)
	})
	const open, done = 1, 2
	state := map[[2]string]int{}
	var visit func(f [2]string) string
	visit = func(f [2]string) string {
		switch state[f] {
		case open:
			return f[1]
		case done:
			return ""
		}
		state[f] = open
		for _, g := range calls[f] {
			if found := visit(g); found != "" {
				return found
			}
		}
		state[f] = done
		return ""
	}
	for f := range calls {
		if found := visit(f); found != "" {
			return found
		}
	}
	return ""
}

// operators are the operators of a node and of the graphs in it, with their domains.
func operators(n *onnxpb.NodeProto) [][2]string {
	list := [][2]string{{n.GetDomain(), n.GetOpType()}}
	for _, a := range n.GetAttribute() {
		for _, g := range append(a.GetGraphs(), a.GetG()) {
			for _, inner := range g.GetNode() {
				list = append(list, operators(inner)...)
			}
		}
	}
	return list
}

// eachBytes visits the fields of an encoded message that have a length. It ends where the encoding is wrong.
func eachBytes(message []byte, visit func(num protowire.Number, content []byte)) {
	for len(message) > 0 {
		num, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return
		}
		message = message[n:]
		if kind == protowire.BytesType {
			content, n := protowire.ConsumeBytes(message)
			if n < 0 {
				return
			}
			visit(num, content)
			message = message[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(num, kind, message); n < 0 {
			return
		}
		message = message[n:]
	}
}
