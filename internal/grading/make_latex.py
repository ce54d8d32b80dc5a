#!/usr/bin/python3
"""Writes latex.txt: which arguments macros and environments of LaTeX have, and what text they become.

Needs pylatexenc 2.10 (Debian's python3-pylatexenc), whose tables these are. A line is one of

    macro <tab> name <tab> arguments <tab> kind <tab> text
    environment <tab> name <tab> arguments <tab> kind
    style <tab> name <tab> its letters from A to Z and a to z

separated by tabs. Arguments: "{" one that has to be there, "[" one in brackets, "]" one in brackets
without a space before it, "*" a star. Kinds of macros: "text" becomes
the text (in which %s are all arguments in turn, and %(2)s is the second one); "join" its arguments; "style" its argument in a
style; "accent" its argument, a character after each of whose characters is the text. Kinds of environments: "plain",
"matrix", "equation", "lines" (on lines of its own). What prints documents rather than formulas (\\section and the like) becomes nothing.
"""
import os

from pylatexenc import latex2text, latexwalker
from pylatexenc.latex2text import _defaultspecs, fmt_equation_environment, fmt_matrix_environment_node, fmt_math_text_style

STYLES = {"mathbf": "bold", "mathit": "italic", "mathsf": "sans", "mathbb": "doublestruck", "mathtt": "monospace", "mathcal": "script", "mathscr": "script", "mathfrak": "fraktur"}
LETTERS = "".join(map(chr, [*range(65, 91), *range(97, 123)]))


def style_of(spec):
    return spec.simplify_repl.__defaults__[0]


accents = dict(_defaultspecs.unicode_accents_list)
texts = latex2text.get_default_latex_context_db()
walker = latexwalker.get_default_latex_context_db()


def arguments(spec):
    parser = spec.args_parser
    kinds = getattr(parser, "argspec", None) or ""
    return kinds.replace("[", "]") if getattr(parser, "optional_arg_no_space", False) else kinds


def escaped(text):
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")


def macro(name):
    known, spec = walker.get_macro_spec(name), texts.get_macro_spec(name)
    row = [name, arguments(known) if known is not None and known.macroname else ""]
    if spec is None or name == "verb" or name == "today":
        return row + ["text", ""]
    if name in accents:
        return row + ["accent", accents[name]]
    if name in STYLES:
        assert style_of(spec) == STYLES[name], name
        return row + ["style", STYLES[name]]
    if name == "%":
        return row + ["text", "%"]
    if name == "not":
        return row + ["accent", "\u0338"]
    if callable(spec.simplify_repl):
        return row + ["text", ""]
    if spec.simplify_repl:
        return row + ["text", escaped(spec.simplify_repl)]
    return row + ["text", ""] if spec.discard else row + ["join", ""]


def environment(name):
    known, spec = walker.get_environment_spec(name), texts.get_environment_spec(name)
    row = [name, arguments(known) if known is not None and known.environmentname else ""]
    repl = spec.simplify_repl if spec is not None else ""
    kind = {fmt_matrix_environment_node: "matrix", fmt_equation_environment: "equation"}.get(repl) or ("lines" if repl else "plain")
    return row + [kind]


names = {m.macroname for db in (texts, walker) for m in db.iter_macro_specs() if m.macroname}
environments = {e.environmentname for db in (texts, walker) for e in db.iter_environment_specs() if e.environmentname}
rows = [["macro", *macro(n)] for n in sorted(names)]
rows = [r for r in rows if r[2:] != ["", "text", ""]]
rows += [r for r in (["environment", *environment(n)] for n in sorted(environments)) if r[2:] != ["", "plain"]]
rows += [["style", s, fmt_math_text_style(LETTERS, s)] for s in sorted(set(STYLES.values()))]
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "latex.txt"), "w", encoding="utf-8") as f:
    f.writelines("\t".join(r).rstrip("\t") + "\n" for r in rows)
