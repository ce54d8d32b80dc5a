package output

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/mlperf-go/mlperf/internal/submission/checker"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// JSON writes a report as an indented object.
func JSON(w io.Writer, r *checker.Report) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Text writes a report for people: what does not pass, every finding once, the verdict.
func Text(w io.Writer, r *checker.Report) error {
	var b strings.Builder
	for _, one := range r.Results {
		if !one.Passes {
			fmt.Fprintf(&b, "does not pass  %s\n", userinput.PrintableLine(one.Path))
		}
	}
	links := map[string]string{}
	for _, rule := range checker.Rules() {
		links[rule.ID] = rule.Link
	}
	for _, f := range findings(r) {
		fmt.Fprintf(&b, "\n%s: %s: %s\n", place(f), f.Level, userinput.PrintableLine(f.Message))
		for _, line := range []struct{ name, text string }{
			{"found", f.Found}, {"wanted", f.Wanted}, {"fix", f.Fix}, {"rule", f.Rule + " " + links[f.Rule]},
		} {
			if line.text != "" {
				fmt.Fprintf(&b, "  %-7s %s\n", line.name, userinput.PrintableLine(line.text))
			}
		}
	}
	verdict(&b, r)
	_, err := io.WriteString(w, b.String())
	return err
}

func verdict(b *strings.Builder, r *checker.Report) {
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	pass, fail := r.Counts()
	fmt.Fprintf(b, "%d of %d results pass; %d findings fail the tree.\n", pass, pass+fail, r.Failing())
	if r.Passes {
		fmt.Fprintf(b, "The tree passes: rules %s, profile %s.\n", r.Rules, r.Profile)
	} else {
		fmt.Fprintf(b, "The tree does not pass: rules %s, profile %s.\n", r.Rules, r.Profile)
	}
}

func place(f checker.Finding) string {
	if f.Line > 0 {
		return fmt.Sprintf("%s:%d", userinput.PrintableLine(f.Path), f.Line)
	}
	return userinput.PrintableLine(f.Path)
}

// findings lists every finding once: what is wrong with a system is a finding of each
// of its results.
func findings(r *checker.Report) []checker.Finding {
	seen := map[checker.Finding]bool{}
	list := []checker.Finding{}
	add := func(more []checker.Finding) {
		for _, f := range more {
			if !seen[f] {
				seen[f] = true
				list = append(list, f)
			}
		}
	}
	add(r.Findings)
	for _, one := range r.Results {
		add(one.Findings)
	}
	return list
}

// Summary writes the results that pass as the official checker's summary.csv does. Like
// there, fields are in quotes and quotes in them are not escaped: the profile strict
// names such fields.
func Summary(w io.Writer, r *checker.Report) error {
	var b strings.Builder
	b.WriteString(strings.Join(checker.Columns, ",") + "\n")
	for _, row := range r.Summary() {
		b.WriteString(`"` + strings.Join(row, `","`) + "\"\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
