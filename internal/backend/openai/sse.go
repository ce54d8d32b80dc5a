package openai

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	firstEvent = 16 << 10 // memory for events to begin with
	maxEvent   = 1 << 20  // how long an event may be
)

var errLongEvent = fmt.Errorf("an event is longer than %d bytes", maxEvent)

// events cuts a stream into server-sent events. Its memory is used again for the next stream.
// Only the data of events count; names, ids and comments are left out. Lines end with a line
// feed, or with a carriage return and one.
type events struct {
	buf  []byte
	line int // where the line begins that is being looked at
	scan int // from here on it was not looked for the end of that line
	end  int // of what was read

	begun    bool   // there was a line
	has      bool   // the event that is being put together has data:
	from, to int    // in buf, if they are one line
	joined   []byte // if they are several; else empty
}

// reset begins with a new stream.
func (e *events) reset() {
	if e.buf == nil || len(e.buf) > 4*firstEvent {
		e.buf = make([]byte, firstEvent)
	}
	*e = events{buf: e.buf, joined: e.joined[:0]}
}

var (
	dataField = []byte("data:")
	byteOrder = []byte("\ufeff") // may stand before the first line
)

// next returns the data of the next event that was read to its end; false: there is none. They
// are valid until the next fill.
func (e *events) next() (data []byte, ok bool) {
	for {
		i := bytes.IndexByte(e.buf[e.scan:e.end], '\n')
		if i < 0 {
			e.scan = e.end
			return nil, false
		}
		from, to := e.line, e.scan+i
		e.line, e.scan = to+1, to+1
		if to > from && e.buf[to-1] == '\r' {
			to--
		}
		if from == to {
			if e.has {
				return e.take(), true
			}
			continue
		}
		e.look(from, to)
	}
}

// look takes what a line has of data.
func (e *events) look(from, to int) {
	if !e.begun && bytes.HasPrefix(e.buf[from:to], byteOrder) {
		from += len(byteOrder)
	}
	e.begun = true
	if !bytes.HasPrefix(e.buf[from:to], dataField) {
		return
	}
	from += len(dataField)
	if from < to && e.buf[from] == ' ' {
		from++
	}
	e.add(from, to)
}

// add adds a line of data to the event.
func (e *events) add(from, to int) {
	if !e.has {
		e.has, e.from, e.to = true, from, to
		return
	}
	if len(e.joined) == 0 {
		e.joined = append(e.joined, e.buf[e.from:e.to]...)
	}
	e.joined = append(append(e.joined, '\n'), e.buf[from:to]...)
}

// take returns the event and begins with another.
func (e *events) take() []byte {
	data := e.buf[e.from:e.to]
	if len(e.joined) > 0 {
		data = e.joined
	}
	e.has, e.joined = false, e.joined[:0]
	return data
}

// last returns the event that the stream ended in, without an empty line behind it.
func (e *events) last() (data []byte, ok bool) {
	line := bytes.TrimSuffix(e.buf[e.line:e.end], []byte{'\r'})
	e.look(e.line, e.line+len(line))
	if !e.has {
		return nil, false
	}
	return e.take(), true
}

// fill reads more.
func (e *events) fill(r io.Reader) error {
	if e.end == len(e.buf) {
		if err := e.room(); err != nil {
			return err
		}
	}
	n, err := r.Read(e.buf[e.end:])
	e.end += n
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil // it comes again
	}
	return err
}

// room forgets what was looked at, and if that is nothing makes the memory larger.
func (e *events) room() error {
	keep := e.line
	if e.has && len(e.joined) == 0 {
		keep = min(keep, e.from)
	}
	if keep == 0 {
		if len(e.buf) >= maxEvent {
			return errLongEvent
		}
		larger := make([]byte, min(maxEvent, 2*len(e.buf)))
		copy(larger, e.buf[:e.end])
		e.buf = larger
	} else {
		copy(e.buf, e.buf[keep:e.end])
		e.line, e.scan, e.end, e.from, e.to = e.line-keep, e.scan-keep, e.end-keep, e.from-keep, e.to-keep
	}
	if len(e.joined) > maxEvent {
		return errLongEvent
	}
	return nil
}
