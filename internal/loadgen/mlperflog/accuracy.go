package mlperflog

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
)

// An AccuracyLog writes mlperf_log_accuracy.json while responses arrive
// (loadgen/logging.cc, LogAccuracy). It is a loadgen.AccuracyLog.
type AccuracyLog struct {
	busy    atomic.Bool // inside Append, which blocks while the storage does
	closing atomic.Bool
	w       *bufio.Writer
	offline bool
	records int
	line    []byte
	err     error // the first
}

// NewAccuracyLog begins a log of a test of the scenario. It must be closed.
func NewAccuracyLog(w io.Writer, s loadgen.Scenario) *AccuracyLog {
	l := &AccuracyLog{w: bufio.NewWriterSize(w, 1<<16), offline: s == loadgen.Offline}
	_, l.err = l.w.WriteString("[")
	return l
}

// Append writes a record. After an error it does nothing but return it.
func (l *AccuracyLog) Append(r loadgen.AccuracyRecord) error {
	l.busy.Store(true)
	defer l.busy.Store(false)
	if l.closing.Load() {
		return errClosed
	}
	if l.err != nil {
		return l.err
	}
	b := l.line[:0]
	if l.records > 0 {
		b = append(b, ',')
	}
	l.records++
	b = append(b, "\n{ \"seq_id\" : "...)
	b = strconv.AppendUint(b, r.SeqID, 10)
	b = append(b, `, "qsl_idx" : `...)
	b = strconv.AppendUint(b, uint64(r.QSLIndex), 10)
	b = append(b, `, "data" : "`...)
	b = appendHex(b, r.Data)
	b = append(b, '"')
	if r.HasTokens && !l.offline {
		b = append(b, `, "token_data" : "`...)
		b = appendHex(b, r.TokenData)
		b = append(b, '"')
	}
	if r.HasTokens {
		b = append(b, `, "token_count" : `...)
		b = strconv.AppendInt(b, int64(r.NTokens), 10)
	}
	l.line = append(b, " }"...)
	_, l.err = l.w.Write(l.line)
	return l.err
}

// closeTimeout is how long the storage may take for the last bytes.
const closeTimeout = 10 * time.Second

var errClosed = errors.New("the log is closed")

// Close ends the log. It does not close the writer below it. It waits closeTimeout for a writer that blocks, and then
// returns an error: the log has no end.
func (l *AccuracyLog) Close() error {
	l.closing.Store(true)
	deadline := clock.Now().Add(closeTimeout)
	for l.busy.Load() {
		if !clock.Now().Before(deadline) {
			return errBlocked
		}
		time.Sleep(time.Millisecond)
	}
	done := make(chan error, 1)
	go func() {
		if l.err == nil {
			_, l.err = l.w.WriteString("\n]\n")
		}
		if l.err == nil {
			l.err = l.w.Flush()
		}
		done <- l.err
	}()
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("writing the accuracy log: %w", err)
		}
		return nil
	case <-timer.C:
		return errBlocked
	}
}

var errBlocked = fmt.Errorf("writing the accuracy log: the storage blocked for %g s", closeTimeout.Seconds())

// appendHex writes bytes in upper case.
func appendHex(b, data []byte) []byte {
	const digits = "0123456789ABCDEF"
	for _, c := range data {
		b = append(b, digits[c>>4], digits[c&15])
	}
	return b
}
