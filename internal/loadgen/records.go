package loadgen

import "time"

// This file reads the blocks of a finished phase. A SUT that still completes samples
// may write slots meanwhile, which is why they are loaded atomically.

// pieceSize is the number of values passed on at once.
const pieceSize = 1 << 12

// blocksInUse returns the blocks that exist.
func (r *recorder) blocksInUse() []*block {
	list := make([]*block, (r.queries.Load()+1<<r.shift-1)>>r.shift)
	for n := range list {
		list[n] = r.blocks[n].Load()
	}
	return list
}

// each makes values of n numbers of each query, in the order of the traffic. The function gets a block, the
// place i in it, which counts to n in each query, and the number q of the query; it returns false for no value.
func (r *recorder) each(n uint32, value func(b *block, i, q int) (int64, bool)) values {
	return func(f func([]int64)) {
		piece := make([]int64, 0, pieceSize)
		for _, b := range r.blocksInUse() {
			i := 0
			for q := range b.start {
				for range n {
					if x, ok := value(b, i, q); ok {
						if piece = append(piece, x); len(piece) == pieceSize {
							f(piece)
							piece = piece[:0]
						}
					}
					i++
				}
			}
		}
		f(piece)
	}
}

// ofSamples are values of the answered samples. The function also gets the instant of completion.
func (r *recorder) ofSamples(value func(b *block, i, q int, done int64) (int64, bool)) values {
	return r.each(r.perQuery, func(b *block, i, q int) (int64, bool) {
		slot := b.slots[i].Load()
		if slot < slotDone {
			return 0, false
		}
		return value(b, i, q, slot-slotDone)
	})
}

// latencies of the samples.
func (r *recorder) latencies() values {
	return r.ofSamples(func(b *block, _, q int, done int64) (int64, bool) { return done - b.start[q], true })
}

// queryLatencies of the queries whose samples are all answered: each lasts until its last answer.
func (r *recorder) queryLatencies() values {
	return r.each(1, func(b *block, _, q int) (int64, bool) {
		done := r.queryCompletion(b, q)
		if done < 0 { // its start may just be written
			return 0, false
		}
		return done - b.start[q], true
	})
}

// intervals of the issued queries, at fixed intervals: how many passed since the one before.
func (r *recorder) intervals() values {
	return r.each(1, func(b *block, _, q int) (int64, bool) { return int64(b.intervals[q]), b.intervals[q] > 0 })
}

// delays of queries that have a schedule: how much later than scheduled they were issued.
func (r *recorder) delays() values {
	return r.ofSamples(func(b *block, _, q int, _ int64) (int64, bool) { return b.late[q].ns(), true })
}

// ownDelays are the generator's own part of delays.
func (r *recorder) ownDelays() values {
	return r.ofSamples(func(b *block, _, q int, _ int64) (int64, bool) { return b.own[q].ns(), true })
}

// firstTokens are the latencies of the first tokens.
func (r *recorder) firstTokens() values {
	return r.ofSamples(func(b *block, i, q int, _ int64) (int64, bool) {
		first := b.firstToken[i].Load() - slotDone
		return first - b.start[q], first >= 0
	})
}

// timesPerToken are the mean times of the tokens after the first (loadgen/logging.cc, RecordSampleCompletion).
func (r *recorder) timesPerToken() values {
	return r.ofSamples(func(b *block, i, _ int, done int64) (int64, bool) {
		first, n := b.firstToken[i].Load()-slotDone, int64(b.tokens[i].Load())
		if first < 0 || n < leastTokens {
			return 0, false
		}
		return (done - first - b.paused[i].Load()) / (n - 1), true
	})
}

// tokenCount sums the tokens of all answered samples.
func (r *recorder) tokenCount() int64 {
	return int64(summarize(r.ofSamples(func(b *block, i, _ int, _ int64) (int64, bool) {
		n := int64(b.tokens[i].Load())
		return n, n >= leastTokens
	})).sumLow)
}

// answered is the number of samples that are complete, those that failed among them.
func (r *recorder) answered() uint64 { return uint64(r.completed.Load()) }

// lastCompletion is the latest instant at which a sample was completed; 0 if none was.
func (r *recorder) lastCompletion() int64 {
	return summarize(r.ofSamples(func(_ *block, _, _ int, done int64) (int64, bool) { return done, true })).max
}

// queryCompletion is the instant at which the last sample of a query was completed, or
// -1 if one is missing.
func (r *recorder) queryCompletion(b *block, q int) int64 {
	last := int64(0)
	for i := q * int(r.perQuery); i < (q+1)*int(r.perQuery); i++ {
		done := b.slots[i].Load() - slotDone
		if done < 0 {
			return -1
		}
		last = max(last, done)
	}
	return last
}

func (r *recorder) eachSample(f func(SampleRecord)) {
	query := uint64(0)
	for _, b := range r.blocksInUse() {
		for q := range b.start {
			record := SampleRecord{Query: query, Start: time.Duration(b.start[q]), FirstToken: -1}
			record.Issued = record.Start
			if b.late != nil {
				record.Issued += time.Duration(b.late[q].ns())
				record.GeneratorDelay = time.Duration(b.own[q].ns())
			}
			for i := q * int(r.perQuery); i < (q+1)*int(r.perQuery); i++ {
				slot := b.slots[i].Load()
				if slot == slotIdle {
					continue
				}
				record.QuerySample = b.samples[i]
				record.Completed = time.Duration(max(slot-slotDone, -1))
				if b.firstToken != nil {
					record.FirstToken = time.Duration(max(b.firstToken[i].Load()-slotDone, -1))
					record.Tokens = int(b.tokens[i].Load())
					record.Paused = time.Duration(b.paused[i].Load())
				}
				f(record)
			}
			query++
		}
	}
}

// recentLatencies returns the latencies of the answered queries among the last that were issued, as many
// as into has room for. It looks at about four times as many queries, not at millions without an answer.
func (r *recorder) recentLatencies(issuedQueries uint64, into []int64) []int64 {
	out := into[:0]
	for n := issuedQueries; n > 0 && len(out) < cap(into); n-- {
		b, q := r.query(n - 1)
		if done := r.queryCompletion(b, q); done >= 0 {
			out = append(out, done-b.start[q])
		}
		if issuedQueries-n > uint64(4*cap(into)) {
			break
		}
	}
	return out
}
