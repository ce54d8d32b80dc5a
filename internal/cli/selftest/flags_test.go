package selftest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/backend/openai/tokenserver"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/run"
)

func TestAProcessIsGivenTheTestThatAMeasureWants(t *testing.T) {
	for _, m := range harness.Measures() {
		var o selftestFlags
		f := pflag.NewFlagSet("selftest", pflag.ContinueOnError)
		o.define(f)
		if err := f.Parse(testFlags(m.Test)); err != nil {
			t.Fatal(err)
		}
		o.opts.Scenario = o.scenario
		if diff := cmp.Diff(m.Test, o.opts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", m.Name, diff)
		}
	}
}

func TestAServerIsGivenThePaceThatAMeasureWants(t *testing.T) {
	want := map[string]tokenserver.Options{}
	for _, m := range run.ClientMeasures() {
		want[m.Name] = m.Server
	}
	for _, m := range run.PacedMeasures() {
		want[m.Name] = m.Server
	}
	for name, o := range want {
		var s tokenServer
		f := pflag.NewFlagSet("selftest", pflag.ContinueOnError)
		s.define(f)
		if err := f.Parse(serverFlags(o)); err != nil {
			t.Fatal(err)
		}
		o.Right = s.options.Right // nobody asks
		if diff := cmp.Diff(o, s.options); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
