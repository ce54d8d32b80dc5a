package cli

import (
	"io"

	"github.com/mlperf-go/mlperf/internal/suite"
)

// ListSuites prints the suites that are built in, for the verbs that list them.
func ListSuites(w io.Writer, asJSON bool) error {
	rows, err := suite.List()
	if err != nil || asJSON {
		return OrJSON(w, "suite-list", rows, err)
	}
	return PrintTable(w, Row{"suite", "what it is", "rules"}, rows,
		func(r suite.Listed) Row { return Row{r.Name, r.Title, r.Rules} })
}
