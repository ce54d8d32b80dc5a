package selftest

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/cli"
)

// single are the flags of one test. --all and --endpoint have tests of their own.
var single = []string{"scenario", "target-qps", "responses", "accuracy", "output"}

// check finds flags that do not go together.
func (o *selftestFlags) check(flags *pflag.FlagSet) error {
	kind, err := o.kind()
	switch {
	case err != nil:
		return err
	case o.rounds < 1:
		return cli.Usage("--rounds is %d, want at least 1", o.rounds)
	case o.peer != "" && o.checkPeer(kind) != nil:
		return o.checkPeer(kind)
	case kind == "--endpoint" && o.opts.Duration <= 0:
		return cli.Usage("--duration is %v, want more than nothing", o.opts.Duration)
	case kind == "":
		return nil
	}
	return cli.Pointless(flags, "is of a single test, and "+kind+" has its own", single...)
}

// checkPeer finds what is wrong with a peer that is given.
func (o *selftestFlags) checkPeer(kind string) error {
	if strings.TrimSpace(o.peer) == "" {
		return cli.Usage("--peer is %q, want a program", o.peer)
	}
	if kind != "--all" && kind != "--endpoint" {
		return cli.Usage("--peer is compared with by --all and --endpoint, and neither is given")
	}
	return nil
}

// kind is the flag that asks for something else than a single test.
func (o *selftestFlags) kind() (string, error) {
	kind := ""
	for _, k := range []struct {
		flag  string
		given bool
	}{{"--token-server", o.server.address != ""}, {"--endpoint", o.endpoints}, {"--all", o.all}} {
		switch {
		case k.given && kind != "":
			return "", cli.Usage("%s and %s are different things: give one of them", kind, k.flag)
		case k.given:
			kind = k.flag
		}
	}
	return kind, nil
}
