package oip

import (
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

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
	return errSequence
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
			s.Shape, err = r.extents(f, s.Shape)
		case fieldParameters:
			err = s.Window.take(r, f)
		case fieldContents:
			contents, err = r.merged(f, contents)
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
