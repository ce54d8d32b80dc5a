package oip

import (
	"fmt"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Receiving is a request or an answer that is read from gRPC.
type Receiving struct {
	Answer bool // an answer; else a request
	Stream bool // an answer of ModelStreamInfer
	Limits Limits
	Load   Load // of tensors in shared memory; nil: there is none
	// Accept is told what the message has, and returns where its tensors go.
	Accept func(h *Head) (Place, error)

	// KeepError has what is wrong with a message in Err, instead of failing the call with a
	// code that says nothing.
	KeepError bool

	Head    Head
	Tensors []tensor.Tensor
	Failed  string // what the server says in a stream that went wrong
	Err     error
}

// An arrival is what was found in a message, before any of it is put anywhere.
type arrival struct {
	contents [][]byte  // of the tensors, typed; nil: raw
	raw      []scanner // where elements begin
	sizes    []int64
}

// unmarshal implements unmarshaler.
func (m *Receiving) unmarshal(s mem.BufferSlice) error {
	err := m.decode(s)
	if m.KeepError {
		m.Err, err = err, nil
	}
	return err
}

func (m *Receiving) decode(s mem.BufferSlice) error {
	r := newScanner(s)
	if m.Stream {
		inner, err := m.unwrap(&r)
		if err != nil || inner == nil {
			return err
		}
		r = newScanner(mem.BufferSlice{mem.SliceBuffer(inner)})
	}
	var a arrival
	if err := m.gather(&r, &a); err != nil {
		return Errorf(codeOr(err, InvalidArgument), "a message of gRPC: %w", err)
	}
	if err := m.check(&a); err != nil {
		return &Error{InvalidArgument, err}
	}
	place, err := m.Accept(&m.Head)
	if err != nil {
		return err
	}
	return m.put(&a, place)
}

// gather reads all fields of the message.
func (m *Receiving) gather(r *scanner, a *arrival) error {
	most := m.Limits.filled().Tensors
	for r.more() {
		f, err := r.field()
		if err == nil {
			err = m.take(r, f, a)
		}
		if err != nil {
			return err
		}
		// Now, and not when all is there: each takes two bytes of the message, and much more here.
		if n := max(len(m.Head.Tensors), len(m.Head.Wanted), len(a.raw)); n > most {
			return fmt.Errorf("more than %d tensors, outputs that are asked for, or raw contents", most)
		}
	}
	return nil
}

// unwrap returns the answer that a message of a stream has; nil: it has an error, or nothing.
func (m *Receiving) unwrap(r *scanner) (inner []byte, err error) {
	for r.more() {
		f, err := r.field()
		if err != nil {
			return nil, err
		}
		if f.kind != protowire.BytesType {
			continue
		}
		switch f.number {
		case 1:
			m.Failed, err = r.text(f)
		case 2:
			inner, err = r.merged(f, inner)
		default:
			err = r.pass(f)
		}
		if err != nil {
			return nil, err
		}
	}
	if inner == nil && m.Failed == "" {
		return nil, fmt.Errorf("a message of a stream has neither an answer nor an error")
	}
	return inner, nil
}

// check finds out whether the elements of all tensors are there, in one of the two forms, or in
// shared memory.
func (m *Receiving) check(a *arrival) error {
	if err := m.Head.check(m.Limits); err != nil {
		return err
	}
	if sent := m.Head.sent(); len(a.raw) > 0 && sent != len(a.raw) {
		return fmt.Errorf("%d tensors have %d pieces of raw contents, want one for each", sent, len(a.raw))
	}
	sizes := a.sizes
	for i := range m.Head.Tensors {
		s := &m.Head.Tensors[i]
		switch shared, typed := s.Window.Region != "", len(a.raw) == 0; {
		case shared:
			s.Size = s.Window.Size
		case typed:
			if err := s.countFits(len(a.contents[i])); err != nil {
				return err
			}
			continue
		default:
			s.Size, sizes = sizes[0], sizes[1:]
		}
		if a.contents[i] != nil {
			return fmt.Errorf("tensor %s has contents beside raw contents or shared memory, want one of them", s.Name)
		}
		if err := s.sizeFits(); err != nil {
			return err
		}
	}
	return nil
}

// put puts the elements where they belong.
func (m *Receiving) put(a *arrival, place Place) error {
	m.Tensors = make([]tensor.Tensor, len(m.Head.Tensors))
	sent := 0
	for i, s := range m.Head.Tensors {
		t, err := placed(place, i, s)
		if err != nil {
			return err
		}
		switch {
		case s.Window.Region != "":
			err = s.load(m.Load, t)
		case len(a.raw) == 0:
			err = readContents(a.contents[i], t)
		default:
			err = readRaw(a.raw[sent], a.sizes[sent], t)
			sent++
		}
		if err == nil {
			err = checkBools(t)
		}
		if err != nil {
			return Errorf(codeOr(err, InvalidArgument), "tensor %s: %w", s.Name, err)
		}
		m.Tensors[i] = t
	}
	return nil
}

// readRaw reads raw contents.
func readRaw(from scanner, size int64, t tensor.Tensor) error {
	if t.Type != tensor.String {
		return from.read(t.Bytes())
	}
	b, err := from.bytes(int(size))
	if err != nil {
		return err
	}
	return parseBytes(b, t.Strings())
}
