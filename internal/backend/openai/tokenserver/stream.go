package tokenserver

import (
	"bytes"
	"context"
	"math"
	"net/http"
	"time"
)

// An answering is the state of an answer that is streamed.
type answering struct {
	server  *Server
	w       http.ResponseWriter
	control *http.ResponseController
	q       *request
	fault   Fault
	began   time.Time
	ctx     context.Context // of the request
	buffer  []byte
}

// stream sends the tokens at their times, and what is wrong in the middle.
func (a *answering) stream() {
	o := &a.server.options
	n := a.q.tokens
	if a.fault == Endless {
		n = math.MaxInt
	}
	for first := 0; first < n; first += o.PerWrite {
		behind, middle := first+min(o.PerWrite, n-first), n/2
		if !a.until(o.Prefill + time.Duration(first)*o.PerToken) {
			return
		}
		if !a.sendTokens(first, behind, first <= middle && middle < behind) {
			return
		}
	}
	a.send(a.q.end(!o.NoUsage))
}

// sendTokens sends some tokens, and in the middle what is wrong before them. It returns false if that is the end.
func (a *answering) sendTokens(first, behind int, middle bool) bool {
	a.buffer = a.buffer[:0]
	for k := first; k < behind; k++ {
		a.buffer = append(a.buffer, a.server.chunks.of(a.q, k)...)
	}
	if wrong := inside[a.fault]; middle && wrong != nil && wrong(a) {
		return false
	}
	return len(a.buffer) == 0 || a.send(a.buffer)
}

// until waits until an instant after the start.
func (a *answering) until(at time.Duration) bool {
	d := at - time.Since(a.began)
	if d <= 0 {
		return a.ctx.Err() == nil
	}
	if d <= asleep {
		time.Sleep(d)
		return a.ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-a.ctx.Done():
		return false
	}
}

// asleep is the longest wait that the end of a request does not cut short. To sleep costs half of what a timer and a choice cost.
const asleep = 50 * time.Millisecond

// send sends events at once.
func (a *answering) send(events []byte) bool {
	if a.fault == Trickle {
		for i := range events {
			if _, err := a.w.Write(events[i : i+1]); err != nil || a.control.Flush() != nil {
				return false
			}
		}
		return true
	}
	_, err := a.w.Write(events)
	return err == nil && a.control.Flush() == nil
}

func (a *answering) longLine() {
	line := bytes.Repeat([]byte{'x'}, 1<<20)
	a.send([]byte(`data: {"choices":[{"index":0,"text":"`))
	for range 10 {
		if !a.send(line) {
			return
		}
	}
	a.send([]byte("\"}]}\n\n"))
}
