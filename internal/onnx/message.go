package onnx

import (
	"fmt"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// A message is a message under construction: its bytes, but for the elements of
// tensors, which are only remembered and written in between when the time comes.
// So the length prefixes are right and no weight is copied or even made.
type message struct {
	buf   []byte
	holes []hole
	held  int64 // bytes that the holes will take
	err   error // the first value that has no encoding
}

// A hole is a place in a message where the elements of a tensor go.
type hole struct {
	at     int // index into buf
	tensor *Tensor
}

func (m *message) size() int64 { return int64(len(m.buf)) + m.held }

func (m *message) int(num protowire.Number, v int64) {
	m.buf = protowire.AppendTag(m.buf, num, protowire.VarintType)
	m.buf = protowire.AppendVarint(m.buf, uint64(v))
}

func (m *message) float(num protowire.Number, v float32) {
	m.buf = protowire.AppendTag(m.buf, num, protowire.Fixed32Type)
	m.buf = protowire.AppendFixed32(m.buf, math.Float32bits(v))
}

func (m *message) string(num protowire.Number, v string) {
	m.buf = protowire.AppendTag(m.buf, num, protowire.BytesType)
	m.buf = protowire.AppendString(m.buf, v)
}

// optionalInt and optionalString leave the default value out.
func (m *message) optionalInt(num protowire.Number, v int64) {
	if v != 0 {
		m.int(num, v)
	}
}

func (m *message) optionalString(num protowire.Number, v string) {
	if v != "" {
		m.string(num, v)
	}
}

func (m *message) strings(num protowire.Number, list []string) {
	for _, s := range list {
		m.string(num, s)
	}
}

func (m *message) floats(num protowire.Number, list []float32) {
	for _, v := range list {
		m.float(num, v)
	}
}

func (m *message) ints(num protowire.Number, list []int64) {
	for _, v := range list {
		m.int(num, v)
	}
}

func (m *message) properties(num protowire.Number, list []Property) {
	for i := range list {
		m.message(num, list[i].encode)
	}
}

func (m *message) extra(e Extra) { m.buf = append(m.buf, e...) }

// data leaves a hole for the elements of a tensor.
func (m *message) data(num protowire.Number, t *Tensor) {
	m.buf = protowire.AppendTag(m.buf, num, protowire.BytesType)
	m.buf = protowire.AppendVarint(m.buf, uint64(t.Data.Size()))
	m.holes = append(m.holes, hole{len(m.buf), t})
	m.held += t.Data.Size()
}

// message adds the message that fill makes.
func (m *message) message(num protowire.Number, fill func(*message)) {
	var sub message
	fill(&sub)
	m.buf = protowire.AppendTag(m.buf, num, protowire.BytesType)
	m.buf = protowire.AppendVarint(m.buf, uint64(sub.size()))
	for _, h := range sub.holes {
		m.holes = append(m.holes, hole{len(m.buf) + h.at, h.tensor})
	}
	m.buf = append(m.buf, sub.buf...)
	m.held += sub.held
	if m.err == nil {
		m.err = sub.err
	}
}

// writeTo writes the message and the data of its tensors.
func (m *message) writeTo(w io.Writer) error {
	done := 0
	for _, h := range m.holes {
		if _, err := w.Write(m.buf[done:h.at]); err != nil {
			return err
		}
		done = h.at
		if err := h.tensor.writeElements(w); err != nil {
			return err
		}
	}
	_, err := w.Write(m.buf[done:])
	return err
}

// writeElements writes the elements, as many bytes as their source has said.
func (t *Tensor) writeElements(w io.Writer) error {
	n, err := t.Data.WriteTo(w)
	if err != nil {
		return err // as likely of the disk as of the source
	}
	if want := t.Data.Size(); n != want {
		return fmt.Errorf("tensor %q: its source wrote %d bytes, not %d", t.Name, n, want)
	}
	return nil
}
