package client

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"path"
	"sync"

	"github.com/mlperf-go/mlperf/internal/oip"
	"github.com/mlperf-go/mlperf/internal/oip/shm"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// shared is the memory that requests to a server share with it. Each request has a region of
// its own while it is under way. The region of one that failed without an answer is never used
// again: the server may still read it, and write into it.
type shared struct {
	mu   sync.Mutex
	free []*lease
	all  []*lease
}

// A lease is a region that a request has.
type lease struct {
	region string
	memory *shm.Object
}

// leaseSize is how large a region is that a request needs: requests of about the same size share
// it.
func leaseSize(need int64) int64 {
	const page = 4096
	if need <= page {
		return page
	}
	step := int64(1) << (bits.Len64(uint64(need)) - 3) // a quarter of the largest power of two in it
	return (need + step - 1) / step * step
}

// lend finds a region of a size that nobody uses, or makes one that the server knows.
func (n *node) lend(ctx context.Context, need int64) (*lease, error) {
	s := &n.shared
	s.mu.Lock()
	for i := len(s.free) - 1; i >= 0; i-- {
		if l := s.free[i]; l.memory.Size() >= need {
			s.free = append(s.free[:i], s.free[i+1:]...)
			s.mu.Unlock()
			return l, nil
		}
	}
	s.mu.Unlock()
	memory, err := shm.Create(leaseSize(need))
	if err != nil {
		return nil, err
	}
	l := &lease{path.Base(memory.Key()), memory}
	err = n.register(ctx, &oip.Region{Name: l.region, Key: memory.Key(), Size: memory.Size()})
	if err != nil {
		err = fmt.Errorf("registering shared memory: %w", err)
	}
	// Who is to have it open has it open by now. Without a name it is gone when both programs are.
	if err = errors.Join(err, memory.Unlink()); err != nil {
		return nil, errors.Join(err, memory.Close())
	}
	s.mu.Lock()
	s.all = append(s.all, l)
	s.mu.Unlock()
	return l, nil
}

// giveBack lets other requests have a region.
func (n *node) giveBack(l *lease) {
	n.shared.mu.Lock()
	n.shared.free = append(n.shared.free, l)
	n.shared.mu.Unlock()
}

// closeShared has the server forget all regions, as long as it answers, and closes them.
func (n *node) closeShared() error {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	var errs []error
	for _, l := range n.shared.all {
		if n.down.Load() == nil {
			_ = n.unregister(ctx, l.region) // a server that has ended has forgotten it
		}
		errs = append(errs, l.memory.Close())
	}
	n.shared.all, n.shared.free = nil, nil
	return errors.Join(errs...)
}

// inferShared has inputs and outputs of known size go through shared memory.
func (n *node) inferShared(ctx context.Context, r *Request, id string) (*Answer, error) {
	own := *r
	need, err := own.lay()
	if err != nil {
		return nil, err
	}
	l, err := n.lend(ctx, need)
	if err != nil {
		return nil, err
	}
	if err := own.occupy(l); err != nil {
		n.giveBack(l)
		return nil, err
	}
	answer, err := n.infer(ctx, &own, id)
	var refused *oip.Error
	if err == nil || errors.As(err, &refused) && ctx.Err() == nil { // the server has done with it
		n.giveBack(l)
	}
	return answer, err
}

// lay finds places for all tensors, and returns how much memory that takes.
func (r *Request) lay() (need int64, err error) {
	specs := append([]oip.Spec{}, r.Specs...)
	place := func(size int64) oip.Window {
		w := oip.Window{Offset: need, Size: size}
		need += (size + tensorAlignment - 1) / tensorAlignment * tensorAlignment
		return w
	}
	for i, t := range r.Tensors {
		if t.Type == tensor.String {
			return 0, fmt.Errorf("input %s is of strings, which shared memory does not have here", specs[i].Name)
		}
		specs[i].Window = place(int64(len(t.Bytes())))
	}
	r.Specs, r.windows = specs, make([]oip.Window, len(r.Wanted))
	for i := range r.windows {
		if i < len(r.Room) && r.Room[i] > 0 {
			r.windows[i] = place(r.Room[i])
		}
	}
	return need, nil
}

// tensorAlignment is that of a tensor in a region.
const tensorAlignment = 64

// occupy puts the inputs into a region, and has the outputs that come back there read from it.
func (r *Request) occupy(l *lease) error {
	for i, t := range r.Tensors {
		r.Specs[i].Window.Region = l.region
		if err := l.memory.Write(r.Specs[i].Window.Offset, t.Bytes()); err != nil {
			return err
		}
	}
	asked := map[string]oip.Window{}
	for i := range r.windows {
		if r.windows[i].Size > 0 {
			r.windows[i].Region = l.region
			asked[r.Wanted[i]] = r.windows[i]
		}
	}
	accept := r.Accept
	r.Accept = func(h *oip.Head) (oip.Place, error) {
		if err := checkWindows(h, asked); err != nil {
			return nil, err
		}
		return accept(h)
	}
	r.load = func(w oip.Window, dst []byte) error { return l.memory.Read(w.Offset, dst) }
	return nil
}

// checkWindows refuses outputs that are said to be elsewhere in shared memory than was asked for.
func checkWindows(h *oip.Head, asked map[string]oip.Window) error {
	for _, s := range h.Tensors {
		if w := asked[s.Name]; s.Window.Region != "" && !isWithin(s.Window, w) {
			return fmt.Errorf("output %v is said to be at %+v of shared memory, asked was %+v", s, s.Window, w)
		}
	}
	return nil
}

// isWithin reports whether an output is at the place that it was asked for.
func isWithin(at, asked oip.Window) bool {
	return at.Region == asked.Region && at.Offset == asked.Offset && at.Size <= asked.Size
}
