package client

import (
	"sync"
	"time"
)

// A watch looks, while a request is sent, whether the server has answered it.
type watch struct {
	line  *line
	mu    sync.Mutex
	timer *time.Timer
	over  bool
	heard chan struct{} // closed when an answer over TLS has begun; nil: nobody listens for it
}

func (w *watch) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(patience, w.look)
}

func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.over:
	case w.line.raw.silent():
		w.timer.Reset(patience)
	case w.line.secret():
		w.heard = make(chan struct{})
		go w.listen(w.heard)
	default:
		w.stop()
	}
}

// listen waits for the first byte of an answer over TLS, where a server also sends what is none: tickets for later
// connections.
func (w *watch) listen(heard chan<- struct{}) {
	_, _ = w.line.in.Peek(1) // who reads the answer finds the error again
	close(heard)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.stop()
	}
}

// stop ends the sending. Subtle: the last byte may have been sent just now, and the answer be that to all of it.
func (w *watch) stop() {
	w.line.cut = true
	_ = w.line.raw.SetWriteDeadline(past)
}

// end is called when everything was sent, or nothing more will be: then with an error. Nobody listens any more when it returns.
func (w *watch) end(unsent error) {
	w.mu.Lock()
	w.over = true
	w.timer.Stop()
	heard := w.heard
	w.mu.Unlock()
	if heard == nil {
		return
	}
	if unsent != nil {
		_ = w.line.raw.SetReadDeadline(time.Now().Add(patience))
	}
	<-heard
}
