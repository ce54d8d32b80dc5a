package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// helpWidth is how wide help is at most.
const helpWidth = 100

// verbGroups are the purposes of verbs, in the order in which help lists them.
var verbGroups = []struct {
	title string
	verbs []string
}{
	{"Measure", []string{"run", "suite", "tune", "selftest", "serve"}},
	{"Look at results", []string{"explain", "report", "compare", "accuracy"}},
	{"Before a run", []string{"list", "show", "plan", "trace", "doctor", "system"}},
	{"Models and data", []string{"download", "verify", "synth", "preprocess", "quantize", "convert", "cache"}},
	{"Submit", []string{"submission", "audit"}},
}

// flagGroups are the purposes of flags of verbs that have many. What is in none comes last but
// for the output.
var flagGroups = []struct {
	title string
	flags []string
}{
	{"What is measured", []string{"model", "scenario", "mode", "rules", "division", "quick", "only", "model-path", "dataset-path", "precision", "count", "full-size", "rows", "no-accuracy"}},
	{"How long, how much, how late", []string{"target-qps", "target-latency", "min-duration", "max-duration", "min-query-count", "max-query-count", "samples-per-query",
		"performance-sample-count", "ttft", "tpot", "cooldown", "set", "mlperf-conf", "user-conf", "audit-conf", "allow-unknown-keys", "anyway"}},
	{"How the model is run", []string{"instances", "intra-threads", "inter-threads", "max-batchsize", "max-batch-delay", "profile", "reserve-core", "pin", "thread-affinity", "execution",
		"spinning", "arena", "memory-pattern", "graph-optimization", "optimized-model", "free-dimension", "custom-ops", "ort-config", "spin", "issue-priority"}},
	{"Engine and device", []string{"backend", "device", "provider-option", "allow-fallback", "ort-lib", "ort-log", "engine-cache", "sim-latency", "sim-jitter", "endpoint", "remote-model",
		"model-name", "concurrency", "request-timeout", "retry", "token-file", "tls-ca", "tls-cert", "tls-key"}},
	{"How the model is fed and read", nil},
	{"Output", []string{"output", "force", "resume", "trace", "json", "progress", "no-report", "power", "power-ranging", "help"}},
}

// manyFlags is from how many flags on a verb shows them in groups.
const manyFlags = 24

// setHelp has a command and all below it explain themselves.
func setHelp(root *cobra.Command) {
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := io.WriteString(cmd.OutOrStderr(), usageText(cmd))
		return err
	})
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "help" {
			markdown := cmd.Flags().Bool("markdown", false, "print the help of all commands as one Markdown document")
			cmd.Args = helpArguments
			show := cmd.Run
			cmd.Run = func(cmd *cobra.Command, args []string) {
				if *markdown {
					writeMarkdown(cmd.OutOrStdout(), cmd.Root())
					return
				}
				show(cmd, args)
			}
		}
	}
	root.Version = cli.Program()
	root.SetVersionTemplate("{{.Version}}\n")
	for _, g := range verbGroups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, cmd := range root.Commands() {
			if slices.Contains(g.verbs, cmd.Name()) {
				cmd.GroupID = g.title
			}
		}
	}
}

// helpArguments accepts the name of a command: of one that does not exist, the help of all was shown as if that were asked for.
func helpArguments(cmd *cobra.Command, args []string) error {
	found, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) == 0 {
		return err
	}
	return cli.NoVerb(found, rest)
}

// writeMarkdown writes the help of all commands as one document.
func writeMarkdown(w io.Writer, root *cobra.Command) {
	fmt.Fprintln(w, "# The command line")
	for _, cmd := range commands(root) {
		cmd.InitDefaultHelpFlag()
		text := cmd.Long
		if text == "" {
			text = cmd.Short + "."
		}
		fmt.Fprintf(w, "\n## %s\n\n%s\n\n```\n%s```\n", cmd.CommandPath(), text, cmd.UsageString())
	}
}

// commands lists a command and all commands of ours below it.
func commands(root *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{root}
	for _, cmd := range root.Commands() {
		if cmd.Name() != "help" && cmd.Name() != "completion" {
			list = append(list, commands(cmd)...)
		}
	}
	return list
}

// usageText says how a command is called, no line wider than helpWidth.
func usageText(cmd *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n")
	if cmd.Runnable() && cmd.Parent() != nil {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s [command]\n", cmd.CommandPath())
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", wrapExamples(cmd.Example))
	}
	writeVerbs(&b, cmd)
	writeFlags(&b, cmd)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help says more of a command.\n", cmd.CommandPath())
	}
	return b.String()
}

// wrapExamples breaks long examples as a shell allows.
func wrapExamples(text string) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		for len(line) > helpWidth {
			at := strings.LastIndex(line[:helpWidth-2], " --")
			if at <= 4 {
				break
			}
			out, line = append(out, line[:at]+" \\"), "     "+line[at:]
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// writeVerbs lists the commands below a command by their purpose.
func writeVerbs(b *strings.Builder, cmd *cobra.Command) {
	list := slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool { return !c.IsAvailableCommand() && c.Name() != "help" })
	for _, g := range cmd.Groups() {
		writeVerbGroup(b, g.Title, slices.DeleteFunc(slices.Clone(list), func(c *cobra.Command) bool { return c.GroupID != g.ID }))
	}
	title := "Commands"
	if len(cmd.Groups()) > 0 {
		title = "Others"
	}
	writeVerbGroup(b, title, slices.DeleteFunc(list, func(c *cobra.Command) bool { return c.GroupID != "" }))
}

func writeVerbGroup(b *strings.Builder, title string, list []*cobra.Command) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	for _, c := range list {
		b.WriteString(wrapped(fmt.Sprintf("  %-11s ", c.Name()), c.Short))
	}
}

// wrapped writes text behind a head, and further lines below where it begins.
func wrapped(head, text string) string {
	var b strings.Builder
	line := head
	empty := true
	for _, word := range strings.Fields(text) {
		if !empty && len([]rune(line))+1+len([]rune(word)) > helpWidth {
			b.WriteString(line + "\n")
			line, empty = strings.Repeat(" ", len([]rune(head))), true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	return b.String() + strings.TrimRight(line, " ") + "\n"
}

// writeFlags lists the flags of a command, by their purpose if there are many.
func writeFlags(b *strings.Builder, cmd *cobra.Command) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	all.AddFlagSet(cmd.LocalFlags())
	all.AddFlagSet(cmd.InheritedFlags())
	if shown(all) < manyFlags {
		fmt.Fprintf(b, "\nFlags:\n%s", all.FlagUsagesWrapped(helpWidth))
		return
	}
	for _, g := range flagGroups {
		if of := flagsOf(g.flags, all); of.HasAvailableFlags() {
			fmt.Fprintf(b, "\n%s:\n%s", g.title, of.FlagUsagesWrapped(helpWidth))
		}
	}
}

// shown counts the flags that are not hidden.
func shown(all *pflag.FlagSet) (n int) {
	all.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			n++
		}
	})
	return n
}

// flagsOf are some of the flags, in the order of their names; without names, those that no group has.
func flagsOf(names []string, all *pflag.FlagSet) *pflag.FlagSet {
	of := pflag.NewFlagSet("", pflag.ContinueOnError)
	of.SortFlags = false
	for _, name := range names {
		if f := all.Lookup(name); f != nil {
			of.AddFlag(f)
		}
	}
	if names == nil {
		all.VisitAll(func(f *pflag.Flag) {
			if !inGroup(f.Name) {
				of.AddFlag(f)
			}
		})
	}
	return of
}

func inGroup(flag string) bool {
	for _, g := range flagGroups {
		if slices.Contains(g.flags, flag) {
			return true
		}
	}
	return false
}

// unknownFlag says of a flag that does not exist which one may have been meant or which command has it, and of a wrong value what
// is wrong.
func unknownFlag(cmd *cobra.Command, err error) error {
	name, ok := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !ok {
		return cli.Usage("%w", cli.Misread(err))
	}
	var all []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { all = append(all, f.Name) })
	plain := strings.ReplaceAll(name, "_", "-")
	if near := userinput.Nearest(plain, all); near != "" {
		return cli.Usage("%w, did you mean --%s?", err, near)
	}
	for _, other := range cmd.Root().Commands() {
		if other.Flags().Lookup(plain) != nil {
			return cli.Usage("%w: %s has such a flag", err, other.CommandPath())
		}
	}
	return cli.Usage("%w", err)
}
