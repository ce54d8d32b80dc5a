// Package jinja runs templates in Jinja, as Python's Jinja2 does with the options that the chat
// templates of language models are written for: the line break after a statement and the blanks
// before it are not part of the text, and nothing is escaped for HTML.
//
//	t, err := jinja.Parse("{% for m in messages %}[{{ m.role|upper }}] {{ m.content }}\n{% endfor %}")
//	text, err := t.Render(map[string]any{"messages": []map[string]any{{"role": "user", "content": "Hello"}}})
//
// # Terms
//
// A template is text with expressions in {{ }}, statements in {% %} and remarks in {# #}. Values
// are those of Python: texts of characters, whole numbers, floats, lists, tuples, dicts that
// keep their order, ranges, None, and what is undefined, which is no text and may not be reckoned
// with. What a filter as map makes gives each of its elements once.
//
// # Bounds
//
// Templates are programs of strangers. They reach nothing but the values given to them: no
// files, no time, no other templates, no attributes of Go's values. The text, what is counted,
// the work and how deep things are nested have bounds; beyond them is an error.
//
// # What it leaves out
//
// Other templates (include, import, extends, blocks), escaping by itself, whole numbers beyond 64
// bits, what hangs on chance (random, lipsum), and filters that no chat has a use for: pprint,
// urlize, wordwrap. What is not known is refused by its name, with its line.
package jinja
