package loadgen

import "time"

// This file reads the blocks of a finished phase. A SUT that still completes samples
// may write slots meanwhile, which is why they are loaded atomically.

// pieceSize is the number of values passed on at once.
const pieceSize = 1 << 12

// each passes numbers of all blocks to f in pieces. of appends the numbers of one block.
func (r *recorder) each(f func([]int64), of func(b *block, add func(int64))) {
	piece := make([]int64, 0, pieceSize)
	add := func(x int64) {
		if piece = append(piece, x); len(piece) == pieceSize {
			f(piece)
			piece = piece[:0]
		}
	}
	for n := range r.used() {
		of(r.blocks[n].Load(), add)
	}
	f(piece)
}

// used is the number of blocks that exist.
func (r *recorder) used() int { return int((r.queries.Load() + 1<<r.shift - 1) >> r.shift) }

// latencies of the answered samples, in the order of the traffic.
func (r *recorder) latencies(f func([]int64)) {
	r.each(f, func(b *block, add func(int64)) {
		b.eachDone(r.perQuery, func(i, q int, done int64) { add(done - b.start[q]) })
	})
}

// queryLatencies of the issued queries: each lasts until its last sample is answered.
func (r *recorder) queryLatencies(f func([]int64)) {
	r.each(f, func(b *block, add func(int64)) {
		for q := range b.start {
			if done := r.queryCompletion(b, q); done >= 0 {
				add(done - b.start[q])
			}
		}
	})
}

// intervalCounts of the issued queries: how many intervals passed since the one before.
func (r *recorder) intervalCounts(f func([]int64)) {
	r.each(f, func(b *block, add func(int64)) {
		for q := range b.start {
			if b.intervals[q] > 0 {
				add(int64(b.intervals[q]))
			}
		}
	})
}

// delays of the answered queries that have a schedule: how much later than scheduled they were issued.
func (r *recorder) delays(f func([]int64)) {
	r.each(f, func(b *block, add func(int64)) {
		b.eachDone(r.perQuery, func(i, q int, done int64) { add(b.late[q].ns()) })
	})
}

// ownDelays are the generator's own part of delays.
func (r *recorder) ownDelays(f func([]int64)) {
	r.each(f, func(b *block, add func(int64)) {
		b.eachDone(r.perQuery, func(i, q int, done int64) { add(b.own[q].ns()) })
	})
}

// firstTokens are the latencies of the answered samples' first tokens.
func (r *recorder) firstTokens(f func([]int64)) {
	r.each(f, func(b *block, add func(int64)) {
		b.eachDone(r.perQuery, func(i, q int, done int64) {
			if first := b.firstToken[i].Load(); first >= slotDone {
				add(first - slotDone - b.start[q])
			}
		})
	})
}

// timesPerToken are the mean times of the answered samples' tokens after the first
// (loadgen/logging.cc, RecordSampleCompletion).
func (r *recorder) timesPerToken(f func([]int64)) {
	r.each(f, func(b *block, add func(int64)) {
		b.eachDone(r.perQuery, func(i, q int, done int64) {
			first := b.firstToken[i].Load()
			if first >= slotDone && b.tokens[i].Load() > 1 {
				add((done - (first - slotDone)) / int64(b.tokens[i].Load()-1))
			}
		})
	})
}

// tokenCount sums the tokens of all answered samples.
func (r *recorder) tokenCount() int64 {
	n := int64(0)
	for i := range r.used() {
		b := r.blocks[i].Load()
		b.eachDone(r.perQuery, func(i, q int, done int64) {
			if b.tokens[i].Load() > 1 {
				n += int64(b.tokens[i].Load())
			}
		})
	}
	return n
}

// answered is the number of samples that are complete.
func (r *recorder) answered() uint64 { return uint64(r.completed.Load()) }

// lastCompletion is the latest instant at which a sample was completed; 0 if none was.
func (r *recorder) lastCompletion() int64 {
	last := int64(0)
	for i := range r.used() {
		b := r.blocks[i].Load()
		b.eachDone(r.perQuery, func(_, _ int, done int64) { last = max(last, done) })
	}
	return last
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

// eachDone passes the answered samples of a block: the sample's number in it, its
// query's, and the instant of completion.
func (b *block) eachDone(perQuery uint32, f func(i, q int, done int64)) {
	i := 0
	for q := range b.start {
		for range perQuery {
			if s := b.slots[i].Load(); s >= slotDone {
				f(i, q, s-slotDone)
			}
			i++
		}
	}
}

func (r *recorder) eachSample(f func(SampleRecord)) {
	query := uint64(0)
	for n := range r.used() {
		b := r.blocks[n].Load()
		for q := range b.start {
			record := SampleRecord{Query: query, Start: time.Duration(b.start[q]), FirstToken: -1}
			record.Issued = record.Start
			if b.late != nil {
				record.Issued += b.late[q].duration()
				record.GeneratorDelay = b.own[q].duration()
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
				}
				f(record)
			}
			query++
		}
	}
}

// recentLatencies appends to into the latencies of the answered samples among the last
// len(into) that were issued.
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
