package files

import (
	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/configs"
	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/download"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// lookupItem finds an item of the manifest.
func lookupItem(kind download.Kind, name string) (*download.Manifest, download.Item, error) {
	m, err := download.ParseManifest(configs.Downloads())
	if err != nil {
		return nil, download.Item{}, err
	}
	it, err := m.Lookup(kind, name)
	if err != nil {
		return nil, it, cli.Usage("%w%s", err, userinput.Meant(name, itemsOf(m, kind)))
	}
	return m, it, nil
}

// itemsOf are the names of the items of a kind.
func itemsOf(m *download.Manifest, kind download.Kind) (list []string) {
	for _, it := range m.Items {
		if it.Kind == kind {
			list = append(list, it.Name)
		}
	}
	return list
}

// itemNames completes names.
func itemNames(kind download.Kind) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		m, err := download.ParseManifest(configs.Downloads())
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var list []string
		for _, it := range m.Items {
			if it.Kind == kind {
				list = append(list, it.Name+"\t"+it.Title)
			}
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}
