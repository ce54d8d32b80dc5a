package output

import (
	"encoding/csv"
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/field"
)

// A Format is a way to write sheets.
type Format string

// The formats.
const (
	CSV      Format = "csv"
	Markdown Format = "markdown"
	HTML     Format = "html"
)

// Sheets writes the tables of the final report. What submitters wrote is escaped, in
// CSV as in RFC 4180, and there with an apostrophe before what a spreadsheet would take
// for a formula.
func Sheets(w io.Writer, f Format, sheets []Sheet) error {
	switch f {
	case CSV:
		return csvSheets(w, sheets)
	case Markdown:
		return markdownSheets(w, sheets)
	case HTML:
		return htmlSheets(w, sheets)
	}
	return field.Invalid("format", f, "summary, csv, markdown or html")
}

func csvSheets(w io.Writer, sheets []Sheet) error {
	out := csv.NewWriter(w)
	for _, s := range sheets {
		// Errors stay with the writer.
		_ = out.Write([]string{s.Title})
		_ = out.Write(s.Header)
		for _, row := range s.Rows {
			safe := make([]string, len(row))
			for i, cell := range row {
				safe[i] = inert(cell)
			}
			_ = out.Write(safe)
		}
	}
	out.Flush()
	return out.Error()
}

// inert keeps a cell from being a formula. A number may be below 0.
func inert(cell string) string {
	if cell == "" || !strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return cell
	}
	if _, err := strconv.ParseFloat(cell, 64); err == nil || cell == "-" {
		return cell
	}
	return "'" + cell
}

var markdown = strings.NewReplacer(`\`, `\\`, "|", `\|`, "\n", " ", "\r", " ", "<", "&lt;", ">", "&gt;", "&", "&amp;", "`", "\\`", "[", `\[`, "]", `\]`, "*", `\*`, "_", `\_`)

func markdownSheets(w io.Writer, sheets []Sheet) error {
	var b strings.Builder
	for _, s := range sheets {
		fmt.Fprintf(&b, "## %s\n\n", s.Title)
		line := func(cells []string) {
			for _, c := range cells {
				b.WriteString("| " + markdown.Replace(c) + " ")
			}
			b.WriteString("|\n")
		}
		line(s.Header)
		b.WriteString(strings.Repeat("| --- ", len(s.Header)) + "|\n")
		for _, row := range s.Rows {
			line(row)
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func htmlSheets(w io.Writer, sheets []Sheet) error {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>MLPerf Inference results</title></head>\n<body>\n")
	for _, s := range sheets {
		fmt.Fprintf(&b, "<h2>%s</h2>\n<table>\n", html.EscapeString(s.Title))
		line := func(tag string, cells []string) {
			b.WriteString("<tr>")
			for _, c := range cells {
				fmt.Fprintf(&b, "<%s>%s</%s>", tag, html.EscapeString(c), tag)
			}
			b.WriteString("</tr>\n")
		}
		line("th", s.Header)
		for _, row := range s.Rows {
			line("td", row)
		}
		b.WriteString("</table>\n")
	}
	b.WriteString("</body>\n</html>\n")
	_, err := io.WriteString(w, b.String())
	return err
}
