package jinja

import (
	"strings"
	"testing"
)

// doubled is a value that has another one twice, which has another one twice, and so on: 2^60 in all, of 60 lists.
const doubled = "{% set ns = namespace(a=[], b=[]) %}{% for i in range(60) %}{% set ns.a = [ns.a, ns.a] %}{% set ns.b = [ns.b, ns.b] %}{% endfor %}"

// Looking at a value is work, for each way to do so.
func TestWhatLooksAtAllOfAValueEnds(t *testing.T) {
	for _, expression := range []string{
		"ns.a", "ns.a ~ 'x'", "'x' ~ ns.a", "ns.a == ns.b", "ns.a != ns.b", "ns.a < ns.b", "1 in [ns.a]", "ns.a in [ns.b]", "ns.a|string", "ns.a|tojson", "ns.a|join", "ns.a|upper",
		"[ns.a, ns.b]|sort", "[ns.a, ns.b]|unique|list", "[ns.a, ns.b]|max", "ns.a is lower", "ns.a is eq(ns.b)", "[ns.a]|select('eq', ns.b)|list", "[ns.a].index(ns.b)", "[ns.a].count(ns.b)",
		"h[ns.a]", "'a'.join([ns.a])", "dict(x=ns.a)|tojson", "raise_exception(ns.a)", "h|map(ns.a)", "h|replace(ns.a, 'x')",
	} {
		p, err := Parse(doubled + "{{ " + expression + " }}")
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.render(map[string]any{"h": "xy"}, 10_000)
		if err == nil || !strings.Contains(err.Error(), "does not come to an end") {
			t.Errorf("%s is %.60q, %v, want an error that it does not end", expression, got, err)
		}
	}
}

func TestLongTextsAreWork(t *testing.T) {
	for _, expression := range []string{
		"h|length", "h == g", "h < g", "'zz' in h", "h|upper", "h.split('b')", "h.strip('x')", "h|first", "h[1]", "h[1:2]", "h is lower", "h is iterable", "h ~ 'x'", "h|tojson", "'b'.join([h])", "h|int",
		"[h]|map('length')|list", "[h]|select('iterable')|list", "[{'a': h}]|selectattr('a', 'sequence')|list",
	} {
		p, err := Parse("{% for i in x %}{% set y = " + expression + " %}{% endfor %}")
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]any{"x": strings.Repeat("x", 100), "h": strings.Repeat("x", 1<<12), "g": strings.Repeat("x", 1<<12-1) + "y"}
		if _, err := p.render(values, 4000); err == nil || !strings.Contains(err.Error(), "does not come to an end") {
			t.Errorf("%s, a hundred times over 4 kB: %v, want that it is more than 4000 steps", expression, err)
		}
	}
	p, err := Parse("{% for i in h %}{% break %}{% endfor %}{% for i in x %}{% for c in h %}{% break %}{% endfor %}{% endfor %}")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.render(map[string]any{"x": strings.Repeat("x", 100), "h": strings.Repeat("x", 1<<12)}, 4000); err == nil {
		t.Error("loops over long texts that are left at once are no work")
	}
}

func TestDeepValuesAreRefused(t *testing.T) {
	const deep = "{% set ns = namespace(a=1) %}{% for i in range(201) %}{% set ns.a = [ns.a] %}{% endfor %}{{ ns.a }}"
	if _, err := render(deep, nil); err == nil || !strings.Contains(err.Error(), "more than 200 deep") {
		t.Errorf("a list of 201 lists: %v", err)
	}
	if got, err := render(strings.Replace(deep, "201", "200", 1), nil); err != nil || strings.Count(got, "[") != 200 {
		t.Errorf("a list of 200 lists: %v", err)
	}
}

// The bounds are far above what the longest of chats needs.
func TestALongChatIsWithinTheBounds(t *testing.T) {
	const template = "{% for m in messages %}{% if m.role == 'assistant' and '</think>' in m.content %}{% set c = m.content.split('</think>')[-1].lstrip() %}{% else %}" +
		"{% set c = m['content'] | trim %}{% endif %}{% if loop.index0 == messages | length - 1 and c is string and c %}last {% endif %}<|{{ m.role }}|>{{ c ~ '\n' }}{% endfor %}"
	var messages []map[string]any
	for range 1000 {
		messages = append(messages, map[string]any{"role": "user", "content": strings.Repeat("a word ", 300)},
			map[string]any{"role": "assistant", "content": "<think>" + strings.Repeat("thought ", 300) + "</think> " + strings.Repeat("answer ", 300)})
	}
	got, err := render(template, map[string]any{"messages": messages})
	if err != nil || strings.Count(got, "last ") != 1 || strings.Contains(got, "thought") || len(got) < 4_000_000 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
