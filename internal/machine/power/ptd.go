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

// An analyser is SPEC's PTDaemon, which reads a power analyser by itself. Its protocol is lines
// of text that end in CR LF, an answer to each.
type analyser struct {
	conn  net.Conn
	read  *bufio.Reader
	began time.Time // when it was told to begin
	name  string
	said  []exchange
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
	// maxAnswer bounds a line, and maxSamples how many of them are asked for: four weeks.
	maxAnswer  = 64 << 10
	maxSamples = 28 * 24 * 3600
	// maxFetched bounds the bytes of all samples: those of four weeks have some hundred each.
	maxFetched = 512 << 20
)

// dial connects.
func dial(ctx context.Context, address string) (*analyser, error) {
	dialer := net.Dialer{Timeout: ptdTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("PTDaemon: %w", err)
	}
	return &analyser{conn: conn, read: bufio.NewReaderSize(conn, maxAnswer)}, nil
}

// startAnalyser connects and has the analyser measure.
func startAnalyser(ctx context.Context, address string) (*analyser, error) {
	a, err := dial(ctx, address)
	if err != nil {
		return nil, err
	}
	if err = a.begin(); err != nil {
		return nil, errors.Join(fmt.Errorf("PTDaemon at %s: %w", address, err), a.conn.Close())
	}
	return a, nil
}

// meet asks who is there.
func (a *analyser) meet() error {
	hello, err := a.ask("Hello")
	if err != nil {
		return err
	}
	if !strings.HasPrefix(hello, "Hello, PTDaemon") {
		return fmt.Errorf("it says %q, which is not PTDaemon", hello)
	}
	a.name, err = a.ask("Identify")
	return err
}

func (a *analyser) begin() error {
	if err := a.meet(); err != nil {
		return err
	}
	// Whatever it measured for somebody before is over. It may have measured nothing.
	if _, err := a.ask("Stop"); err != nil {
		return err
	}
	a.began = time.Now()
	return a.expect(fmt.Sprintf("Go,%d,0,%s", ptdEvery, ptdMark), "Starting")
}

// expect sends a command whose answer must begin so.
func (a *analyser) expect(command, answer string) error {
	got, err := a.ask(command)
	if err == nil && !strings.HasPrefix(got, answer) {
		err = fmt.Errorf("it answers %s with %q, want %s…", command, got, answer)
	}
	return err
}

// ask sends a line and returns the answer to it.
func (a *analyser) ask(command string) (string, error) {
	if err := a.conn.SetDeadline(time.Now().Add(ptdTimeout)); err != nil {
		return "", err
	}
	if _, err := a.conn.Write([]byte(command + "\r\n")); err != nil {
		return "", fmt.Errorf("%s: %w", command, err)
	}
	line, err := a.line()
	if err != nil {
		return "", fmt.Errorf("%s: %w", command, err)
	}
	a.said = append(a.said, exchange{time.Now(), command, line})
	return line, nil
}

// line reads a line.
func (a *analyser) line() (string, error) {
	text, err := a.read.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return "", fmt.Errorf("an answer is longer than %d bytes", maxAnswer)
	}
	return strings.TrimRight(string(text), "\r\n"), err
}

// stop ends the measurement and fetches the samples.
func (a *analyser) stop() (record *Record, err error) {
	defer func() { err = errors.Join(err, a.conn.Close()) }()
	record, _, err = a.fetch()
	return record, err
}

// fetch ends the measurement and fetches the samples, which are returned as they came too.
func (a *analyser) fetch() (record *Record, lines []string, err error) {
	if _, err := a.ask("Stop"); err != nil {
		return nil, nil, fmt.Errorf("PTDaemon: %w", err)
	}
	if lines, err = a.samples(); err != nil {
		return nil, nil, fmt.Errorf("PTDaemon: %w", err)
	}
	if record, err = recordOf(lines, a.began); err != nil {
		return nil, nil, fmt.Errorf("PTDaemon: %w", err)
	}
	record.Series[0].Name = "PTDaemon " + a.name
	return record, lines, nil
}

// samples fetches all lines of samples.
func (a *analyser) samples() ([]string, error) {
	head, err := a.ask("RL,*,*")
	if err != nil {
		return nil, err
	}
	n, err := countOf(head)
	if err != nil {
		return nil, err
	}
	var lines []string
	fetched := 0
	for range n {
		if err := a.conn.SetDeadline(time.Now().Add(ptdTimeout)); err != nil {
			return nil, err
		}
		line, err := a.line()
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

// countOf reads the number of samples, the second word of the first line of the answer.
func countOf(head string) (int, error) {
	words := strings.Fields(strings.ReplaceAll(head, ",", " "))
	if len(words) > 1 {
		if n, err := strconv.Atoi(words[1]); err == nil && n >= 0 && n <= maxSamples {
			return n, nil
		}
	}
	return 0, fmt.Errorf("the answer to RL is %q, want a number of samples", head)
}

// recordOf makes a record of samples. The analyser's clock is another one: its first sample is
// that of the first interval after it was told to begin, and from that follows how far the clocks
// are apart, up to what it takes to begin. Samples without a power, as analysers give them while
// they look for their ranges, are left out with a note, as the official checker passes over them.
func recordOf(lines []string, began time.Time) (*Record, error) {
	if len(lines) == 0 {
		return nil, errors.New("there are no samples")
	}
	var s Series
	times := make([]time.Time, len(lines))
	for i, line := range lines {
		fields := strings.Split(line, ",")
		if !hasWatts(fields) {
			return nil, fmt.Errorf("sample %d is %q, want Time,…,Watts,…", i+1, line)
		}
		var err error
		if times[i], err = s.addSample(fields); err != nil {
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
	r := &Record{Series: []Series{s}, Offset: offset, Marked: true, Samples: shifted(lines, times, offset)}
	if without := len(lines) - len(s.Points); without > 0 {
		r.Notes = []string{fmt.Sprintf("%d of %d samples of PTDaemon have no power above 0 and were left out", without, len(lines))}
	}
	return r, nil
}

// addSample appends a sample, if it has a power, and returns its time.
func (s *Series) addSample(fields []string) (at time.Time, err error) {
	if at, err = parseTime(strings.TrimSpace(fields[1])); err != nil {
		return at, err
	}
	if watts, err := strconv.ParseFloat(strings.TrimSpace(fields[3]), 64); err == nil && !(watts > 0) {
		return at, nil
	}
	return at, s.addLine(fields, 1, 3, 0)
}

// hasWatts reports whether a sample begins with its time and watts.
func hasWatts(fields []string) bool {
	return len(fields) >= 4 && fields[0] == "Time" && fields[2] == "Watts"
}

// shifted are the lines of samples with times of this machine's clock, in UTC, as the log of the
// test has its own.
func shifted(lines []string, times []time.Time, offset time.Duration) []string {
	var out []string
	for i, line := range lines {
		fields := strings.Split(line, ",")
		fields[1] = times[i].Add(offset).UTC().Format(ptdTime)
		out = append(out, strings.Join(fields, ","))
	}
	return out
}
