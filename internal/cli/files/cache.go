package files

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/progress"
	"github.com/mlperf-go/mlperf/internal/machine/home"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// cacheSchema names the form of what --json prints.
const cacheSchema = "mlperf-go/cache/1"

func newCache() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Look after what can be made again: list, clear",
		Long: `Look after the folder of what can be made again: built-in models and data, pre-processed
samples, converted models, what devices compiled. It is $MLPERF_CACHE_DIR, or mlperf in the
user's cache folder. What was downloaded is elsewhere, in $MLPERF_DATA_DIR, and is not touched.`,
		Example: "  mlperf cache list",
		Args:    cli.NoVerb,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCacheList(), newCacheClear())
	return cmd
}

func cacheEntries() (dir string, list []home.Entry, err error) {
	if dir, err = home.CacheDir(); err != nil {
		return "", nil, err
	}
	list, err = home.List(dir)
	return dir, list, err
}

func newCacheList() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List what is there, how large, and since when unused",
		Example: "  mlperf cache list",
		Args:    cli.Arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, list, err := cacheEntries()
			if err != nil {
				return err
			}
			if asJSON {
				return report.JSON(cmd.OutOrStdout(), map[string]any{
					"schema": cacheSchema, "folder": dir, "bytes": home.Total(list), "entries": append([]home.Entry{}, list...),
				})
			}
			return printEntries(cmd.OutOrStdout(), dir, list)
		},
	}
	cli.JSONFlag(cmd.Flags(), &asJSON)
	return cmd
}

func printEntries(w io.Writer, dir string, list []home.Entry) error {
	if len(list) > 0 {
		err := cli.PrintTable(w, cli.Row{"kind", "name", "size", "unused since"}, list, func(e home.Entry) cli.Row {
			return cli.Row{e.Kind, e.Name, progress.BytesText(e.Bytes), e.Used.Format("2006-01-02 15:04")}
		})
		if err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%s in %s\n", progress.BytesText(home.Total(list)), dir)
	return err
}

func newCacheClear() *cobra.Command {
	var dryRun, yes, asJSON bool
	var unused time.Duration
	cmd := &cobra.Command{
		Use:   "clear [KIND|NAME…]",
		Short: "Remove what can be made again: all, some kinds, or by name",
		Long: `Remove what can be made again: all of it, or kinds (models, datasets, samples, converted,
engines, leftovers), or entries whose names begin so. While another process uses the cache
nothing is removed.`,
		Example:   "  mlperf cache clear --dry-run\n  mlperf cache clear samples --unused 720h --yes",
		ValidArgs: home.Kinds(),
		Args:      cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, list, err := cacheEntries()
			if err != nil {
				return err
			}
			if err := checkNames(list, args); err != nil {
				return err
			}
			list = slices.DeleteFunc(list, func(e home.Entry) bool {
				wanted := len(args) == 0 || slices.ContainsFunc(args, func(a string) bool { return matches(e, a) })
				recent := unused > 0 && time.Since(e.Used) < unused // a clock may have been wrong: a time in the future keeps nothing by itself
				return !wanted || recent
			})
			w := cmd.OutOrStdout()
			if asJSON {
				w = io.Discard
			}
			for _, e := range list {
				fmt.Fprintf(w, "%-9s %s, %s\n", e.Kind, e.Name, progress.BytesText(e.Bytes))
			}
			what := fmt.Sprintf("%d entries, %s", len(list), progress.BytesText(home.Total(list)))
			freed := int64(0)
			switch {
			case len(list) == 0:
				_, err = fmt.Fprintln(w, "nothing to remove")
			case dryRun:
				_, err = fmt.Fprintf(w, "would remove %s\n", what)
			case !yes && !cli.Confirmed(cmd, "Remove "+what+"?", true):
				return errors.New("nothing was removed")
			default:
				if freed, err = home.Remove(dir, list); errors.Is(err, home.ErrInUse) {
					return fmt.Errorf("%w: wait for it to end; nothing was removed", err)
				} else if err != nil {
					return err
				}
				_, err = fmt.Fprintf(w, "removed %s\n", progress.BytesText(freed))
			}
			if err != nil || !asJSON {
				return err
			}
			return report.JSON(cmd.OutOrStdout(), map[string]any{
				"schema": cacheSchema, "folder": dir, "removed_bytes": freed, "dry_run": dryRun, "entries": append([]home.Entry{}, list...),
			})
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print what would be removed, remove nothing")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cli.JSONFlag(cmd.Flags(), &asJSON)
	cli.DurationVar(cmd.Flags(), &unused, "unused", 0, "only what was not used for so long, a `duration` such as 720h")
	return cmd
}

// checkNames finds an argument that means no entry and is no kind.
func checkNames(list []home.Entry, args []string) error {
	kinds := home.Kinds()
	for _, a := range args {
		if !slices.ContainsFunc(list, func(e home.Entry) bool { return matches(e, a) }) && !slices.Contains(kinds, a) {
			return cli.Usage("there is no entry %q, want a kind (%s) or what the name of an entry begins with%s", a, strings.Join(kinds, ", "), userinput.Meant(a, kinds))
		}
	}
	return nil
}

// matches reports whether an argument means an entry. An empty one, of a variable of a shell that is not set, means none.
func matches(e home.Entry, arg string) bool {
	return arg != "" && (e.Kind == arg || strings.HasPrefix(e.Name, arg))
}
