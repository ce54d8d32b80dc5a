package files

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/cache"
	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/home"
	"github.com/mlperf-go/mlperf/internal/names"
	"github.com/mlperf-go/mlperf/internal/progress"
	"github.com/mlperf-go/mlperf/internal/report"
)

// cacheSchema names the form of what --json prints.
const cacheSchema = "mlperf-go/cache/1"

func newCache() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Look after what can be made again: list, clear, limit",
		Long: `Look after the folder of what can be made again: built-in models and data, pre-processed
samples, converted models, what devices compiled. It is $MLPERF_CACHE_DIR, or mlperf in the
user's cache folder. What was downloaded is elsewhere, in $MLPERF_DATA_DIR, and is not touched.`,
		Example: "  mlperf cache list",
		Args:    cli.NoVerb,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCacheList(), newCacheClear(), newCacheLimit())
	return cmd
}

func cacheEntries() (dir string, list []cache.Entry, err error) {
	if dir, err = home.CacheDir(); err != nil {
		return "", nil, err
	}
	list, err = cache.List(dir)
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
					"schema": cacheSchema, "folder": dir, "bytes": cache.Total(list), "entries": append([]cache.Entry{}, list...),
				})
			}
			return printEntries(cmd.OutOrStdout(), dir, list)
		},
	}
	cli.JSONFlag(cmd.Flags(), &asJSON)
	return cmd
}

func printEntries(w io.Writer, dir string, list []cache.Entry) error {
	if len(list) > 0 {
		err := cli.PrintTable(w, cli.Row{"kind", "name", "size", "unused since"}, list, func(e cache.Entry) cli.Row {
			return cli.Row{e.Kind, e.Name, progress.BytesText(e.Bytes), e.Used.Format("2006-01-02 15:04")}
		})
		if err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%s in %s\n", progress.BytesText(cache.Total(list)), dir)
	return err
}

// removal are the flags of what removes entries.
type removal struct {
	dryRun, yes, asJSON bool
}

func (r *removal) define(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&r.dryRun, "dry-run", false, "say what would be removed, and remove nothing")
	cmd.Flags().BoolVarP(&r.yes, "yes", "y", false, "do not ask")
	cli.JSONFlag(cmd.Flags(), &r.asJSON)
}

// remove removes entries, after asking if a person is there.
func (r *removal) remove(cmd *cobra.Command, dir string, list []cache.Entry) error {
	w := cmd.OutOrStdout()
	if r.asJSON {
		w = io.Discard
	}
	freed, err := r.removeFrom(cmd, w, dir, list)
	if r.asJSON && err == nil {
		return report.JSON(cmd.OutOrStdout(), map[string]any{
			"schema": cacheSchema, "folder": dir, "removed_bytes": freed, "dry_run": r.dryRun, "entries": append([]cache.Entry{}, list...),
		})
	}
	return err
}

// removeFrom is remove that tells a writer, and returns how many bytes it freed.
func (r *removal) removeFrom(cmd *cobra.Command, w io.Writer, dir string, list []cache.Entry) (int64, error) {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "there is nothing to remove")
		return 0, err
	}
	for _, e := range list {
		fmt.Fprintf(w, "%-9s %s, %s\n", e.Kind, e.Name, progress.BytesText(e.Bytes))
	}
	what := fmt.Sprintf("%d entries, %s", len(list), progress.BytesText(cache.Total(list)))
	if r.dryRun {
		_, err := fmt.Fprintf(w, "would remove %s\n", what)
		return 0, err
	}
	if !r.yes && !cli.Confirmed(cmd, "Remove "+what+"?", true) {
		return 0, errors.New("nothing was removed")
	}
	freed, err := cache.Remove(dir, list)
	if errors.Is(err, cache.ErrInUse) {
		return 0, fmt.Errorf("%w: wait for it to end; nothing was removed", err)
	}
	if err == nil {
		_, err = fmt.Fprintf(w, "removed %s\n", progress.BytesText(freed))
	}
	return freed, err
}

func newCacheClear() *cobra.Command {
	var r removal
	var older time.Duration
	cmd := &cobra.Command{
		Use:   "clear [KIND|NAME…]",
		Short: "Remove what can be made again: all, some kinds, or by name",
		Long: `Remove what can be made again: all of it, or kinds (models, datasets, samples, converted,
engines, leftovers), or entries whose names begin so. While another process uses the cache
nothing is removed.`,
		Example:   "  mlperf cache clear --dry-run\n  mlperf cache clear samples --unused 720h --yes",
		ValidArgs: cache.Kinds(),
		Args:      cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, list, err := cacheEntries()
			if err != nil {
				return err
			}
			if err := checkNames(list, args); err != nil {
				return err
			}
			return r.remove(cmd, dir, slices.DeleteFunc(list, func(e cache.Entry) bool {
				wanted := len(args) == 0 || slices.ContainsFunc(args, func(a string) bool { return matches(e, a) })
				recent := older > 0 && time.Since(e.Used) < older // a clock may have been wrong: a time in the future keeps nothing by itself
				return !wanted || recent
			}))
		},
	}
	r.define(cmd)
	cli.DurationVar(cmd.Flags(), &older, "unused", 0, "only what was not used for so long, a `duration` such as 720h")
	return cmd
}

// checkNames finds an argument that means no entry and is no kind.
func checkNames(list []cache.Entry, args []string) error {
	kinds := cache.Kinds()
	for _, a := range args {
		if !slices.ContainsFunc(list, func(e cache.Entry) bool { return matches(e, a) }) && !slices.Contains(kinds, a) {
			return cli.Usage("there is no entry %q, want a kind (%s) or what the name of an entry begins with%s", a, strings.Join(kinds, ", "), names.Meant(a, kinds))
		}
	}
	return nil
}

// matches reports whether an argument means an entry. An empty one, of a variable of a shell that is not set, means none.
func matches(e cache.Entry, arg string) bool {
	return arg != "" && (e.Kind == arg || strings.HasPrefix(e.Name, arg))
}

func newCacheLimit() *cobra.Command {
	var r removal
	cmd := &cobra.Command{
		Use:     "limit SIZE",
		Short:   "Remove what was unused longest, until no more than SIZE is there",
		Example: "  mlperf cache limit 20GB",
		Args:    cli.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			limit, err := cache.ParseSize(args[0])
			if err != nil {
				return cli.Usage("%w", err)
			}
			dir, list, err := cacheEntries()
			if err != nil {
				return err
			}
			return r.remove(cmd, dir, cache.OverLimit(list, limit))
		},
	}
	r.define(cmd)
	return cmd
}
