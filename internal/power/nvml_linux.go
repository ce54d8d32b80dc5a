package power

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ebitengine/purego"
)

// nvml are the functions of NVIDIA's management library (nvml.h) that are used here.
type nvml struct {
	library  uintptr
	start    func() int32
	shutdown func() int32
	text     func(int32) string
	count    func(*uint32) int32
	device   func(uint32, *uintptr) int32
	label    func(uintptr, *byte, uint32) int32
	power    func(uintptr, *uint32) int32 // mW
	energy   func(uintptr, *uint64) int32 // mJ since the driver was loaded; Volta and newer

	open int // counters
}

// nvmlLibrary is where the driver puts it.
const nvmlLibrary = "libnvidia-ml.so.1"

// openNVML opens the counters of all cards. path is the library; empty: the driver's.
func openNVML(path string) ([]counter, error) {
	if path == "" {
		path = nvmlLibrary
	}
	n, err := loadNVML(path)
	if err != nil {
		return nil, fmt.Errorf("NVML: %w", err)
	}
	if code := n.start(); code != 0 {
		return nil, errors.Join(fmt.Errorf("NVML: %s", n.text(code)), purego.Dlclose(n.library))
	}
	list, err := n.counters()
	if err == nil && len(list) == 0 {
		err = errors.New("NVML: there is no NVIDIA card")
	}
	if err != nil {
		n.shutdown()
		return nil, errors.Join(err, purego.Dlclose(n.library))
	}
	n.open = len(list)
	return list, nil
}

func loadNVML(path string) (n *nvml, err error) {
	library, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("there is no driver of NVIDIA's: %w", err)
	}
	n = &nvml{library: library}
	for _, f := range []struct {
		name string
		to   any
	}{
		{"nvmlInit_v2", &n.start}, {"nvmlShutdown", &n.shutdown}, {"nvmlErrorString", &n.text}, {"nvmlDeviceGetCount_v2", &n.count},
		{"nvmlDeviceGetHandleByIndex_v2", &n.device}, {"nvmlDeviceGetName", &n.label}, {"nvmlDeviceGetPowerUsage", &n.power},
		{"nvmlDeviceGetTotalEnergyConsumption", &n.energy},
	} {
		symbol, err := purego.Dlsym(library, f.name)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s lacks %s: the driver is too old", path, f.name), purego.Dlclose(library))
		}
		purego.RegisterFunc(f.to, symbol)
	}
	return n, nil
}

// counters are those of all cards.
func (n *nvml) counters() ([]counter, error) {
	var cards uint32
	if code := n.count(&cards); code != 0 {
		return nil, fmt.Errorf("NVML: counting the cards: %s", n.text(code))
	}
	var list []counter
	for i := range cards {
		c := &nvmlCounter{nvml: n}
		if code := n.device(i, &c.handle); code != 0 {
			return nil, fmt.Errorf("NVML: card %d: %s", i, n.text(code))
		}
		label := make([]byte, 96) // NVML_DEVICE_NAME_V2_BUFFER_SIZE
		n.label(c.handle, &label[0], uint32(len(label)))
		text, _, _ := strings.Cut(string(label), "\x00")
		c.label = fmt.Sprintf("NVML %s (%d)", text, i)
		if _, err := c.joules(); err != nil {
			return nil, fmt.Errorf("NVML: %s: %w", c.label, err)
		}
		list = append(list, c)
	}
	return list, nil
}

// An nvmlCounter is the energy of a card.
type nvmlCounter struct {
	*nvml
	label  string
	handle uintptr

	began  bool
	first  uint64 // mJ
	last   uint64 // of the reading before
	adds   bool   // the card tells only its power, which is added up
	series Series
}

func (c *nvmlCounter) name() string { return c.label }

func (c *nvmlCounter) joules() (float64, error) {
	var total uint64
	if !c.adds {
		code := c.energy(c.handle, &total)
		switch {
		case code != 0 && c.began:
			return 0, errors.New(c.text(code))
		case code != 0:
			c.adds = true
		case !c.began:
			c.began, c.first = true, total
		case total < c.last:
			return 0, fmt.Errorf("it went back from %d to %d mJ: the driver began to count again", c.last, total)
		}
	}
	if !c.adds {
		c.last = total
		return float64(total-c.first) / 1e3, nil
	}
	var milli uint32
	if code := c.power(c.handle, &milli); code != 0 {
		return 0, errors.New(c.text(code))
	}
	c.series.addWatts(time.Now(), float64(milli)/1e3)
	c.began = true
	return c.series.Points[len(c.series.Points)-1].Joules, nil
}

// close frees the library with the last counter.
func (c *nvmlCounter) close() error {
	if c.open--; c.open > 0 {
		return nil
	}
	c.shutdown()
	return purego.Dlclose(c.library)
}
