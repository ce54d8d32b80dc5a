package oip

import (
	"fmt"
	"unicode/utf8"

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
		b, err := r.bytes(int(f.value))
		if err != nil {
			return nil, err
		}
		switch f.number {
		case 1:
			m.Failed = string(b)
		case 2:
			inner = b
		}
	}
	if inner == nil && m.Failed == "" {
		return nil, fmt.Errorf("a message of a stream has neither an answer nor an error")
	}
	return inner, nil
}

// take reads a field of the message.
func (m *Receiving) take(r *scanner, f wireField, a *arrival) error {
	raw := protowire.Number(fieldRawInputs)
	if m.Answer {
		raw = fieldRawOutputs
	}
	if f.kind != protowire.BytesType {
		return nil // read already, and not known here
	}
	n := int(f.value)
	if f.number == raw {
		a.raw, a.sizes = append(a.raw, *r), append(a.sizes, int64(n))
		return r.skip(n)
	}
	if f.number > fieldWanted {
		return r.skip(n)
	}
	b, err := r.bytes(n)
	if err != nil {
		return err
	}
	return m.takeBytes(f.number, b, a)
}

// takeBytes reads a field that is a text or a message.
func (m *Receiving) takeBytes(number protowire.Number, b []byte, a *arrival) (err error) {
	switch number {
	case fieldModel:
		m.Head.Model, err = text(b)
	case fieldVersion:
		m.Head.Version, err = text(b)
	case fieldID:
		m.Head.ID, err = text(b)
	case fieldRequestParameters:
		err = m.takeParameter(b)
	case fieldInputs:
		err = m.takeTensor(b, a)
	case fieldWanted:
		err = m.takeWanted(b)
	}
	return err
}

// takeParameter refuses what changes the meaning of a request and is not understood here.
func (m *Receiving) takeParameter(b []byte) error {
	key, value, err := parameter(b)
	if err != nil || key != "sequence_id" || m.Answer || value.number == 0 && value.text == "" {
		return err
	}
	return Errorf(Unsupported, "sequences of requests (sequence_id) are not supported")
}

func text(b []byte) (string, error) {
	if !utf8.Valid(b) {
		return "", fmt.Errorf("%q is not UTF-8", b)
	}
	return string(b), nil
}

func (m *Receiving) takeTensor(b []byte, a *arrival) error {
	var s Spec
	var datatype string
	var contents []byte
	err := fields(b, func(r *scanner, f wireField) (err error) {
		switch f.number {
		case fieldName:
			s.Name, err = r.text(f)
		case fieldDatatype:
			datatype, err = r.text(f)
		case fieldShape:
			s.Shape, err = r.integers(f, s.Shape)
		case fieldParameters:
			err = s.Window.take(r, f)
		case fieldContents:
			if err = f.is(protowire.BytesType); err == nil {
				contents, err = r.bytes(int(f.value))
			}
		default:
			err = r.pass(f)
		}
		return err
	})
	if err != nil {
		return err
	}
	if s.Type, err = ParseDatatype(datatype); err != nil {
		return fmt.Errorf("tensor %q: %w", s.Name, err)
	}
	m.Head.Tensors, a.contents = append(m.Head.Tensors, s), append(a.contents, contents)
	return nil
}

func (m *Receiving) takeWanted(b []byte) error {
	var name string
	var at Window
	err := fields(b, func(r *scanner, f wireField) (err error) {
		switch f.number {
		case 1:
			name, err = r.text(f)
		case 2:
			err = at.take(r, f)
		default:
			err = r.pass(f)
		}
		return err
	})
	m.Head.Wanted, m.Head.Windows = append(m.Head.Wanted, name), append(m.Head.Windows, at)
	return err
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
