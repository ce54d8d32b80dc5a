package chat

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// Templates that recurse without end, take all memory, or never end. The process that serves survives each.
func TestHostileTemplates(t *testing.T) {
	nest := func(open, inner, end string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	grow := func(step string) string { // doubles x 60 times
		return "{% set ns = namespace(x='ab', l=[1, 2]) %}{% for i in range(60) %}{% set " + step + " %}{% endfor %}{{ ns.x|length }}"
	}
	const a = "{% set a = 'a'*1000000 %}"
	for name, template := range map[string]string{
		// recursion
		"macro":               "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
		"macros in turns":     "{% macro f(x) %}{{ g(x) }}{% endmacro %}{% macro g(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
		"macro in a default":  "{% macro f(x=f()) %}{{ x }}{% endmacro %}{{ f() }}",
		"macro, growing":      "{% macro f(x) %}{{ f(x ~ x) }}{% endmacro %}{{ f('ab') }}",
		"macro, twice":        "{% macro f(n) %}{% if n > 0 %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(60) }}",
		"caller":              "{% macro f() %}{% call f() %}{{ caller() }}{% endcall %}{% endmacro %}{{ f() }}",
		"set block":           "{% macro f() %}{% set x %}{{ f() }}{% endset %}{{ x }}{% endmacro %}{{ f() }}",
		"filter block":        "{% macro f() %}{% filter upper %}{{ f() }}{% endfilter %}{% endmacro %}{{ f() }}",
		"include":             "{% include 'chat_template.jinja' %}",
		"recursive loop":      "{% for i in [[1]] recursive %}{{ loop([i]) }}{% endfor %}",
		"namespace of itself": "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}",
		"list of itself":      "{% set l = [] %}{% set _ = l.append(l) %}{{ l }}",
		"dict of itself":      "{% set ns = namespace(d={}) %}{% set _ = ns.d.update({'a': ns}) %}{% set ns.b = ns.d %}{{ ns.d }}",
		"itself as JSON":      "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns|tojson }}",
		"list as JSON":        "{% set l = [] %}{% set _ = l.append(l) %}{{ l|tojson(indent=4) }}",
		"itself equals":       "{% set a = namespace() %}{% set a.x = a %}{% set b = namespace() %}{% set b.x = b %}{{ a == b }}",
		"itself in itself":    "{% set l = [] %}{% set _ = l.append(l) %}{% set k = [] %}{% set _ = k.append(k) %}{{ l in k }}",
		"itself as a text":    "{% set l = [] %}{% set _ = l.append(l) %}{{ l|string|length }}",
		"itself sorted":       "{% set l = [] %}{% set _ = l.append(l) %}{% set _ = l.append(l) %}{{ l|sort }}",
		"itself joined":       "{% set l = [] %}{% set _ = l.append(l) %}{{ l|join(',') }}",
		"itself, distinct":    "{% set l = [] %}{% set _ = l.append(l) %}{{ [l, l]|unique|list }}",

		// depth of the source
		"parentheses":      "{{ " + nest("(", "1", ")", 1_000_000) + " }}",
		"lists":            "{{ " + nest("[", "1", "]", 1_000_000) + " }}",
		"dicts":            "{{ " + nest("{'a':", "1", "}", 500_000) + " }}",
		"not":              "{{ " + strings.Repeat("not ", 900_000) + "1 }}",
		"minus":            "{{ " + strings.Repeat("-", 3_000_000) + "1 }}",
		"sum":              "{{ 1" + strings.Repeat("+1", 1_500_000) + " }}",
		"texts":            "{{ 'a'" + strings.Repeat("~'a'", 900_000) + " }}",
		"conditions":       "{{ " + strings.Repeat("1 if 1 else ", 300_000) + "2 }}",
		"attributes":       "{{ a" + strings.Repeat(".a", 1_500_000) + " }}",
		"items":            "{{ a" + strings.Repeat("[0]", 1_000_000) + " }}",
		"calls":            "{{ a" + strings.Repeat("()", 1_500_000) + " }}",
		"nested calls":     "{{ " + nest("f(", "1", ")", 1_000_000) + " }}",
		"filters":          "{{ 'a'" + strings.Repeat("|upper", 600_000) + " }}",
		"ifs":              nest("{% if 1 %}", "x", "{% endif %}", 180_000),
		"elifs":            "{% if 0 %}" + strings.Repeat("{% elif 0 %}", 300_000) + "{% endif %}",
		"fors":             nest("{% for i in [1] %}", "x", "{% endfor %}", 130_000),
		"macros":           nest("{% macro f() %}", "x", "{% endmacro %}", 120_000),
		"blocks of a set":  nest("{% set x %}", "x", "{% endset %}", 180_000),
		"without an end":   strings.Repeat("{% if 1 %}", 400_000),
		"only beginnings":  strings.Repeat("{{", 2_000_000),
		"only ends":        strings.Repeat("{% endif %}", 380_000),
		"comments":         strings.Repeat("{#", 2_000_000),
		"quotes":           "{{ " + strings.Repeat("'", 3_000_001) + " }}",
		"a large literal":  "{{ '" + strings.Repeat("x", maxFile-100) + "'*1000 }}",
		"a large number":   "{{ " + strings.Repeat("9", maxFile-100) + " }}",
		"many assignments": strings.Repeat("{% set a=1 %}", 300_000),

		// memory and time
		"a text times":        "{{ ('a'*1000000)*1000000 }}",
		"times, once":         "{{ 'a'*20000000000 }}",
		"times, overflowing":  "{{ 'abcdefgh'*9000000000000000000 }}",
		"times of a list":     "{{ [1]*10000000000 }}",
		"replace":             "{{ 'aaaa'.replace('', 'b'*1000000000) }}",
		"replace all":         a + "{{ a.replace('a', a)|length }}",
		"replace as a filter": a + "{{ a|replace('a', a)|length }}",
		"join":                a + "{{ a.join(a)|length }}",
		"join as a filter":    a + "{{ range(1000000)|join(a)|length }}",
		"format":              "{{ '%1000000000s'|format('a') }}",
		"format, %":           "{{ '%1000000000d' % 1 }}",
		"format as a method":  "{{ '{:>10000000000}'.format('a') }}",
		"center":              "{{ 'a'|center(10000000000) }}",
		"ljust":               "{{ 'a'.ljust(10000000000) }}",
		"zfill":               "{{ '1'.zfill(10000000000) }}",
		"indent":              a + "{{ (a|list|join('\n'))|indent(1000000) }}",
		"wordwrap":            a + "{{ a|wordwrap(1, wrapstring=a) }}",
		"tojson":              "{{ range(1000)|list|tojson(indent=1000000000) }}",
		"range":               "{{ range(1000000000)|length }}",
		"a range of all":      "{% for i in range(10**18) %}{% endfor %}",
		"a range back":        "{{ range(1000000000000, 0, -1)|list|length }}",
		"loops":               "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
		"a loop that writes":  "{% for i in range(100000) %}{% for j in range(100000) %}xxxxxxxxxxxxxxxxxxxx{% endfor %}{% endfor %}",
		"a loop that appends": "{% set l = [1] %}{% for i in l %}{% set _ = l.append(1) %}{% endfor %}{% for i in range(1000) %}{% for j in l %}{% set _ = l.append(l) %}{% endfor %}{% endfor %}",
		"doubling":            grow("ns.x = ns.x ~ ns.x"),
		"doubling lists":      grow("ns.l = ns.l + ns.l"),
		"doubling by join":    grow("ns.x = [ns.x, ns.x]|join"),
		"nesting":             grow("ns.l = [ns.l, ns.l]") + "{{ ns.l }}",
		"nesting as JSON":     grow("ns.l = [ns.l, ns.l]") + "{{ ns.l|tojson }}",
		"powers":              "{{ 10**10**10 }}",
		"a power of powers":   "{{ 9**9**9**9**9 }}",
		"sort":                "{{ (range(3000000)|list + range(3000000)|list)|sort|length }}",
		"sort of texts":       a + "{{ a|list|sort|join|length }}{{ (a*100)|list|sort|length }}",
		"unique":              "{{ range(3000000)|unique|list|length }}",
		"groupby":             "{% set l = [] %}{% for i in range(1000000) %}{% set _ = l.append({'k': i}) %}{% endfor %}{{ l|groupby('k')|list|length }}",
		"batch":               "{{ [1]|batch(10000000000, 0)|list }}",
		"slice":               "{{ [1]|slice(10000000000, 0)|list }}",
		"letters":             a + "{% for i in range(1000000) %}{% set x = a[i] %}{% endfor %}",
		"reversed":            a + "{% for i in range(1000000) %}{% set x = a[::-1] %}{% endfor %}",
		"splits":              a + "{% for i in range(100000) %}{% set x = a.split('a') %}{% endfor %}",
		"tests":               a + "{% for i in range(1000000) %}{% if a ~ 'b' in a ~ a %}{% endif %}{% endfor %}",
		"lists in lists":      "{% set l = range(3000)|list %}{% for i in range(1000000) %}{% if [l, i] in [l, l, l] %}{% endif %}{% endfor %}",
		"time":                "{% for i in range(100000000) %}{{ strftime_now('" + strings.Repeat("%A", 1000) + "') }}{% endfor %}",
		"select":              "{{ range(100000000)|select('odd')|list|length }}",
		"map":                 "{{ range(100000000)|map('string')|list|length }}",
	} {
		if len(template) > 10_000 && !testenv.Long() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Open(folder(t, "", template))
			if !testenv.Long() {
				p.timeout = 100 * time.Millisecond
			}
			begun := time.Now()
			text, err := p.Render([]map[string]any{{"role": "user", "content": "hi"}})
			if took := time.Since(begun); took > p.timeout+20*time.Second || len(text) > 100 {
				t.Errorf("%d bytes, %v after %v", len(text), err, took)
			}
		})
	}
}

// A chat that ends the renderer does not end the chats after it.
func TestRenderAfterRendererEnded(t *testing.T) {
	p := Open(folder(t, "", `{% macro f(x) %}{{ f(x) }}{% endmacro %}{% set c = messages[0].content %}`+
		`{% if c == 'stack' %}{{ f(1) }}{% elif c == 'memory' %}{{ ('a'*100000000)*8 }}{% elif c == 'late' %}{% for i in range(100000) %}{% for k in range(100000) %}{% endfor %}{% endfor %}{% endif %}{{ c }}`))
	for _, c := range []struct {
		content, want string
		timeout       time.Duration
	}{
		{"a", "", time.Minute},
		{"stack", "stack overflow", time.Minute},
		{"b", "", time.Minute},
		{"memory", "memory|exit status 66", time.Minute}, // 66: the race detector cannot have the memory
		{"c", "", time.Minute},
		{"late", "not done after 100ms", 100 * time.Millisecond},
		{"d", "", time.Minute},
	} {
		p.timeout = c.timeout
		text, err := p.Render([]map[string]any{{"content": c.content}})
		if (err == nil) != (c.want == "") || err == nil && text != c.content || err != nil && !regexp.MustCompile(c.want).MatchString(err.Error()) {
			t.Errorf("%s = %q, %v, want an error with %q", c.content, text, err, c.want)
		}
	}
}

// BenchmarkRender is a chat of a usual template: the way to the renderer and back is most of it.
func BenchmarkRender(b *testing.B) {
	dir := b.TempDir()
	testenv.Tree(b, dir, map[string]string{templateFile: "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}{% endfor %}"})
	p := Open(dir)
	chat := []map[string]any{{"role": "user", "content": strings.Repeat("hello ", 100)}}
	for b.Loop() {
		if _, err := p.Render(chat); err != nil {
			b.Fatal(err)
		}
	}
}
