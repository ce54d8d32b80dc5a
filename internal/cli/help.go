package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// helpWidth is how wide help is at most.
const helpWidth = 100

// helpLines is how long help is at most, two screens: where all flags do not fit, only the usual ones are shown.
const helpLines = 100

// flagGroups are the purposes of flags of verbs that have many, the usual flags first. The group without others takes all other
// flags.
var flagGroups = []struct {
	title         string
	usual, others []string
}{
	{"Model, data, scenario",
		[]string{"model", "scenario", "mode", "rules", "division", "quick", "only", "model-path", "dataset-path", "precision", "count"},
		[]string{"full-size", "rows", "no-accuracy"}},
	{"How long, how much, how late",
		[]string{"budget", "target-qps", "target-latency", "slo", "min-duration", "min-query-count", "user-conf"},
		[]string{"ttft", "tpot", "max-duration", "max-query-count", "samples-per-query", "performance-sample-count", "cooldown", "warm-up",
			"cool-down", "request-cancellation-rate", "request-cancellation-delay", "set", "mlperf-conf", "audit-conf", "allow-unknown-keys", "anyway"}},
	{"How the model is run",
		[]string{"instances", "intra-threads", "max-batchsize", "max-batch-delay", "profile"},
		[]string{"inter-threads", "reserve-core", "pin", "thread-affinity", "execution", "spinning", "arena", "memory-pattern",
			"graph-optimization", "optimized-model", "free-dimension",
			"custom-ops", "ort-config", "spin", "issue-priority"}},
	{"Engine and device",
		[]string{"backend", "device", "endpoint", "listen", "grpc-listen", "insecure"},
		[]string{"provider-option", "allow-fallback", "ort-lib", "ort-log", "engine-cache", "sim-latency", "sim-jitter", "remote-model",
			"model-name", "concurrency", "request-timeout", "retry", "server-metrics", "token-file", "tls-ca",
			"tls-cert", "tls-key"}},
	{"How the model is fed and read",
		[]string{"input", "shape", "calibration", "samples", "method", "exclude", "exclude-op", "target", "sensitivity", "yaml",
			"performance-logs", "accuracy-logs"},
		nil},
	{"Output",
		[]string{"output", "force", "resume", "json", "power", "help"},
		[]string{"trace", "save-detailed", "progress", "no-report", "power-ranging", "config"}},
}

// setHelp has a command and all below it explain themselves.
func setHelp(root *cobra.Command) {
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		text := usageText(cmd, true)
		if all := cmd.Root().PersistentFlags().Lookup(helpAllFlag).Value; all.String() == "" && strings.Count(cmd.Long+"\n\n"+text, "\n") > helpLines {
			text = usageText(cmd, false)
		}
		_, err := io.WriteString(cmd.OutOrStderr(), text)
		return err
	})
	root.PersistentFlags().Var(new(helpAll), helpAllFlag, "help with all flags")
	f := root.PersistentFlags().Lookup(helpAllFlag)
	f.NoOptDefVal, f.Hidden = "true", true // the help that it makes longer names it
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		panic(err) // the line above makes it
	}
	help.GroupID = "Others"
	root.SetCompletionCommandGroupID("Others")
	markdown := help.Flags().Bool("markdown", false, "print the help of all commands as one Markdown document")
	help.Args = func(cmd *cobra.Command, args []string) error {
		found, rest, err := cmd.Root().Find(args)
		if err != nil || len(rest) == 0 {
			return err
		}
		return noVerb(found, rest)
	}
	show := help.Run
	help.Run = func(cmd *cobra.Command, args []string) {
		if !*markdown {
			show(cmd, args)
			return
		}
		fmt.Fprintln(cmd.OutOrStdout(), "# The command line")
		for _, c := range commandsBelow(cmd.Root()) {
			c.InitDefaultHelpFlag()
			text := c.Long
			if text == "" {
				text = c.Short + "."
			}
			fmt.Fprintf(cmd.OutOrStdout(), "\n## %s\n\n%s\n\n```\n%s```\n", c.CommandPath(), strings.ReplaceAll(text, "<", "\\<"), usageText(c, true))
		}
	}
}

// commandsBelow lists a command and all commands of ours below it.
func commandsBelow(root *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{root}
	for _, cmd := range root.Commands() {
		if cmd.Name() != "help" && cmd.Name() != "completion" {
			list = append(list, commandsBelow(cmd)...)
		}
	}
	return list
}

// helpAllFlag is the flag that shows all flags of a command.
const helpAllFlag = "help-all"

// helpAll is its value, set once it was seen. It ends the reading of flags as --help does.
type helpAll string

// String implements pflag.Value.
func (h *helpAll) String() string { return string(*h) }

// Type implements pflag.Value.
func (*helpAll) Type() string { return "bool" }

// Set implements pflag.Value.
func (h *helpAll) Set(text string) error {
	on, err := strconv.ParseBool(text)
	if err != nil || !on {
		return err
	}
	*h = helpAll(text)
	return pflag.ErrHelp
}

// usageText says how to call a command, with all flags or the usual ones, no line wider than helpWidth.
func usageText(cmd *cobra.Command, everything bool) string {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.Runnable() && cmd.Parent() != nil {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s [command]\n", cmd.CommandPath())
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", wrapExamples(cmd.Example))
	}
	groups := cmd.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Commands"}}
	}
	for _, g := range groups {
		title := "\n" + g.Title + ":\n"
		for _, c := range cmd.Commands() {
			if c.GroupID == g.ID && (c.IsAvailableCommand() || c.Name() == "help") {
				b.WriteString(title + wrapText(fmt.Sprintf("  %-11s ", c.Name()), c.Short))
				title = ""
			}
		}
	}

	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	all.AddFlagSet(cmd.LocalFlags())
	all.AddFlagSet(cmd.InheritedFlags())
	var visible []string
	all.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			visible = append(visible, f.Name)
		}
	})
	const many = 24 // flags on, they are shown in groups
	if len(visible) < many {
		fmt.Fprintf(&b, "\nFlags:\n%s", all.FlagUsagesWrapped(helpWidth))
	} else {
		rest := slices.Clone(visible)
		for _, g := range flagGroups {
			rest = slices.DeleteFunc(rest, func(name string) bool { return slices.Contains(g.usual, name) || slices.Contains(g.others, name) })
		}
		left := len(rest)
		for _, g := range flagGroups {
			names := g.usual
			switch {
			case everything && g.others == nil:
				names = slices.Sorted(slices.Values(slices.Concat(names, rest)))
			case everything:
				names = slices.Concat(names, g.others)
			default:
				left += len(slices.DeleteFunc(slices.Clone(g.others), func(name string) bool { return !slices.Contains(visible, name) }))
			}
			group := pflag.NewFlagSet("", pflag.ContinueOnError)
			group.SortFlags = false
			for _, name := range names {
				if f := all.Lookup(name); f != nil {
					group.AddFlag(f)
				}
			}
			if group.HasAvailableFlags() {
				fmt.Fprintf(&b, "\n%s:\n%s", g.title, group.FlagUsagesWrapped(helpWidth))
			}
		}
		if !everything {
			fmt.Fprintf(&b, "\n%d more flags: %s --%s\n", left, cmd.CommandPath(), helpAllFlag)
		}
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help explains a command.\n", cmd.CommandPath())
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

// wrapText writes text behind a head, and further lines below where it begins.
func wrapText(head, text string) string {
	var lines []string
	for _, word := range strings.Fields(text) {
		if n := len(lines); n > 0 && len([]rune(head+lines[n-1]+" "+word)) <= helpWidth {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return head + strings.Join(lines, "\n"+strings.Repeat(" ", len([]rune(head)))) + "\n"
}

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:     "man FOLDER",
		Short:   "Write manual pages of all commands into a folder",
		Example: "  mlperf man man",
		Hidden:  true,
		Args:    arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			root.DisableAutoGenTag = true
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			folder, err := os.MkdirTemp("", "mlperf-man-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(folder)
			if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: program(), Manual: "mlperf"}, folder); err != nil {
				return err
			}
			for _, path := range fileio.Glob(folder, "*") { // GenManTree would follow links
				text, err := os.ReadFile(path)
				if err := errors.Join(err, fileio.WriteFileIn(args[0], filepath.Base(path), text)); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// explainFlagError adds to the error of a flag that does not exist which one was meant or which command has it, and puts a wrong
// value into plain words.
func explainFlagError(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) { // --help-all
		return err
	}
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !unknown {
		return usage("%w", plainFlagError(err))
	}
	if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 { // the word before it is not a command
		return noVerb(cmd, words)
	}
	var all []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { all = append(all, f.Name) })
	name = strings.ReplaceAll(name, "_", "-")
	if ours := otherFlags[name]; cmd.Flags().Lookup(ours) != nil {
		return usage("%w, did you mean --%s?", err, ours)
	}
	if near := userinput.Nearest(name, all); near != "" {
		return usage("%w, did you mean --%s?", err, near)
	}
	verbs := cmd.Root().Commands()
	if i := slices.IndexFunc(verbs, func(c *cobra.Command) bool { return c.Flags().Lookup(name) != nil }); i >= 0 {
		return usage("%w: %s has such a flag", err, verbs[i].CommandPath())
	}
	return usage("%w", err)
}
