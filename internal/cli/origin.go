package cli

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// originKey is the annotation of a flag that says where its value comes from.
const originKey = "origin"

// OriginOf says where the value of a flag comes from; empty: nobody gave one.
func OriginOf(flags *pflag.FlagSet, name string) string {
	if f := flags.Lookup(name); f != nil && len(f.Annotations[originKey]) > 0 {
		return f.Annotations[originKey][0]
	}
	return ""
}

// Origins lists the fields that somebody gave, with where.
func Origins(flags *pflag.FlagSet) map[string]string {
	given := map[string]string{}
	flags.VisitAll(func(f *pflag.Flag) {
		if origin := OriginOf(flags, f.Name); origin != "" {
			given[strings.ReplaceAll(f.Name, "-", "_")] = origin
		}
	})
	return given
}

// Rank is higher for an origin that goes before another: the command line, then the environment, then mlperf.yaml, then
// nobody.
func Rank(origin string) int {
	switch {
	case origin == "":
		return 0
	case strings.HasPrefix(origin, "flag "):
		return 3
	case strings.HasPrefix(origin, "environment "):
		return 2
	}
	return 1
}

// OnCommandLine reports whether the command line itself has a flag. What lies in the environment or in mlperf.yaml may be
// for other verbs.
func OnCommandLine(flags *pflag.FlagSet, name string) bool { return Rank(OriginOf(flags, name)) == 3 }

// Pointless is an error about the first of some flags that is on the command line, where it would be passed over without a word.
func Pointless(flags *pflag.FlagSet, why string, names ...string) error {
	if i := slices.IndexFunc(names, func(name string) bool { return OnCommandLine(flags, name) }); i >= 0 {
		return Usage("--%s %s", names[i], why)
	}
	return nil
}

// FormatOf is the format that --format and --json ask for together: --json is the short way to say --format json.
func FormatOf(flags *pflag.FlagSet, format string, asJSON bool) (string, error) {
	const short, long = "json", "format"
	switch {
	case !asJSON || format == short:
		return format, nil
	case OnCommandLine(flags, short) && OnCommandLine(flags, long):
		return "", Usage("--json and --format %s are two formats, want one", format)
	case Rank(OriginOf(flags, long)) > Rank(OriginOf(flags, short)):
		return format, nil
	}
	return short, nil
}
