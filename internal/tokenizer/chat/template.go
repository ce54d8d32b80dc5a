package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/nikolalohinski/gonja/v2/builtins"
	jinja "github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/loaders"
	"github.com/nikolalohinski/gonja/v2/parser"
)

// A Template turns chats into texts. It may be used from several goroutines at once.
type Template struct {
	Path    string // of its file
	program *exec.Template
	special map[string]string
}

const (
	maxText  = 16 << 20 // bytes that a template may write
	maxRange = 10_000   // numbers that it may count to write one
	// inMemory is what the template is called where it is looked for.
	inMemory = "/chat"
)

// statements are those that a template may have: all that stay in it.
var statements = []string{"for", "if", "set", "macro", "raw", "filter", "with"}

// environment is what a template may use.
func environment() *exec.Environment {
	allowed := map[string]parser.ControlStructureParser{}
	for _, name := range statements {
		if s, ok := builtins.ControlStructures.Get(name); ok {
			allowed[name] = s
		}
	}
	values := exec.EmptyContext()
	for _, name := range []string{"namespace", "dict"} {
		if f, ok := builtins.GlobalFunctions.Get(name); ok {
			values.Set(name, f)
		}
	}
	values.Set("raise_exception", func(why string) (string, error) { return "", errors.New(why) })
	filters := exec.NewFilterSet(map[string]exec.FilterFunction{}).Update(builtins.Filters)
	_ = filters.Replace("tojson", toJSON) // which is there
	return &exec.Environment{
		Context: values, Filters: filters, Tests: builtins.Tests, Methods: builtins.Methods,
		ControlStructures: exec.NewControlStructureSet(allowed),
	}
}

// toJSON writes a value as HuggingFace has it: no letter is escaped for the sake of HTML.
func toJSON(_ *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(in.Interface()); err != nil {
		return exec.AsValue(err)
	}
	return exec.AsValue(strings.TrimSuffix(text.String(), "\n"))
}

// A counter is range, for one text: all that it counts together is bounded.
type counter int

func (c *counter) count(_ *exec.Evaluator, params *exec.VarArgs) ([]int, error) {
	from, to, step, err := bounds(params)
	if err != nil {
		return nil, err
	}
	var list []int
	for n := from; step > 0 && n < to || step < 0 && n > to; n += step {
		if *c++; *c > maxRange {
			return nil, fmt.Errorf("a template counts to %d at most", maxRange)
		}
		list = append(list, n)
	}
	return list, nil
}

var errNoRange = errors.New("range wants one to three whole numbers")

// bounds are the arguments of range.
func bounds(params *exec.VarArgs) (from, to, step int, err error) {
	list := [3]int{0, 0, 1}
	at := 0
	if len(params.Args) == 1 {
		at = 1
	}
	if len(params.Args) == 0 {
		return 0, 0, 0, errNoRange
	}
	for i, a := range params.Args {
		if at+i > 2 || !a.IsInteger() {
			return 0, 0, 0, errNoRange
		}
		list[at+i] = a.Integer()
	}
	if list[2] == 0 {
		return 0, 0, 0, errors.New("range wants steps that are not 0")
	}
	return list[0], list[1], list[2], nil
}

// compile reads a template as HuggingFace does: the line break after a statement and the blanks before it are
// not part of the text.
func compile(c *config) (t *Template, err error) {
	defer recovered(&err)
	options := jinja.New()
	options.TrimBlocks, options.LeftStripBlocks = true, true
	loader, err := loaders.NewMemoryLoader(map[string]string{inMemory: c.template})
	if err != nil {
		return nil, err
	}
	program, err := exec.NewTemplate(inMemory, options, loader, environment())
	if err != nil {
		return nil, err
	}
	return &Template{program: program, special: c.special}, nil
}

// recovered makes an error of a panic: of a template that its language has no word for.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("it cannot be read: %v", p)
	}
}

// Render writes the messages of a chat, up to where the answer begins. A message is what a template knows of it: its
// role and its content.
func (t *Template) Render(messages []map[string]any) (text string, err error) {
	defer recovered(&err)
	values := exec.NewContext(map[string]any{"messages": messages, "add_generation_prompt": true, "range": new(counter).count})
	for name, token := range t.special {
		values.Set(name, token)
	}
	w := &bounded{}
	if err := t.program.Execute(w, values); err != nil {
		return "", fmt.Errorf("the chat template: %w", err)
	}
	return w.String(), nil
}

// A bounded writer takes no endless text.
type bounded struct{ strings.Builder }

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxText {
		return 0, fmt.Errorf("a chat of more than %d bytes", maxText)
	}
	return b.Builder.Write(p)
}

// WriteString implements io.StringWriter.
func (b *bounded) WriteString(s string) (int, error) { return b.Write([]byte(s)) }

var _ io.StringWriter = (*bounded)(nil)
