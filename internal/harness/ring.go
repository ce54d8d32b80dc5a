package harness

import ()

// A ring is a first-in first-out list that reuses its memory.
type ring struct {
	spans []span
	head  int
	n     int
}

func (r *ring) push(s span) {
	if r.n == len(r.spans) {
		grown := make([]span, max(64, 2*len(r.spans)))
		for i := range r.n {
			grown[i] = r.spans[(r.head+i)%len(r.spans)]
		}
		r.spans, r.head = grown, 0
	}
	r.spans[(r.head+r.n)%len(r.spans)] = s
	r.n++
}

func (r *ring) front() *span { return &r.spans[r.head] }

func (r *ring) pop() {
	r.spans[r.head] = span{}
	r.head = (r.head + 1) % len(r.spans)
	r.n--
}
