package checker

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/submission/python"
)

const daemonVersion = "1.11.1"

var versionOf = regexp.MustCompile(`version=(.+?)-`)

// A command is what one side said, and the reply: a text wherever somebody looks at it.
type command struct {
	cmd   string
	reply python.Value
}

func commandsAt(d *python.Dict, key string) ([]command, error) {
	list, err := listAt(d, key)
	if err != nil {
		return nil, err
	}
	commands := make([]command, len(list))
	for i, v := range list {
		cmd, err := textAt(v, "cmd")
		if err != nil {
			return nil, fmt.Errorf("%s %d: %w", key, i, err)
		}
		reply, err := at(v, "reply")
		if err != nil && cmd != "time" {
			return nil, fmt.Errorf("%s %d: %w", key, i, err)
		}
		commands[i] = command{cmd, reply}
	}
	return commands, nil
}

// commands checks what the server said to the power daemon.
func (s *session) commands() error {
	list, err := commandsAt(s.server, "ptd_messages")
	if err != nil {
		return err
	}
	return errors.Join(identity(list), replies(list), rangesRestored(list))
}

func identity(list []command) error {
	i := slices.IndexFunc(list, func(c command) bool { return c.cmd == "Identify" })
	answer := ""
	if i >= 0 {
		answer, _ = list[i].reply.(string)
	}
	if answer == "" {
		return errors.New("the daemon did not answer Identify")
	}
	model, _, _ := strings.Cut(answer, ",")
	version := ""
	if m := versionOf.FindStringSubmatch(answer); m != nil {
		version = m[1]
	}
	if version != daemonVersion {
		return fmt.Errorf("version %q of the daemon is not supported, want %s", version, daemonVersion)
	}
	if !slices.Contains(devices, model) {
		return fmt.Errorf("the analyzer %q is not supported, want one of %s", model, strings.Join(devices, ", "))
	}
	return nil
}

func replies(list []command) error {
	for _, want := range []command{
		{"SR,A", "Range A changed"},
		{"SR,V", "Range V changed"},
		{"Go,1000,", "Starting untimed measurement, maximum 500000 samples at 1000ms with 0 rampup samples"},
		{"Stop", "Stopping untimed measurement"},
	} {
		stops := 0
		for _, c := range list {
			if !strings.HasPrefix(c.cmd, want.cmd) {
				continue
			}
			if c.cmd == "Stop" {
				if stops == 2 { // nothing runs any more
					want.reply = "Error: no measurement to stop"
				}
				stops++
			}
			if !python.Equal(c.reply, want.reply) {
				return fmt.Errorf("the daemon answered %s with %s, want %s", c.cmd, python.Repr(c.reply), python.Repr(want.reply))
			}
		}
	}
	return nil
}

// rangesRestored checks that the analyzer's ranges were set back at the end.
func rangesRestored(list []command) error {
	if len(list) < 3 {
		return errors.New("ptd_messages has fewer than three commands")
	}
	ranges, _ := list[2].reply.(string)
	amps, err := initialRange(ranges, 1)
	if err != nil {
		return err
	}
	volts, err := initialRange(ranges, 3)
	if err != nil {
		return err
	}
	third, errThird := nth(list, "SR,A", 3)
	fourth, errFourth := nth(list, "SR,A", 4)
	last, errLast := nth(list, "SR,V", 3)
	wantAmps, wantVolts := "SR,A,"+amps, "SR,V,"+volts
	switch err := errors.Join(errThird, errFourth, errLast); {
	case err != nil:
		return err
	case third != wantAmps && fourth != wantAmps:
		return fmt.Errorf("the range of amperes was set to %s and %s, want %s as at first", third, fourth, wantAmps)
	case last != wantVolts:
		return fmt.Errorf("the range of volts was set to %s, want %s as at first", last, wantVolts)
	}
	return nil
}

// initialRange returns the range that was set before the measurement.
func initialRange(reply string, field int) (string, error) {
	fields := strings.Split(reply, ",")
	if field >= len(fields) {
		return "", fmt.Errorf("%q has no ranges", reply)
	}
	if fields[field] != "0" {
		return "Auto", nil
	}
	if field+1 >= len(fields) {
		return "", fmt.Errorf("%q has no ranges", reply)
	}
	v, err := python.ParseFloat(fields[field+1])
	if err != nil {
		return "", fmt.Errorf("%q has no ranges", reply)
	}
	if v > 0 {
		return fields[field+1], nil
	}
	return "Auto", nil
}

func nth(list []command, start string, n int) (string, error) {
	for _, c := range list {
		if strings.HasPrefix(c.cmd, start) {
			if n--; n == 0 {
				return c.cmd, nil
			}
		}
	}
	return "", fmt.Errorf("too few commands %s", start)
}

var (
	clientVersion = regexp.MustCompile(`mlcommons/power client v(\p{Nd}+)\n?$`)
	serverVersion = regexp.MustCompile(`mlcommons/power server v(\p{Nd}+)\n?$`)
)

// messages compares what client and server say that they said to each other.
func (s *session) messages() error {
	client, err := commandsAt(s.client, "messages")
	if err != nil {
		return err
	}
	server, err := commandsAt(s.server, "messages")
	if err != nil {
		return err
	}
	if len(client) != len(server) || len(client) == 0 {
		return fmt.Errorf("the client has %d messages and the server %d", len(client), len(server))
	}
	for i, c := range client {
		if !c.same(server[i]) {
			return fmt.Errorf("message %d is not the same on both sides: %s, %s and %s, %s", i, c.cmd, python.Repr(c.reply), server[i].cmd, python.Repr(server[i].reply))
		}
	}
	return versions(server[0])
}

// same reports whether both sides say the same. What time it is, each says itself.
func (c command) same(other command) bool {
	return c.cmd == other.cmd && (c.cmd == "time" || python.Equal(c.reply, other.reply))
}

// versions checks that both sides greet with the same version.
func versions(greeting command) error {
	reply, _ := greeting.reply.(string)
	a, b := clientVersion.FindStringSubmatch(greeting.cmd), serverVersion.FindStringSubmatch(reply)
	if a == nil || b == nil || a[1] != b[1] {
		return fmt.Errorf("versions are not the same: %q and %q", greeting.cmd, reply)
	}
	return nil
}
