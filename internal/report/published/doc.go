// Package published puts a run beside results that MLCommons has published.
//
//	list, err := published.Read("summary_results.json")
//	s, err := published.Against(run, list, sameModel)
//	err = s.Text(os.Stdout)
//
// The repository of each round since v5.1 has its results in summary_results.json; scripts/published makes the same of the logs
// in the repository of an older round. This package has no results of its own. Results of the closed division are compared
// with runs whose rules, bounds and benchmark are the same: of others Against says why not.
package published
