package checker

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/submission/python"
)

const clockTolerance = 800 // ms between client and server, and seconds in the daemon's log

// phases compares the clocks of client and server, the time of the run with that of its
// phase, and the power of both runs.
func (s *session) phases() error {
	var windows [2][2]float64
	for i, mode := range []struct{ name, folder string }{{"ranging", "ranging"}, {"testing", "run_1"}} {
		client, err := s.sameClock(mode.name)
		if err != nil {
			return err
		}
		begin, end, err := s.window(mode.folder)
		if err != nil {
			return err
		}
		if err := inPhase(client, mode.name, begin, end); err != nil {
			return err
		}
		windows[i] = [2]float64{begin, end}
	}
	ranging, testing := windows[0][1]-windows[0][0], windows[1][1]-windows[1][0]
	if ranging == 0 {
		return errors.New("the ranging run took no time")
	}
	if (ranging-testing)/ranging > 0.5 {
		return errStop
	}
	return s.samePower()
}

// sameClock returns the times at which the phases of a run began.
func (s *session) sameClock(mode string) ([]float64, error) {
	client, err := begins(s.client, mode)
	if err != nil {
		return nil, err
	}
	server, err := begins(s.server, mode)
	if err != nil {
		return nil, err
	}
	if len(client) != len(server) {
		return nil, fmt.Errorf("%s has %d phases for the client and %d for the server", mode, len(client), len(server))
	}
	for i := range client {
		if d := math.Abs(client[i] - server[i]); !(d <= clockTolerance/1000.0) {
			return nil, fmt.Errorf("phase %d of %s began %.0f ms apart for client and server, want at most %d ms", i+1, mode, d*1000, clockTolerance)
		}
	}
	return client, nil
}

// begins returns the times at which the phases of a run began for one side.
func begins(side *python.Dict, mode string) ([]float64, error) {
	list, err := listAt(side, "phases", mode)
	if err != nil {
		return nil, err
	}
	times := make([]float64, len(list))
	for i, phase := range list {
		if times[i], err = numberAt(phase, 0); err != nil {
			return nil, err
		}
	}
	return times, nil
}

// inPhase checks that a run lies in its phase, or one hour after it: where clocks
// change in summer, one side may not.
func inPhase(phases []float64, mode string, begin, end float64) error {
	if len(phases) < 3 {
		return fmt.Errorf("%s has %d phases, want 3 or more", mode, len(phases))
	}
	for _, t := range []float64{begin, end} {
		if !(phases[1] < t && t < phases[2]) && !(phases[1] < t-3600 && t-3600 < phases[2]) {
			return fmt.Errorf("LoadGen's run was not in the phase %s", mode)
		}
	}
	return nil
}

var anyStamp = regexp.MustCompile(`\p{Nd}*-\p{Nd}*-\p{Nd}* \p{Nd}*:\p{Nd}*:\p{Nd}*\.\p{Nd}*`)

// A window is when a run began and ended, in seconds, or why that is not known.
type window struct {
	begin, end float64
	err        error
}

// window returns when a run began and ended.
func (s *session) window(folder string) (begin, end float64, err error) {
	w, known := s.windows[folder]
	if !known {
		w.begin, w.end, w.err = s.readWindow(folder)
		s.windows[folder] = w
	}
	return w.begin, w.end, w.err
}

func (s *session) readWindow(folder string) (begin, end float64, err error) {
	path := s.folder + "/" + folder + "/mlperf_log_detail.txt"
	var bad error
	err = s.eachLine(path, func(_ int, line string) bool {
		lower := strings.ToLower(line)
		switch {
		case strings.Contains(lower, "power_begin"):
			begin, bad = seconds(anyStamp.FindString(line))
		case strings.Contains(lower, "power_end"):
			end, bad = seconds(anyStamp.FindString(line))
		}
		return bad == nil && (begin == 0 || end == 0)
	})
	switch err = errors.Join(err, bad); {
	case err != nil:
		return 0, 0, fmt.Errorf("%s/mlperf_log_detail.txt: %w", folder, err)
	case begin == 0, end == 0:
		return 0, 0, fmt.Errorf("%s/mlperf_log_detail.txt: no power_begin and power_end", folder)
	}
	return begin, end, nil
}

func seconds(stamp string) (float64, error) {
	t, err := python.ParseStamp(stamp)
	return float64(t.UnixMicro()) / 1e6, err
}

// samePower checks that the run under test did not need less power than the ranging
// run.
func (s *session) samePower() error {
	var watts [2]float64
	for i, folder := range []string{"ranging", "run_1"} {
		begin, end, err := s.window(folder)
		if err != nil {
			return err
		}
		samples, err := s.readSamples(s.folder+"/"+folder+"/spl.txt", time.UnixMicro(int64(math.Round(begin*1e6))).UTC(), time.UnixMicro(int64(math.Round(end*1e6))).UTC())
		if err != nil {
			return fmt.Errorf("%s/spl.txt: %w", folder, err)
		}
		mean, n := meanPower(samples)
		if n == 0 {
			mean = -1
		}
		watts[i] = round(mean, 5)
	}
	if watts[0] == 0 {
		return errors.New("the ranging run needed no power")
	}
	if delta := round((watts[1]/watts[0]-1)*100, 2); !(delta > -5) {
		return fmt.Errorf("the run under test needed %v W, %v %% less than the ranging run's %v W, want at most 5 %% less", watts[1], -delta, watts[0])
	}
	return nil
}

// round is Python's round: to the nearest decimal number, half to even.
func round(v float64, digits int) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'f', digits, 64), 64)
	return r
}
