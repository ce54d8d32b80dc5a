package server

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/mlperf-go/mlperf/internal/oip"
	"github.com/mlperf-go/mlperf/internal/oip/shm"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// Bounds of what clients may register.
const (
	mostRegions = 1024
	fewRegions  = 16 // of which nobody looks whether their clients are there
	mostName    = 256
	mostText    = 4 << 10 // bytes of a request for it
)

// regions are the parts of shared memory that clients have registered, by name.
type regions struct {
	mu    sync.RWMutex
	open  map[string]region
	sweep int // how many there are when those of the dead are looked for the next time
}

type region struct {
	oip.Region
	memory *shm.Object
	owned  bool // there was somebody who would say when it is no longer used
}

// forgetDead forgets the regions of clients that ended without a word: their memory would be taken for ever. It looks for
// them each time that there are twice as many as the last time.
func (r *regions) forgetDead() {
	if len(r.open) < r.sweep {
		return
	}
	for name, g := range r.open {
		if g.owned && !g.memory.HasOwner() {
			_ = g.memory.Close() // whom an error would concern has gone
			delete(r.open, name)
		}
	}
	r.sweep = min(max(fewRegions, 2*len(r.open)), mostRegions)
}

// register opens the memory of a region.
func (s *Server) register(g *oip.Region) error {
	if !s.config.SharedMemory {
		return oip.Errorf(oip.Unsupported, "this server takes no tensors in shared memory: send them")
	}
	if g.Name == "" || len(g.Name) > mostName {
		return oip.Errorf(oip.InvalidArgument, "a region has a name of %d characters, want 1 to %d", len(g.Name), mostName)
	}
	r := &s.regions
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetDead()
	if _, there := r.open[g.Name]; there {
		return oip.Errorf(oip.InvalidArgument, "the region %q is registered already", g.Name)
	}
	if len(r.open) == mostRegions {
		return oip.Errorf(oip.Unavailable, "%d regions are registered, there is no room for more", mostRegions)
	}
	memory, err := shm.Open(g.Key, g.Offset, g.Size)
	if err != nil {
		return &oip.Error{Code: oip.InvalidArgument, Err: err}
	}
	r.open[g.Name] = region{*g, memory, memory.HasOwner()}
	return nil
}

// unregister closes a region, or all. One that is not there is none, as for Triton.
func (s *Server) unregister(name string) error {
	r := &s.regions
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for n, g := range r.open {
		if name == "" || n == name {
			errs = append(errs, g.memory.Close())
			delete(r.open, n)
		}
	}
	return errors.Join(errs...)
}

// registered lists a region, or all, by name.
func (s *Server) registered(name string) (list []oip.Region, err error) {
	r := &s.regions
	r.mu.RLock()
	defer r.mu.RUnlock()
	for n, g := range r.open {
		if name == "" || n == name {
			list = append(list, g.Region)
		}
	}
	if name != "" && list == nil {
		return nil, oip.Errorf(oip.NotFound, "there is no region %q", name)
	}
	slices.SortFunc(list, func(a, b oip.Region) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// memoryOf finds the memory of a window.
func (s *Server) memoryOf(w oip.Window) (*shm.Object, error) {
	s.regions.mu.RLock()
	defer s.regions.mu.RUnlock()
	g, there := s.regions.open[w.Region]
	if !there {
		return nil, oip.Errorf(oip.InvalidArgument, "no region %q of shared memory is registered", w.Region)
	}
	if !g.memory.Holds(w.Offset, w.Size) {
		return nil, oip.Errorf(oip.InvalidArgument, "%d bytes from %d on are beyond the %d of region %q", w.Size, w.Offset, g.Size, w.Region)
	}
	return g.memory, nil
}

// checkWindows finds tensors that are said to lie where nothing is.
func (s *Server) checkWindows(h *oip.Head) error {
	for _, t := range h.Tensors {
		if err := s.checkWindow(t.Window); err != nil {
			return err
		}
	}
	for _, w := range h.Windows {
		if err := s.checkWindow(w); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) checkWindow(w oip.Window) error {
	if w.Region == "" {
		return nil
	}
	_, err := s.memoryOf(w)
	return err
}

// load implements oip.Load.
func (s *Server) load(w oip.Window, dst []byte) error {
	memory, err := s.memoryOf(w)
	if err == nil {
		err = memory.Read(w.Offset, dst)
	}
	if err != nil {
		return &oip.Error{Code: oip.InvalidArgument, Err: err}
	}
	return nil
}

// store puts outputs into shared memory that were asked for there.
func (s *Server) store(asked *oip.Head, specs []oip.Spec, outputs []tensor.Tensor) error {
	for k, w := range asked.Windows {
		i := slices.IndexFunc(specs, func(o oip.Spec) bool { return o.Name == asked.Wanted[k] })
		if w.Region == "" || i < 0 {
			continue
		}
		if err := s.storeIn(w, &specs[i], outputs[i]); err != nil {
			return err
		}
	}
	return nil
}

// storeIn puts an output into shared memory, and has its spec say so.
func (s *Server) storeIn(w oip.Window, spec *oip.Spec, output tensor.Tensor) error {
	data := output.Bytes()
	if output.Type == tensor.String || int64(len(data)) > w.Size {
		return oip.Errorf(oip.InvalidArgument, "output %v has %d bytes, there is room for %d in shared memory", *spec, len(data), w.Size)
	}
	memory, err := s.memoryOf(w)
	if err == nil {
		err = memory.Write(w.Offset, data)
	}
	spec.Window = oip.Window{Region: w.Region, Offset: w.Offset, Size: int64(len(data))}
	return err
}

// handleRegions adds the paths of Triton's extension.
func (s *Server) handleRegions(mux *http.ServeMux) {
	status := func(w http.ResponseWriter, r *http.Request) error {
		list, err := s.registered(r.PathValue("region"))
		if err != nil {
			return err
		}
		return writeJSON(w, append([]oip.Region{}, list...))
	}
	register := func(w http.ResponseWriter, r *http.Request) error {
		err := http.NewResponseController(w).SetReadDeadline(allowance(s.config.Limits.Body, 0))
		if err != nil {
			return err
		}
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostText))
		g := &oip.Region{}
		if err == nil {
			err = oip.ReadJSON(text, g, "key", "offset", "byte_size")
		}
		if err != nil {
			return oip.Errorf(oip.InvalidArgument, "a region of shared memory: %w", err)
		}
		g.Name = r.PathValue("region")
		return s.register(g)
	}
	unregister := func(_ http.ResponseWriter, r *http.Request) error { return s.unregister(r.PathValue("region")) }
	for _, path := range []string{"/v2/systemsharedmemory", "/v2/systemsharedmemory/region/{region}"} {
		mux.HandleFunc("GET "+path+"/status", s.guarded(status))
		mux.HandleFunc("POST "+path+"/unregister", s.guarded(unregister))
	}
	mux.HandleFunc("POST /v2/systemsharedmemory/region/{region}/register", s.guarded(register))
}
