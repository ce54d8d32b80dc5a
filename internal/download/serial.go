package download

import "sync"

// serial passes on what an Observer hears from one goroutine at a time.
type serial struct {
	mu sync.Mutex
	o  Observer
}

func (s *serial) Phase(name string)    { s.mu.Lock(); defer s.mu.Unlock(); s.o.Phase(name) }
func (s *serial) Bytes(done, of int64) { s.mu.Lock(); defer s.mu.Unlock(); s.o.Bytes(done, of) }
func (s *serial) Items(done, of int)   { s.mu.Lock(); defer s.mu.Unlock(); s.o.Items(done, of) }
func (s *serial) Note(text string)     { s.mu.Lock(); defer s.mu.Unlock(); s.o.Note(text) }
