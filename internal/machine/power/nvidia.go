package power

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// cards are the power of NVIDIA's cards, as nvidia-smi reads it from NVML and prints it until it is stopped.
type cards struct {
	lines  *bufio.Scanner
	series []Series
	names  []string
	cancel context.CancelFunc // stops nvidia-smi
	done   chan struct{}      // closed when it has ended
	failed error
}

// smiTimeout is how long nvidia-smi may take for its first readings: it may have to load the driver.
const smiTimeout = 30 * time.Second

// startCards starts nvidia-smi and waits for the first reading of each card.
func startCards(ctx context.Context, program string) (*cards, error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, program, "--query-gpu=timestamp,count,index,name,power.draw", "--format=csv,noheader,nounits", "--loop-ms=500")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		if errors.Is(err, exec.ErrNotFound) {
			err = errors.New("nvidia-smi of the NVIDIA driver is not installed")
		}
		return nil, fmt.Errorf("NVML: %w", err)
	}
	c := &cards{lines: bufio.NewScanner(out), cancel: cancel, done: make(chan struct{})}
	late := time.AfterFunc(smiTimeout, cancel)
	for count := 1; len(c.series) < count && err == nil; {
		count, err = c.read()
	}
	if !late.Stop() {
		err = fmt.Errorf("nvidia-smi printed no power within %v", smiTimeout)
	}
	if err != nil {
		cancel()
		_ = cmd.Wait() // its output says more than its status
		return nil, fmt.Errorf("NVML: %w", err)
	}
	for _, s := range c.series {
		c.names = append(c.names, s.Name)
	}
	go func() {
		defer close(c.done)
		for err == nil {
			_, err = c.read()
		}
		if ctx.Err() == nil { // otherwise it was stopped, perhaps within a line
			c.failed = fmt.Errorf("NVML: %w", err)
		}
		cancel()
		_ = cmd.Wait()
	}()
	return c, nil
}

// read reads a line, which is one card's, and returns how many cards there are.
func (c *cards) read() (count int, err error) {
	if !c.lines.Scan() {
		return 0, errors.Join(errors.New("nvidia-smi ended"), c.lines.Err())
	}
	line := c.lines.Text()
	fields := strings.Split(line, ", ")
	if len(fields) != 5 {
		return 0, fmt.Errorf("nvidia-smi says: %s", line)
	}
	at, err := time.ParseInLocation("2006/01/02 15:04:05", fields[0], time.Local)
	count, err2 := strconv.Atoi(fields[1])
	i, err3 := strconv.Atoi(fields[2])
	if err := errors.Join(err, err2, err3); err != nil {
		return 0, fmt.Errorf("nvidia-smi says: %s: %w", line, err)
	}
	name := fmt.Sprintf("%s (%d)", fields[3], i)
	watts, err := parseWatts(fields[4])
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err) // [N/A]: the card has no meter
	}
	if i == len(c.series) {
		c.series = append(c.series, Series{Name: "NVML " + name})
	}
	if i < 0 || i >= len(c.series) {
		return 0, fmt.Errorf("nvidia-smi lists card %d after %d cards", i, len(c.series))
	}
	c.series[i].addWatts(at, watts)
	return count, nil
}
