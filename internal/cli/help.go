package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

// helpWidth is how wide help is at most.
const helpWidth = 100

// flagGroups are the purposes of flags of verbs that have many. The group without names takes all other flags.
var flagGroups = []struct {
	title string
	flags []string
}{
	{"Model, data, scenario", []string{"model", "scenario", "mode", "rules", "division", "quick", "only", "model-path", "dataset-path", "precision", "count", "full-size", "rows", "no-accuracy"}},
	{"How long, how much, how late", []string{"target-qps", "target-latency", "min-duration", "max-duration", "min-query-count", "max-query-count", "samples-per-query",
		"performance-sample-count", "ttft", "tpot", "cooldown", "set", "mlperf-conf", "user-conf", "audit-conf", "allow-unknown-keys", "anyway"}},
	{"How the model is run", []string{"instances", "intra-threads", "inter-threads", "max-batchsize", "max-batch-delay", "profile", "reserve-core", "pin", "thread-affinity", "execution",
		"spinning", "arena", "memory-pattern", "graph-optimization", "optimized-model", "free-dimension", "custom-ops", "ort-config", "spin", "issue-priority"}},
	{"Engine and device", []string{"backend", "device", "provider-option", "allow-fallback", "ort-lib", "ort-log", "engine-cache", "sim-latency", "sim-jitter", "endpoint", "remote-model",
		"model-name", "concurrency", "request-timeout", "retry", "token-file", "tls-ca", "tls-cert", "tls-key"}},
	{"How the model is fed and read", nil},
	{"Output", []string{"output", "force", "resume", "trace", "json", "progress", "no-report", "power", "power-ranging", "help"}},
}

// setHelp has a command and all below it explain themselves.
func setHelp(root *cobra.Command) {
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := io.WriteString(cmd.OutOrStderr(), usageText(cmd))
		return err
	})
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
			fmt.Fprintf(cmd.OutOrStdout(), "\n## %s\n\n%s\n\n```\n%s```\n", c.CommandPath(), text, c.UsageString())
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

// usageText says how to call a command, no line wider than helpWidth.
func usageText(cmd *cobra.Command) string {
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
	const many = 24 // flags on, they are shown in groups
	shown, grouped := 0, map[string]bool{}
	all.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			shown++
		}
	})
	if shown < many {
		fmt.Fprintf(&b, "\nFlags:\n%s", all.FlagUsagesWrapped(helpWidth))
	} else {
		for _, g := range flagGroups {
			for _, name := range g.flags {
				grouped[name] = true
			}
		}
		for _, g := range flagGroups {
			group := pflag.NewFlagSet("", pflag.ContinueOnError)
			group.SortFlags = false
			for _, name := range g.flags {
				if f := all.Lookup(name); f != nil {
					group.AddFlag(f)
				}
			}
			if g.flags == nil {
				all.VisitAll(func(f *pflag.Flag) {
					if !grouped[f.Name] {
						group.AddFlag(f)
					}
				})
			}
			if group.HasAvailableFlags() {
				fmt.Fprintf(&b, "\n%s:\n%s", g.title, group.FlagUsagesWrapped(helpWidth))
			}
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
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: program(), Manual: "mlperf"}, args[0])
		},
	}
}

// explainFlagError adds to the error of a flag that does not exist which one was meant or which command has it, and puts a wrong
// value into plain words.
func explainFlagError(cmd *cobra.Command, err error) error {
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
