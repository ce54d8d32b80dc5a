package output

import (
	"fmt"
	"io"
	"strings"

	"github.com/mlperf-go/mlperf/internal/submission/checker"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Text writes a report for people: the results that do not pass, every finding once, the verdict.
func Text(w io.Writer, r *checker.Report) error {
	var b strings.Builder
	list := r.Findings
	for _, one := range r.Results {
		if !one.Passes {
			fmt.Fprintf(&b, "does not pass  %s\n", userinput.PrintableLine(one.Path))
		}
		list = append(list[:len(list):len(list)], one.Findings...)
	}
	seen := map[checker.Finding]bool{} // what is wrong with a system is a finding of each of its results
	for _, f := range list {
		if seen[f] {
			continue
		}
		seen[f] = true
		b.WriteString("\n" + userinput.PrintableLine(f.Path))
		if f.Line > 0 {
			fmt.Fprintf(&b, ":%d", f.Line)
		}
		fmt.Fprintf(&b, ": %s: %s\n", f.Level, userinput.PrintableLine(f.Message))
		for _, line := range []struct{ name, text string }{
			{"found", f.Found}, {"wanted", f.Wanted}, {"fix", f.Fix}, {"rule", f.Rule + " " + checker.Link(f.Rule)},
		} {
			if line.text != "" {
				fmt.Fprintf(&b, "  %-7s %s\n", line.name, userinput.PrintableLine(line.text))
			}
		}
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	pass, fail := r.Counts()
	verdict := "passes"
	if !r.Passes {
		verdict = "does not pass"
	}
	fmt.Fprintf(&b, "%d of %d results pass; %d findings fail the tree.\nThe tree %s: rules %s, profile %s.\n", pass, pass+fail, r.Failing(),
		verdict, r.Rules, r.Profile)
	_, err := io.WriteString(w, b.String())
	return err
}

// Summary writes the results that pass as the official checker writes summary.csv: fields are in quotes, and quotes in them
// are not escaped. The profile strict reports such fields.
func Summary(w io.Writer, r *checker.Report) error {
	var b strings.Builder
	b.WriteString(strings.Join(checker.Columns, ",") + "\n")
	for _, row := range r.Summary() {
		b.WriteString(`"` + strings.Join(row, `","`) + "\"\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
