package cli

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/submission/description"
)

// systemFlags are the flags of system.
type systemFlags struct {
	description.Request
	from, output, library, result string
	numbers                       []string // fields of from that are no texts
	set                           []string
	force                         bool
}

func newSystem() *cobra.Command {
	o := &systemFlags{}
	cmd := &cobra.Command{
		Use:   "system",
		Short: "Describe this machine for a submission: systems/<system>.json",
		Long: `Describe this machine for a submission, in systems/<system>.json: processor, memory,
drives, network cards, accelerators, operating system and software, with all fields that
the rules ask for.

In the division network the machine is one end: run this on the system, then with --from and
--network-end loadgen on the other machine, and with --result for the facts of a run.

A fact that the machine does not tell becomes a placeholder that begins with FILL IN;
submission check --profile strict refuses it. --from takes the filled fields of an older
file, and --set gives a field. Standard error lists the fields that are left to fill in.`,
		Example: "  mlperf system --submitter ExampleOrg --division closed --system-type edge --status available\n" +
			"  mlperf system --set cooling=air --set host_memory_configuration=2x16GB --output board1.json",
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.define(cmd.Flags())
	f := cmd.Flags()
	f.StringVar(&o.End, "network-end", "", "division network: the end that this machine is, sut or loadgen (default: sut); --from has the other")
	f.StringVar(&o.result, "result", "", "folder of a run of the division network, for protocol and connections")
	f.StringVar(&o.from, "from", "", "older description, whose filled fields stay")
	f.StringVar(&o.output, "output", "", "file to write (default: standard output)")
	f.BoolVar(&o.force, "force", false, "replace the file of --output")
	f.BoolVar(&o.Power, "power-fields", false, "add the fields of systems with measured power")
	return cmd
}

// define defines the flags for facts that the machine does not tell.
func (o *systemFlags) define(f *pflag.FlagSet) {
	o.defineSubmitter(f)
	f.StringVar(&o.Division, "division", "", "closed, open or network; network adds its fields")
	f.StringVar(&o.library, "ort-lib", "", "ONNX Runtime library that is used (default: the installed one)")
	f.StringArrayVar(&o.set, "set", nil, "FIELD=VALUE, a field of the description (repeatable)")
}

// defineSubmitter defines the flags that verbs which run models have, too.
func (o *systemFlags) defineSubmitter(f *pflag.FlagSet) {
	f.StringVar(&o.Submitter, "submitter", "", "name of the submitter")
	f.StringVar(&o.Status, "status", "", "category: available, preview or rdi")
	f.StringVar(&o.Type, "system-type", "", "edge, datacenter, or both with a comma")
	f.StringVar(&o.Name, "system-name", "", "name of the system (default: the maker's)")
}

func (o *systemFlags) run(cmd *cobra.Command) error {
	if _, err := os.Lstat(o.output); o.output != "" && err == nil && !o.force {
		return fmt.Errorf("%s exists: choose another file, or give --force", o.output)
	}
	d, err := o.describe(cmd)
	if err != nil {
		return err
	}
	text, err := d.JSON(o.numbers...)
	if err != nil {
		return err
	}
	if o.output == "" {
		_, err = cmd.OutOrStdout().Write(text)
	} else {
		err = fileio.WriteFile(o.output, text, 0o644)
	}
	if names := d.Unfinished(); err == nil && len(names) > 0 {
		_ = say(cmd.ErrOrStderr(), "To fill in: %s\n", strings.Join(names, ", "))
	}
	return err
}

// describe describes this machine.
func (o *systemFlags) describe(cmd *cobra.Command) (description.Description, error) {
	q := o.Request
	q.Program, q.Framework = program(), framework(o.library)
	var err error
	if o.from != "" {
		if q.Old, o.numbers, err = description.ReadNumbers(o.from); err != nil {
			return nil, err
		}
	}
	if q.Link, err = linkOf(o.result); err != nil {
		return nil, err
	}
	if q.Values, err = assignments("set", o.set); err != nil {
		return nil, err
	}
	return description.Of(machine.Describe(""), machine.TakeInventory(cmd.Context()), q)
}

// linkOf reads the connections to the system from a run.
func linkOf(dir string) (l description.Link, err error) {
	if dir == "" {
		return l, nil
	}
	r, err := report.Read(dir)
	if err != nil {
		return l, err
	}
	if r.Remote == nil {
		return l, fmt.Errorf("%s: this run asked no server", dir)
	}
	for _, e := range r.Remote.Endpoints {
		l.Endpoints = append(l.Endpoints, e.URL)
	}
	concurrency := r.Backend.Facts["concurrency"]
	if l.Connections, err = strconv.Atoi(concurrency); err != nil {
		return l, fmt.Errorf("%s: the backend's concurrency is %q: must be a number", dir, concurrency)
	}
	return l, nil
}

// assignments are the values of a flag that gives fields.
func assignments(flag string, list []string) (map[string]string, error) {
	values := map[string]string{}
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usage("--%s is %q: must be FIELD=VALUE", flag, text)
		}
		if before, twice := values[name]; twice && before != value {
			return nil, usage("--%s gives %s twice: %q and %q", flag, name, before, value)
		}
		values[name] = value
	}
	return values, nil
}

// framework names ONNX Runtime with its version, as descriptions of systems do. Library is its file; empty: the installed
// one. "": it was not found, or does not tell its version.
func framework(library string) string {
	found, _, err := ort.Search{Explicit: library}.Find()
	if err != nil || found.Version == "" {
		return ""
	}
	return "ONNX Runtime " + found.Version
}
