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
	default:
		w.line.cut = true // subtle: the last byte may have been sent just now, and the answer be that to all of it
		_ = w.line.raw.SetWriteDeadline(past)
	}
}

// end is called when everything was sent, or nothing more will be.
func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.timer.Stop()
}
