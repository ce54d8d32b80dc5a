package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/mlperf-go/mlperf/internal/report/figures"
)

//go:embed *.html uplot.js uplot.css page.js page.css uplot.LICENSE
var files embed.FS

// read returns an embedded file. That it is there is a property of the program.
func read(name string) string {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// A shell is what all pages have.
type shell struct {
	Policy  string
	CSS     template.CSS
	Script  template.JS
	Data    template.JS
	Figures []figures.Figure
	Program string // that made the page
}

// newShell makes the parts of a page with figures.
func newShell(list []figures.Figure, program string) (shell, error) {
	if list == nil {
		list = []figures.Figure{}
	}
	return shellOf(map[string]any{"figures": list}, list, program)
}

// shellOf makes the parts of a page with data for its script.
func shellOf(values map[string]any, list []figures.Figure, program string) (shell, error) {
	data, err := json.Marshal(values) // escapes <, > and &
	if err != nil {
		return shell{}, fmt.Errorf("writing the figures: %w", err)
	}
	css, script := read("uplot.css")+read("page.css"), read("uplot.js")+"\n"+read("page.js")
	policy := fmt.Sprintf("default-src 'none'; base-uri 'none'; form-action 'none'; style-src '%s'; script-src '%s'", hash(css), hash(script))
	return shell{
		Policy: policy, CSS: template.CSS(css), Script: template.JS(script), Data: template.JS(data), Figures: list, Program: program,
	}, nil
}

// hash is what a content security policy knows a text by.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// A listing is a list of texts with a title.
type listing struct {
	Class, Title string
	Items        []string
}

// render fills a template. Nothing is written if that fails.
func render(w io.Writer, name string, data any) error {
	funcs := template.FuncMap{
		"list":  func(class, title string, items []string) listing { return listing{class, title, items} },
		"parts": func(path string) []string { return strings.SplitAfter(path, "/") }, // between which a line may end
	}
	t, err := template.New(name).Funcs(funcs).ParseFS(files, name, "parts.html")
	if err != nil {
		return fmt.Errorf("the template of a page: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, data); err != nil {
		return fmt.Errorf("writing a page: %w", err)
	}
	_, err = out.WriteTo(w)
	return err
}
