package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/tables"
	"github.com/mlperf-go/mlperf/internal/run/outdir"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// say prints a text as fmt.Fprintf does. Parts of it that others wrote cannot steer a terminal, or begin a line.
func say(w io.Writer, format string, args ...any) error {
	safe := slices.Clone(args)
	for i, a := range safe {
		switch a := a.(type) {
		case string:
			safe[i] = userinput.PrintableLine(a)
		case error:
			safe[i] = strings.Join(userinput.ErrorLines(a), "; ")
		}
	}
	return sayText(w, fmt.Sprintf(format, safe...))
}

// sayText prints a text of several lines, the parts of which were made printable lines before.
func sayText(w io.Writer, text string) error {
	_, err := io.WriteString(w, userinput.PrintableText(text))
	return err
}

// sayDocument prints a document for a file or another program, for instance CSV: as it is, but on a terminal as say does.
func sayDocument(w io.Writer, write func(io.Writer) error) error {
	if !isTerminal(w) {
		return write(w)
	}
	var b strings.Builder
	if err := write(sized{&b, tables.Width(w)}); err != nil {
		return err
	}
	return sayText(w, b.String())
}

// sized is what is printed on a terminal of so many columns.
type sized struct {
	io.Writer
	columns int
}

// Columns implements the interface of tables.Width.
func (s sized) Columns() int { return s.columns }

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colour colours a verdict on a terminal, if colours are wanted (https://no-color.org): VALID green, INVALID red, others amber.
func colour(w io.Writer, verdict string) string {
	if os.Getenv("NO_COLOR") != "" || !isTerminal(w) || !escapes(w.(*os.File)) {
		return verdict
	}
	code, ok := map[string]string{report.Valid: "32", report.Invalid: "31"}[verdict]
	if !ok {
		code = "33"
	}
	return "\x1b[" + code + "m" + verdict + "\x1b[0m"
}

// ask asks the user a question and reports whether the answer is yes, and whether a user is there to answer.
func ask(cmd *cobra.Command, question string) (yes, asked bool) {
	in := cmd.InOrStdin()
	if !isTerminal(in) {
		return false, false
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s [y/N] ", question)
	answer, _ := bufio.NewReader(in).ReadString('\n') // an answer may lack its end of line
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", true
}

// newestRuns are the runs under results that a verb can take, the newest first.
func newestRuns(takes func(*report.Results) bool) []report.Run {
	runs, _, _ := report.Collect([]string{outdir.Root}, report.Read) // it need not exist
	runs = slices.DeleteFunc(runs, func(r report.Run) bool { return !takes(r.Results) })
	slices.SortStableFunc(runs, func(a, b report.Run) int { return b.Results.Created.Compare(a.Results.Created) })
	return runs
}

// newestRun is the first of them, which standard error names, or an error with the command that makes one.
func newestRun(cmd *cobra.Command, what, command string, takes func(*report.Results) bool) (string, error) {
	runs := newestRuns(takes)
	if len(runs) == 0 {
		return "", usage("no %s is below %s: %s makes one; or name a folder (RUN_DIR)", what, outdir.Root, command)
	}
	_ = say(cmd.ErrOrStderr(), "the newest %s: %s\n", what, runs[0].Folder)
	return runs[0].Folder, nil
}

// jsonFlag defines --json.
func jsonFlag(f *pflag.FlagSet, asJSON *bool) { f.BoolVar(asJSON, "json", false, "print as JSON") }

// printJSON prints a document with the id of its form first. A list becomes the rows of a document, and one without
// elements is [], never null: a program can go through it without asking.
func printJSON(w io.Writer, form string, document any) error {
	body, err := marshal(document)
	if err != nil {
		return err
	}
	switch {
	case !bytes.HasPrefix(body, []byte("{")):
		body = fmt.Appendf(nil, `,"rows":%s}`, body)
	case !bytes.Equal(body, []byte("{}")):
		body[0] = ','
	default:
		body = []byte("}")
	}
	var b bytes.Buffer
	if err := json.Indent(&b, fmt.Appendf(nil, `{"schema":"mlperf-go/%s/1"%s`, form, body), "", "  "); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", userinput.PrintableJSON(b.Bytes()))
	return err
}

// printJSONLine prints a document on one line, for programs.
func printJSONLine(w io.Writer, document any) error {
	body, err := marshal(document)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", body)
	return err
}

// marshal writes lists without entries as [], never as null.
func marshal(document any) ([]byte, error) {
	return jsonv2.Marshal(document, jsonv1.DefaultOptionsV1(), jsonv2.FormatNilSliceAsNull(false))
}

// A tableRow is a value for each column.
type tableRow = []any

// newTable makes a table in the style of all commands.
func newTable(header tableRow) *tables.Table {
	var names []string
	for _, name := range header {
		names = append(names, fmt.Sprint(name))
	}
	return tables.New(names...)
}

// printTable prints rows in columns, as wide as the terminal.
func printTable[T any](w io.Writer, header tableRow, rows []T, columns func(T) tableRow) error {
	t := newTable(header)
	for _, r := range rows {
		t.Row(columns(r)...)
	}
	return sayText(w, t.Text(tables.Width(w)))
}
