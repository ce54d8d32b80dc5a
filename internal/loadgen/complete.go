package loadgen

// This file records what the SUT's goroutines report.

// complete records the answers of samples. It runs in the SUT's goroutines.
func (r *recorder) complete(responses []QuerySampleResponse) {
	now := r.now()
	if len(responses) == 0 || r.over(responses[0].ID) {
		return
	}
	n := int64(0)
	for i := range responses {
		if b, slot := r.take(responses[i].ID, now); b != nil {
			r.keep(b, slot, &responses[i])
			n++
		}
	}
	r.count(n)
}

// fail records that a sample could not be answered.
func (r *recorder) fail(id ResponseID, err error) {
	now := r.now()
	if r.over(id) {
		return
	}
	b, i := r.take(id, now)
	if b == nil {
		return
	}
	if r.logs(b, i) {
		r.log.add(b.samples[i], &QuerySampleResponse{})
	}
	r.faults.add(faultSample, "the SUT could not answer sample %d (data index %d): %w", id, b.samples[i].Index, err)
	r.count(1)
}

// over reports whether the phase has ended, which makes an answer to id a late one.
func (r *recorder) over(id ResponseID) bool {
	if !r.closed.Load() {
		return false
	}
	r.late("the SUT completed sample %d after its part of the test had ended", id)
	return true
}

// take fills the slot of a sample. It returns its block and its number there, or nil if the
// sample is not there to be completed.
func (r *recorder) take(id ResponseID, now int64) (*block, int) {
	b, i := r.sample(id)
	if b == nil {
		r.faults.add(faultUnknownID, "the SUT completed response id %d, which this part of the test has not issued", id)
		return nil, 0
	}
	if !b.slots[i].CompareAndSwap(slotPending, slotDone+now) {
		r.refuse(b, i)
		return nil, 0
	}
	return b, i
}

// keep records what a response has beside its instant.
func (r *recorder) keep(b *block, i int, response *QuerySampleResponse) {
	if b.tokens != nil {
		b.tokens[i].Store(response.NTokens)
		r.checkTokens(b, i)
	}
	if r.logs(b, i) {
		r.log.add(b.samples[i], response)
	}
}

// count adds samples to those that are complete, and wakes who waits for the last.
func (r *recorder) count(n int64) {
	if n == 0 || r.completed.Add(n) != r.awaited.Load() {
		return
	}
	if r.parked.CompareAndSwap(true, false) {
		r.wake <- struct{}{}
	}
}

// leastTokens is how many tokens a sample must have, because the time per output token is
// that of those after the first (loadgen/logging.cc, RecordSampleCompletion).
const leastTokens = 2

// checkTokens finds answers whose token latencies would not count, and so be 0.
func (r *recorder) checkTokens(b *block, i int) {
	s := b.samples[i]
	if n := b.tokens[i].Load(); n < leastTokens {
		r.faults.add(faultToken, "the SUT completed sample %d (data index %d) with %d tokens, want at least %d", s.ID, s.Index, n, leastTokens)
	}
	if r.needsFirstToken && b.firstToken[i].Load() == slotIdle {
		r.faults.add(faultToken, "the SUT completed sample %d (data index %d) without having reported its first token", s.ID, s.Index)
	}
}

// refuse says why a slot did not take a completion.
func (r *recorder) refuse(b *block, i int) {
	s := b.samples[i]
	if b.slots[i].Load() == slotIdle {
		r.faults.add(faultUnknownID, "the SUT completed response id %d, which this part of the test has not issued", s.ID)
		return
	}
	r.faults.add(faultTwice, "the SUT completed sample %d (data index %d) more than once", s.ID, s.Index)
}

// logs reports whether the accuracy log keeps the response of a sample.
func (r *recorder) logs(b *block, i int) bool {
	return r.log != nil && (b.logged == nil || b.logged[i/64]>>(i%64)&1 != 0)
}

func (r *recorder) firstToken(responses []QuerySampleResponse) {
	now := r.now()
	for i := range responses {
		b, n := r.sample(responses[i].ID)
		switch {
		case r.closed.Load():
			r.late("the SUT reported a first token of sample %d after its part of the test had ended", responses[i].ID)
		case b == nil || b.slots[n].Load() == slotIdle:
			r.faults.add(faultUnknownID, "the SUT reported a first token of response id %d, which was not issued in this part of the test", responses[i].ID)
		case b.firstToken == nil:
			r.faults.add(faultToken, "the SUT reports first tokens, but use_token_latencies is off")
		case !b.firstToken[n].CompareAndSwap(slotIdle, slotDone+now):
			r.faults.add(faultToken, "the SUT reported the first token of sample %d more than once", responses[i].ID)
		default:
			if r.logs(b, n) {
				r.log.addToken(responses[i].ID, responses[i].Data)
			}
		}
	}
}

func (r *recorder) late(format string, id ResponseID) {
	if !r.cutShort.Load() {
		r.faults.add(faultAfterEnd, format, id)
	}
}
