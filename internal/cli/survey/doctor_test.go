package survey

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/clitest"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/run"
)

func TestADiagnosisIsAPageOfLines(t *testing.T) {
	d := &run.Diagnosis{
		Program: "mlperf 1", Cache: "/cache", Library: "/lib/ort.so", Version: "1.24",
		Machine: machine.Machine{OS: "Linux", Kernel: "6", Arch: "amd64", Go: "go1", Load1: 0.256, ClockSource: "tsc",
			CPU:    machine.CPU{Model: "A CPU", Cores: 4, Threads: 8, Usable: 2.5, Features: []string{"avx2", "vnni"}},
			Memory: machine.Memory{TotalBytes: 16 << 30, AvailableBytes: 3 << 30}, Disk: &machine.Disk{FreeBytes: 5 << 30}},
		Timers:    machine.Timers{ReadNS: 41.6, Sleep: machine.Oversleep{MedianNS: 60_000, P99NS: 1_100_000}, Nano: machine.Oversleep{MedianNS: 5_000, P99NS: 70_000}},
		Providers: []ort.Provider{{Device: "cpu", Compiled: true, Usable: true}, {Device: "cuda", Compiled: true, Reason: "no driver"}, {Device: "rocm"}},
		Missing:   []run.Remedy{{What: "ONNX Runtime", Fix: "sh install.sh", Installs: true}, {What: "memory", Fix: "buy some"}},
	}
	var b strings.Builder
	if err := printDiagnosis(&b, d); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"program      mlperf 1, go1\n", "system       Linux, kernel 6, amd64\n", "processor    A CPU, 4 cores, 8 threads, 2.5 usable\n", "features     avx2 vnni\n",
		"memory       16384 MiB, 3072 MiB available\n", "disk         5120 MiB free for /cache\n", "clock        tsc, 42 ns to read\n",
		"timer        wakes 60µs late at the median, 1.1ms at p99\n", "nanosleep    wakes 5µs late at the median, 70µs at p99\n", "load         0.26 in the last minute\n",
		"ONNX Runtime 1.24, /lib/ort.so\n", "  cpu        works\n", "  cuda       cannot be used: no driver\n", "  rocm       not in this library\n",
		"MISSING: ONNX Runtime\n  fix: sh install.sh\n", "MISSING: memory\n  fix: buy some\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "Nothing is missing") {
		t.Error("it says that nothing is missing")
	}
	d.Providers = append(d.Providers, ort.Provider{Device: "tensorrt-rtx"})
	d.Machine.GPUs = []machine.GPU{{Name: "NVIDIA H100", Vendor: "NVIDIA", PCI: "0000:18:00.0", Driver: "nvidia 570.1"}, {Name: "Instinct", Vendor: "AMD", PCI: "0000:19:00.0"}}
	b.Reset()
	if err := printDiagnosis(&b, d); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"GPU          NVIDIA H100 at 0000:18:00.0, driver nvidia 570.1\n", "GPU          AMD Instinct at 0000:19:00.0, no driver is loaded\n",
		"  cpu          works\n", "  tensorrt-rtx not in this library\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := printDiagnosis(&b, &run.Diagnosis{}); err != nil || !strings.HasSuffix(b.String(), "Nothing is missing.\n") {
		t.Errorf("%v: %s", err, b.String())
	}
	for _, not := range []string{"disk", "nanosleep", "ONNX Runtime", "MISSING", "GPU"} {
		if strings.Contains(b.String(), not) {
			t.Errorf("it speaks of %s, of which nothing is known:\n%s", not, b.String())
		}
	}
}

func TestNothingIsInstalledWithoutAWord(t *testing.T) {
	for _, c := range []struct {
		name    string
		missing []run.Remedy
		want    string
	}{
		{"nothing is missing", nil, ""},
		{"what no install mends", []run.Remedy{{What: "memory", Fix: "buy some"}}, ""},
		{"nobody is there to ask", []run.Remedy{{What: "ONNX Runtime", Fix: "x", Installs: true}}, "MISSING: ONNX Runtime\nnothing was installed: --yes installs without asking\n"},
	} {
		var said strings.Builder
		cmd := &cobra.Command{}
		cmd.SetErr(&said)
		cmd.SetIn(strings.NewReader("y\n"))
		if ran, err := fix(cmd, &run.Diagnosis{Missing: c.missing}, false); ran || err != nil || said.String() != c.want {
			t.Errorf("%s: %v, %v, %q", c.name, ran, err, said.String())
		}
	}
}

func TestADiagnosisThatMissesSomethingIsAnError(t *testing.T) {
	alone(t)
	clitest.Check(t, Commands, []clitest.Case{
		{Name: "a library that is not there", Args: []string{"doctor", "--ort-lib", "nowhere.so", "--json"}, Status: cli.ExitError, Want: []string{`"schema": "mlperf-go/doctor/1"`, `"missing": [`, "nowhere.so"}},
	})
}
