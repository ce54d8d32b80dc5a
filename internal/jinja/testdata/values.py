"""Random templates about values: formats, filters of lists and texts, ranges and views of dicts. For render.py."""

NUMBERS = ["1", "-1", "0", "5", "25", "-1234567", "true", "1.5", "-2.5", "0.0", "-0.0", "3.14159", "1e10", "1.5e-7", "123456.789", "1e300", "99999.5", "0.1", "100.0", "1e16", "12345678.9", "65", "1e22", "0.0001"]
FORMATTED = NUMBERS + ["'abc'", "''", "'é'", "none", "[1, 'a']", "{'a': 1}", "('x', 'y')"]
FIELDS = ["{}", "{0}", "{1}", "{a}", "{0.a}", "{0[a]}", "{0[0]}", "{0[1]}", "{a[x]}", "{!r}", "{!s:>5}", "{!a}", "{0!r:5}", "{:{w}}", "{:>{w}.{p}}", "{{", "}}", "{", "}", "{:}}", "{a!}", "{a!x}", "{0.a.b}", "{0[a][b]}",
          "{.a}", "{ }", "{a:}", "{0[a:b]}", "{0[!]}", "x", "é", "{:{:{:{}}}}", "{-1}", "{a }", "{b:%Y}", "{a[]}", "{a.}", "{a[0]x}", "{00}", "{!r"]
ELEMENTS = ["[3, 1, 2]", "['b', 'A', 'c', 'a']", "(1, 2)", "messages", "{'b': 1, 'a': 2}", "'héb a'", "range(4)", "range(5, 0, -2)", "[]", "{}", "''", "nope", "[[1, 2], [3, 4]]", "{'b': 1, 'a': 2}.items()",
            "{'b': 1, 'a': 2}.keys()", "{'b': 1}.values()", "5", "none", "[1, 'a', none, 2.5]", "[{'a': 1, 'b': 'x'}, {'a': 2}, {'a': 1, 'b': 'Y'}]", "['a b', 'c']", "range(0)"]
FILTERS = ["map('upper')", "map('string')", "map(attribute='a')", "map(attribute='a', default=7)", "map(attribute='content.0')", "map(attribute='a.b', default=none)", "map('default', 3)", "map('nofilter')", "map", "select",
           "reject", "select('odd')", "select('in', [1, 'a'])", "reject('none')", "selectattr('a')", "selectattr('a', 'eq', 1)", "rejectattr('role', 'equalto', 'user')", "selectattr", "select('notest')", "unique",
           "unique(attribute='a')", "unique(true)", "reverse", "reverse", "batch(2)", "batch(2, '-')", "batch(3, none)", "slice(2)", "slice(3, 0)", "slice(0)", "slice", "batch", "batch(0)", "batch(-1, 5)", "items", "list", "list",
           "first", "last", "length", "count", "join(',')", "join('-', attribute='a')", "sort", "sort(attribute='a')", "sort(reverse=true)", "sort(attribute='a,b')", "sum", "sum(attribute='a')", "sum(start=5)", "min", "max",
           "max(attribute='a')", "tojson", "string", "dictsort", "groupby('a')", "groupby('a', default=0)", "groupby('b', default='y')", "groupby('b', default='y', case_sensitive=true)", "groupby(0)", "groupby('role')",
           "center(9)", "wordcount", "truncate(5)", "truncate(3, true)", "truncate(2)", "striptags", "urlencode", "xmlattr", "filesizeformat", "attr('a')", "forceescape", "upper", "title", "indent", "abs", "int", "trim"]
ENDS = ["", "", "|list", "|list", "|list", "|first", "|last", "|length", "|join('+')", "[0]", "[-1]", " is sequence", " is iterable", " is mapping", " is callable", "|tojson", " == [1]", " in [1]"]
TEXTS = ["'a b c'", "'Hello World foo'", "'<b>x</b> <!-- c --> y &amp; z'", "''", "'é ß'", "'a\\tb\\n\\tc'", "'-42'", "'+7'", "'x'", "'ab/c d?e=é&~_.-'", "'Hello'", "'HELLO wORLD'", "'1.5'", "5", "1.5", "none", "1000", "999", "1e6",
         "123456789", "1", "0", "1e30", "1023.5", "1048576", "true", "nope", "{'a': 'x y', 'b': none, 'c': 1, 'd': nope}", "{'a b': 1}", "[('a', 'b c'), ('d', 1)]", "'<a <b> c>'", "'<!<!-- x -->-- y -->'", "'foo bar baz ' * 9", "'&lt;&#39;&copy'"]
LAYOUTS = ["|center(%d)", "|truncate(%d)", "|truncate(%d, true)", "|truncate(%d, leeway=0)", "|truncate(%d, end='')", "|wordcount", "|striptags", "|urlencode", "|xmlattr", "|xmlattr(false)", "|filesizeformat", "|filesizeformat(true)",
           ".center(%d)", ".center(%d, '*')", ".ljust(%d, 'é')", ".rjust(%d)", ".zfill(%d)", ".expandtabs()", ".expandtabs(%d)", ".istitle()", ".isprintable()", "|forceescape", ".zfill()", ".center('a')", ".center(3, 'ab')"]


def spec(r):
    def maybe(share, of):
        return r.choice(of) if r.random() < share else ""
    place = maybe(.4, "<>^=")
    return ((maybe(.4, "*0x é<") if place else "") + place + maybe(.25, "+- ") + maybe(.1, "z") + maybe(.2, "#") + maybe(.25, "0") + maybe(.5, ["0", "1", "3", "5", "8", "10", "12", "20"]) + maybe(.25, ",_")
            + maybe(.4, [".0", ".1", ".2", ".3", ".5", ".8", ".17"]) + maybe(.7, "sdbcoxXneEfFgG%dfgsdfgs") + maybe(.01, "q"))


def sign(r):
    return ("%" + ("(%s)" % r.choice("ab") if r.random() < .1 else "") + "".join(r.choice("-+ #0") for _ in range(r.randrange(3))) + r.choice(["", "", "", "1", "5", "10", "*", "20"])
            + r.choice(["", "", "", ".0", ".1", ".2", ".5", ".", ".*", ".10"]) + r.choice("sssdddiuoxXeEfFfgGgcra" + ("%lq" if r.random() < .1 else "")))


def formats(r):
    return "{{ '[{:%s}]'.format(%s) }}" % (spec(r), r.choice(FORMATTED))


def fields(r):
    arguments = [r.choice(FORMATTED + ["{'a': {'b': 2}}", "{'a:b': 3, '!': 4}"]) for _ in range(r.randrange(4))] + ["a=" + r.choice(FORMATTED + ["{'x': 3}"]), "w=7", "p=2"]
    return "{{ '%s'.format(%s) }}" % ("".join(r.choice(FIELDS) for _ in range(r.choice([1, 1, 2, 3]))), ", ".join(arguments))


def signs(r):
    text = " ".join(sign(r) for _ in range(r.choice([1, 1, 1, 2])))
    values = r.choice([r.choice(FORMATTED), "(%s,)" % ", ".join(r.choice(FORMATTED) for _ in range(r.choice([1, 1, 2, 3]))), "{'a': %s, 'b': %s}" % (r.choice(FORMATTED), r.choice(FORMATTED)), "nope"])
    return r.choice(["{{ '[%s]' %% %s }}", "{{ '[%s]' | format(%s) }}"]) % (text, values)


def elements(r):
    of = r.choice(ELEMENTS)
    all = of + "".join("|" + r.choice(FILTERS) for _ in range(r.choice([1, 1, 2, 3])))
    return r.choice([
        "{{ (%s)%s }}" % (all, r.choice(ENDS)),
        "{{ (%s)%s }}" % (all, r.choice(ENDS)),
        "{%% set g = %s %%}{{ g|first }}{{ g|list }}{{ g|list }}" % all,
        "{%% set g = %s %%}{%% if g %%}y{%% else %%}n{%% endif %%}{{ g is defined }}{{ g == g }}{{ 1 in g }}{{ 'a' not in g }}" % all,
        "{%% for x in %s %%}{{ loop.index }}{{ loop.length }}{{ loop.last }}{{ x }};{%% else %%}none{%% endfor %%}" % all,
        "{%% for x, y in %s %%}{{ x }}={{ y }};{%% endfor %%}" % all,
        "{%% for x in (%s)|groupby('a') %%}{{ x.grouper }}{{ x.list|length }}{{ x[0] }}{{ x }}{%% endfor %%}" % of,
        "{{ %s %s %s }}" % (of, r.choice(["==", "!=", "<", "+", "in", "*", "~", "and", "or"]), r.choice(ELEMENTS + ["2"])),
        "{%% macro f() %%}{{ varargs }}{{ kwargs }}{%% endmacro %%}{{ f(*%s) }}{{ dict(%s) }}" % (all, of),
    ])


def places(r):
    of = r.choice(["range(%d, %d, %d)" % (r.randrange(-5, 9), r.randrange(-5, 9), r.choice([-3, -2, -1, 1, 2, 4])), "{'b': 1, 'a': 2}.%s()" % r.choice(["keys", "values", "items"]), "('a', 'b')"])
    return "{{ %s%s }}" % (of, r.choice(["", "[1]", "[-1]", "[::2]", "[1:]", "[::-1]", "[-3:2]", "|list", "[::-2]|list", "[1:3]|list", "[2:0:-1]|list", "|length", "|last", "|first", "|reverse|list", " == range(3)",
                                         " == {'a': 2, 'b': 1}.keys()", " == {'a': 2, 'b': 1}.items()", "|sum", " is sequence", " is iterable", ".start", ".stop", ".index(1)", ".count(2)", "|tojson", "|string", " ~ 1", "|max", " in [1]", "*2"]))


def layouts(r):
    how = r.choice(LAYOUTS)
    return "{{ (%s)%s }}|" % (r.choice(TEXTS), how % r.choice([0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 20, -3]) if "%d" in how else how)


KINDS = [formats, fields, signs, elements, elements, places, layouts]


def template(r):
    return r.choice(KINDS)(r)
