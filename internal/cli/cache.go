package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/machine/home"
	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func newCache() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "List or clear cached files (they can be made again)",
		Long: `List or clear the cache folder: built-in models and data, pre-processed samples, converted
models, and what devices compiled. All of it can be made again. The folder is
$MLPERF_CACHE_DIR, or mlperf in the user's cache folder. Downloads are elsewhere, in
$MLPERF_DATA_DIR, and stay as they are.`,
		Example: "  mlperf cache list",
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
		Short:   "List what the folder contains, how large each entry is, and how long it has been unused",
		Example: "  mlperf cache list",
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, list, err := cacheEntries()
			if err != nil {
				return err
			}
			w := cmd.OutOrStdout()
			if asJSON {
				return printJSON(w, "cache", map[string]any{"folder": dir, "bytes": home.Total(list), "entries": append([]home.Entry{}, list...)})
			}
			if len(list) > 0 {
				err = printTable(w, tableRow{"kind", "name", "size", "unused since"}, list, func(e home.Entry) tableRow {
					return tableRow{e.Kind, e.Name, units.Bytes(e.Bytes), e.Used.Format("2006-01-02 15:04")}
				})
			}
			if err == nil {
				err = say(w, "%s in %s\n", units.Bytes(home.Total(list)), dir)
			}
			return err
		},
	}
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

func newCacheClear() *cobra.Command {
	var dryRun, yes, asJSON bool
	var unused time.Duration
	cmd := &cobra.Command{
		Use:   "clear [KIND|NAME…]",
		Short: "Remove what can be made again: all, some kinds, or by name",
		Long: `Remove cached files: all of them, or kinds (models, datasets, samples, converted,
engines, leftovers), or entries whose names begin with a word. While another process uses the cache
nothing is removed.`,
		Example:   "  mlperf cache clear --dry-run\n  mlperf cache clear samples --unused 720h --yes",
		ValidArgs: home.Kinds(),
		Args:      cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, list, err := cacheEntries()
			if err != nil {
				return err
			}
			// An empty argument, of a variable of a shell that is not set, means no entry.
			means := func(arg string, e home.Entry) bool {
				return arg != "" && (e.Kind == arg || strings.HasPrefix(e.Name, arg))
			}
			kinds := home.Kinds()
			for _, a := range args {
				if !slices.ContainsFunc(list, func(e home.Entry) bool { return means(a, e) }) && !slices.Contains(kinds, a) {
					return usage("unknown entry %q%s", a, userinput.Want(a, kinds, "a kind ("+strings.Join(kinds, ", ")+") or the beginning of an entry's name"))
				}
			}
			list = slices.DeleteFunc(list, func(e home.Entry) bool {
				wanted := len(args) == 0 || slices.ContainsFunc(args, func(a string) bool { return means(a, e) })
				recent := unused > 0 && time.Since(e.Used) < unused // without --unused a time in the future keeps nothing
				return !wanted || recent
			})
			w := cmd.OutOrStdout()
			if asJSON {
				w = io.Discard
			}
			for _, e := range list {
				_ = say(w, "%-9s %s, %s\n", e.Kind, e.Name, units.Bytes(e.Bytes))
			}
			sum := fmt.Sprintf("%d entries, %s", len(list), units.Bytes(home.Total(list)))
			freed := int64(0)
			switch {
			case len(list) == 0:
				_, err = fmt.Fprintln(w, "nothing to remove")
			case dryRun:
				_, err = fmt.Fprintf(w, "would remove %s\n", sum)
			default:
				if !yes {
					if agreed, asked := ask(cmd, "Remove "+sum+"?"); asked && !agreed {
						return errors.New("nothing was removed")
					}
				}
				if freed, err = home.Remove(dir, list); errors.Is(err, home.ErrInUse) {
					return fmt.Errorf("%w: wait for it to end; nothing was removed", err)
				} else if err != nil {
					return err
				}
				_, err = fmt.Fprintf(w, "removed %s\n", units.Bytes(freed))
			}
			if err != nil || !asJSON {
				return err
			}
			return printJSON(cmd.OutOrStdout(), "cache", map[string]any{
				"folder": dir, "removed_bytes": freed, "dry_run": dryRun, "entries": append([]home.Entry{}, list...),
			})
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print what would be removed, remove nothing")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	jsonFlag(cmd.Flags(), &asJSON)
	durationVar(cmd.Flags(), &unused, "unused", 0, "only what has not been used for this `duration` (720h)")
	return cmd
}
