package oip

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// An Inquiry is the request of all methods of gRPC that ask something of a model, or nothing.
type Inquiry struct{ Name, Version string }

// A State is the answer to whether something is live or ready.
type State struct{ On bool }

// A StatisticsList is the answer of ModelStatistics.
type StatisticsList struct{ Models []ModelStatistics }

func whole(b []byte) (mem.BufferSlice, error) { return mem.BufferSlice{mem.SliceBuffer(b)}, nil }

// each calls take for each field of a message in several buffers.
func each(s mem.BufferSlice, take func(r *scanner, f wireField) error) error {
	r := newScanner(s)
	b, err := r.bytes(r.left)
	if err != nil {
		return err
	}
	return fields(b, take)
}

func (q *Inquiry) marshal() (mem.BufferSlice, error) {
	return whole(appendText(appendText(nil, 1, q.Name), 2, q.Version))
}

func (q *Inquiry) unmarshal(s mem.BufferSlice) error {
	return each(s, func(r *scanner, f wireField) (err error) {
		switch f.number {
		case 1:
			q.Name, err = r.text(f)
		case 2:
			q.Version, err = r.text(f)
		default:
			err = r.pass(f)
		}
		return err
	})
}

func (m *State) marshal() (mem.BufferSlice, error) {
	if !m.On {
		return whole(nil)
	}
	return whole(appendNumber(nil, 1, 1))
}

func (m *State) unmarshal(s mem.BufferSlice) error {
	return each(s, func(r *scanner, f wireField) error {
		if f.number == 1 && f.kind == protowire.VarintType {
			m.On = f.value != 0
		}
		return r.pass(f)
	})
}

func (m *ServerMetadata) marshal() (mem.BufferSlice, error) {
	return whole(appendTexts(appendText(appendText(nil, 1, m.Name), 2, m.Version), 3, m.Extensions))
}

func (m *ServerMetadata) unmarshal(s mem.BufferSlice) error {
	return each(s, func(r *scanner, f wireField) (err error) {
		switch f.number {
		case 1:
			m.Name, err = r.text(f)
		case 2:
			m.Version, err = r.text(f)
		case 3:
			var e string
			e, err = r.text(f)
			m.Extensions = append(m.Extensions, e)
		default:
			err = r.pass(f)
		}
		return err
	})
}

func (m *ModelMetadata) marshal() (mem.BufferSlice, error) {
	b := appendText(appendTexts(appendText(nil, 1, m.Name), 2, m.Versions), 3, m.Platform)
	return whole(appendPorts(appendPorts(b, 4, m.Inputs), 5, m.Outputs))
}

func appendPorts(b []byte, number protowire.Number, ports []Port) []byte {
	for _, p := range ports {
		port := appendShape(appendText(appendText(nil, 1, p.Name), 2, p.Datatype), 3, p.Shape)
		b = appendMessage(b, number, port)
	}
	return b
}

func (m *ModelMetadata) unmarshal(s mem.BufferSlice) error {
	err := each(s, func(r *scanner, f wireField) (err error) {
		switch f.number {
		case 1:
			m.Name, err = r.text(f)
		case 2:
			var v string
			v, err = r.text(f)
			m.Versions = append(m.Versions, v)
		case 3:
			m.Platform, err = r.text(f)
		case 4:
			m.Inputs, err = r.port(f, m.Inputs)
		case 5:
			m.Outputs, err = r.port(f, m.Outputs)
		default:
			err = r.pass(f)
		}
		return err
	})
	if err != nil {
		return err
	}
	return m.check()
}

func (r *scanner) port(f wireField, list []Port) ([]Port, error) {
	b, err := r.element(f)
	if err != nil {
		return nil, err
	}
	var p Port
	err = fields(b, func(r *scanner, f wireField) (err error) {
		switch f.number {
		case 1:
			p.Name, err = r.text(f)
		case 2:
			p.Datatype, err = r.text(f)
		case 3:
			p.Shape, err = r.extents(f, p.Shape)
		default:
			err = r.pass(f)
		}
		return err
	})
	return append(list, p), err
}

func (m *StatisticsList) marshal() (mem.BufferSlice, error) {
	var all []byte
	for _, s := range m.Models {
		b := appendText(appendText(nil, 1, s.Name), 2, s.Version)
		b = appendNumber(appendNumber(appendNumber(b, 3, s.LastInference), 4, s.InferenceCount), 5, s.ExecutionCount)
		var sums []byte
		for i, sum := range s.InferenceStats.sums() {
			one := appendNumber(appendNumber(nil, 1, sum.Count), 2, sum.NS)
			sums = appendMessage(sums, protowire.Number(i+1), one)
		}
		b = appendMessage(b, 6, sums)
		all = appendMessage(all, 1, b)
	}
	return whole(all)
}

func (m *StatisticsList) unmarshal(s mem.BufferSlice) error {
	return each(s, func(r *scanner, f wireField) error {
		if f.number != 1 {
			return r.pass(f)
		}
		b, err := r.element(f)
		if err != nil {
			return err
		}
		var one ModelStatistics
		err = fields(b, one.take)
		m.Models = append(m.Models, one)
		return err
	})
}

func (s *ModelStatistics) take(r *scanner, f wireField) (err error) {
	counts := map[protowire.Number]*uint64{3: &s.LastInference, 4: &s.InferenceCount, 5: &s.ExecutionCount}
	switch f.number {
	case 1:
		s.Name, err = r.text(f)
	case 2:
		s.Version, err = r.text(f)
	case 6:
		var b []byte
		if b, err = r.element(f); err == nil {
			err = fields(b, s.InferenceStats.take)
		}
	default:
		err = r.count(f, counts)
	}
	return err
}

// count takes a number that is one of those that are counted, and leaves out all else.
func (r *scanner) count(f wireField, counts map[protowire.Number]*uint64) error {
	if to := counts[f.number]; to != nil && f.kind == protowire.VarintType {
		*to = f.value
	}
	return r.pass(f)
}

func (s *InferenceSum) take(r *scanner, f wireField) error {
	sums := s.sums()
	if f.kind != protowire.BytesType || int(f.number) > len(sums) {
		return r.pass(f)
	}
	b, err := r.element(f)
	if err != nil {
		return err
	}
	sum := sums[f.number-1]
	counts := map[protowire.Number]*uint64{1: &sum.Count, 2: &sum.NS}
	return fields(b, func(r *scanner, g wireField) error { return r.count(g, counts) })
}
