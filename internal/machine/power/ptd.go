package power

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// A ptDaemon is a connection to SPEC's PTDaemon, which reads a power analyser. Its protocol is lines
// of text that end in CR LF, an answer to each.
type ptDaemon struct {
	address   string
	conn      net.Conn
	read      *bufio.Reader
	began     time.Time // of the measurement
	analyser  string
	exchanges []exchange
}

// An exchange is a command and the answer to it.
type exchange struct {
	at              time.Time
	command, answer string
}

const (
	ptdTimeout = 10 * time.Second // for an answer
	ptdEvery   = 1000             // ms between samples
	ptdMark    = "mlperf_testing" // of the samples of this run
	// maxAnswer bounds a line, and maxSamples the number of samples: four weeks.
	maxAnswer  = 64 << 10
	maxSamples = 28 * 24 * 3600
	// maxFetched bounds the bytes of all samples: those of four weeks have some hundred each.
	maxFetched = 512 << 20
)

// connect connects to a daemon and asks for its analyser.
func connect(ctx context.Context, address string) (*ptDaemon, error) {
	conn, err := dial(ctx, address)
	if err != nil {
		return nil, err
	}
	d := &ptDaemon{address: address, conn: conn, read: bufio.NewReaderSize(conn, maxAnswer)}
	hello, err := d.ask("Hello")
	if err == nil && !strings.HasPrefix(hello, "Hello, PTDaemon") {
		err = fmt.Errorf("it says %q, which is not PTDaemon", hello)
	}
	if err == nil {
		d.analyser, err = d.ask("Identify")
	}
	if err != nil {
		return nil, d.abandon(err)
	}
	return d, nil
}

// dial opens a connection.
func dial(ctx context.Context, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: ptdTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("PTDaemon: %w", err)
	}
	return conn, nil
}

// abandon closes the connection after an error.
func (d *ptDaemon) abandon(err error) error {
	return errors.Join(fmt.Errorf("PTDaemon at %s: %w", d.address, err), d.conn.Close())
}

// begin begins a measurement.
func (d *ptDaemon) begin(mark string) error {
	d.began = time.Now()
	return d.expect(fmt.Sprintf("Go,%d,0,%s", ptdEvery, mark), "Starting")
}

// expect sends a command whose answer must begin so.
func (d *ptDaemon) expect(command, answer string) error {
	got, err := d.ask(command)
	if err == nil && !strings.HasPrefix(got, answer) {
		err = fmt.Errorf("it answers %s with %q, expected %s…", command, got, answer)
	}
	return err
}

// ask sends a command and returns the answer to it.
func (d *ptDaemon) ask(command string) (string, error) {
	if err := d.conn.SetDeadline(time.Now().Add(ptdTimeout)); err != nil {
		return "", err
	}
	if _, err := d.conn.Write([]byte(command + "\r\n")); err != nil {
		return "", fmt.Errorf("%s: %w", command, err)
	}
	line, err := d.line()
	if err != nil {
		return "", fmt.Errorf("%s: %w", command, err)
	}
	d.exchanges = append(d.exchanges, exchange{time.Now(), command, line})
	return line, nil
}

// line reads a line.
func (d *ptDaemon) line() (string, error) {
	text, err := d.read.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return "", fmt.Errorf("an answer is longer than %d bytes", maxAnswer)
	}
	return strings.TrimRight(string(text), "\r\n"), err
}

// end ends the measurement and fetches its samples, which it also returns as they came.
func (d *ptDaemon) end() (record *Record, lines []string, err error) {
	if _, err = d.ask("Stop"); err == nil {
		lines, err = d.samples()
	}
	if err == nil {
		record, err = recordOf(lines, d.began)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("PTDaemon: %w", err)
	}
	record.Series[0].Name = "PTDaemon " + d.analyser
	return record, lines, nil
}

// samples fetches all lines of samples.
func (d *ptDaemon) samples() ([]string, error) {
	head, err := d.ask("RL,*,*")
	if err != nil {
		return nil, err
	}
	n := -1 // the second word
	if words := strings.Fields(strings.ReplaceAll(head, ",", " ")); len(words) > 1 {
		if n, err = strconv.Atoi(words[1]); err != nil {
			n = -1
		}
	}
	if n < 0 || n > maxSamples {
		return nil, fmt.Errorf("the answer to RL is %q: must be a number of samples", head)
	}
	var lines []string
	fetched := 0
	for range n {
		if err := d.conn.SetDeadline(time.Now().Add(ptdTimeout)); err != nil {
			return nil, err
		}
		line, err := d.line()
		if err != nil {
			return nil, fmt.Errorf("sample %d of %d: %w", len(lines)+1, n, err)
		}
		if fetched += len(line); fetched > maxFetched {
			return nil, fmt.Errorf("the samples are longer than %d MiB", maxFetched>>20)
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// recordOf makes a record of samples. The analyser has a clock of its own: the first sample is
// that of the first interval after the command to begin, and from that follows how far the clocks
// are apart, up to the duration of the command. Samples without a power, as analysers give them while
// they look for their ranges, are left out with a note, as the official checker passes over them.
// The samples of the record have the times of this machine's clock, in UTC, like the log of the test.
func recordOf(lines []string, began time.Time) (*Record, error) {
	if len(lines) == 0 {
		return nil, errors.New("there are no samples")
	}
	var s Series
	times := make([]time.Time, len(lines))
	for i, line := range lines {
		fields := strings.Split(line, ",")
		if !isSample(fields) {
			return nil, fmt.Errorf("sample %d is %q: must be Time,…,Watts,…", i+1, line)
		}
		var err error
		if times[i], err = parseTime(strings.TrimSpace(fields[1])); err == nil {
			watts, notNumber := strconv.ParseFloat(strings.TrimSpace(fields[3]), 64)
			if notNumber != nil || watts > 0 {
				err = s.addLine(fields, 1, 3, 0)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("sample %d: %w", i+1, err)
		}
	}
	if len(s.Points) == 0 {
		return nil, fmt.Errorf("none of %d samples has a power above 0", len(lines))
	}
	offset := began.Add(ptdEvery * time.Millisecond).Sub(times[0]).Round(time.Millisecond)
	for i := range s.Points {
		s.Points[i].At = s.Points[i].At.Add(offset)
	}
	r := &Record{Series: []Series{s}, Offset: offset, Marked: true}
	for i, line := range lines {
		fields := strings.Split(line, ",")
		fields[1] = times[i].Add(offset).UTC().Format(ptdTime)
		r.Samples = append(r.Samples, strings.Join(fields, ","))
	}
	if without := len(lines) - len(s.Points); without > 0 {
		r.Notes = []string{fmt.Sprintf("%d of %d samples of PTDaemon have no power above 0 and were left out", without, len(lines))}
	}
	return r, nil
}

// isSample reports whether a line of PTDaemon begins with its time and watts.
func isSample(fields []string) bool {
	return len(fields) >= 4 && fields[0] == "Time" && fields[2] == "Watts"
}
