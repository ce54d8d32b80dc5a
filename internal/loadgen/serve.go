package loadgen

import (
	"context"
	"sync"
	"time"
)

// This file issues the queries of Server, each at its scheduled instant.

// meanGap is the mean time between two queries of an issue thread.
func meanGap(qps float64) time.Duration { return time.Duration(float64(time.Second) / qps) }

// serve runs the Server loops, each with every threads-th query.
func (p *phase) serve(ctx context.Context) {
	var wg sync.WaitGroup
	threads := uint64(p.e.IssueQueryThreads)
	for thread := range threads {
		wg.Go(func() {
			pacer := p.pacer()
			p.priority.Store(pacer.Begin(meanGap(p.e.TargetQPS / float64(threads))))
			defer pacer.End()
			p.report(thread, p.guard(func() ending { return p.serveThread(ctx, pacer, threads, thread) }))
		})
	}
	wg.Wait()
}

func (p *phase) serveThread(ctx context.Context, pacer Pacer, threads, thread uint64) ending {
	rec := p.rec
	issued, blame := uint64(0), newBlame()
	for n := thread; n < rec.queries.Load(); n += threads {
		p.waitForLog(ctx)
		b, q := rec.query(n)
		now := rec.now()
		blame.returned(now)
		if now < b.start[q] {
			now = int64(pacer.WaitUntil(ctx, rec.started, time.Duration(b.start[q])))
		} else {
			now = int64(pacer.Rest(rec.started, time.Duration(now)))
		}
		if ctx.Err() != nil {
			return endStopped
		}
		query := rec.arm(b, q) // not before, or an answer that comes too early would count
		b.late[q], b.own[q] = latenessOf(now-b.start[q]), blame.issue(b.start[q], now)
		count := uint64(1)
		if p.e.ServerCoalesceQueries {
			query, count = p.coalesce(query, n, threads, &blame)
			n += (count - 1) * threads
		}
		p.handed.Add(int64(count))
		p.sut.IssueQuery(query)
		p.returned.Add(int64(count))
		issued += count
		if end := p.overServer(issued, now, threads, thread); end != endScheduled {
			return end
		}
	}
	return endScheduled
}

func (p *phase) overServer(issued uint64, now int64, threads, thread uint64) ending {
	limit := p.e.MaxAsyncQueries
	if limit == 0 {
		limit = p.maxOutstanding
	}
	if limit != 0 && !p.accuracy {
		if p.returned.Load()-p.rec.completed.Load() > int64(limit) {
			return endOutstanding
		}
	}
	return p.over(issued, now, threads, thread)
}

// coalesce adds to a query those whose time has also come, and returns how many
// queries it holds then.
func (p *phase) coalesce(query Query, n, threads uint64, blame *blame) (Query, uint64) {
	count, now := uint64(1), blame.issued
	for next := n + threads; next < p.rec.queries.Load(); next += threads {
		b, q := p.rec.query(next)
		if now < b.start[q] {
			break
		}
		p.rec.arm(b, q)
		b.late[q], b.own[q] = latenessOf(now-b.start[q]), blame.own(b.start[q])
		count++
	}
	if count == 1 {
		return query, 1
	}
	first, q := p.rec.query(n)
	if last, _ := p.rec.query(n + count - 1); threads == 1 && last == first {
		query.Samples = first.samples[q : q+int(count) : q+int(count)]
		return query, count
	}
	// The samples do not lie side by side. This is the only allocation of a loop, and
	// only of a loop that is late already.
	samples := make([]QuerySample, 0, count)
	for i := range count {
		b, q := p.rec.query(n + i*threads)
		samples = append(samples, b.samples[q])
	}
	query.Samples = samples
	return query, count
}
