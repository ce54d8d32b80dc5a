#!/usr/bin/python3
"""Writes exotic.json.gz: what the official grader and pylatexenc make of answers that are written in unusual ways.

Called with the folder of openai/prm800k at 7ecc794, whose grader needs sympy and pylatexenc: Debian's python3-sympy
(1.11.1; 1.14.0 judges the same) and python3-pylatexenc (2.10). Python is 3.12 or newer where a whole number begins with a zero:
the older ones read 007 as 00 times 7.
"""
import gzip
import json
import os
import random
import sys

import prm800k

here = os.path.dirname(os.path.abspath(__file__))
grader = prm800k.load(sys.argv[1])

ANSWERS = [
r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", r"\begin{bmatrix} 1 \\ 2 \end{bmatrix}",
 r"\left( \frac{1}{2}, -3 \right)", r"\left(\tfrac12,-3\right)", r"\begin{pmatrix} \tfrac12 \\ 2 \end{pmatrix}", r"\begin{pmatrix} 1/2 \\ 2 \end{pmatrix}", r"\begin{pmatrix} 0.5 \\ 2 \end{pmatrix}",
 r"\tfrac12", r"\tfrac 12", r"\tfrac{1}2", r"\frac1{2}", "1/2", "0.5", ".5", "0.50", "5e-1", "2^{-1}", "2^-1", "x^1.0", "x", "x^1", "x^{1}", "(x)^1.0", "x**1", "x*1.0", "1.0x", "1x", "x/1", "x^0", "1", "x^2/x",
 r"2\sqrt{3}", r"\sqrt{12}", r"12^{1/2}", r"12^(1/2)", r"\sqrt{3}\cdot2", r"\sqrt[3]{8}", r"\sqrt[3]{2}", r"2^{1/3}", r"\sqrt{8}", r"\sqrt8", "sqrt8","sqrt(8)","2sqrt2", "2sqrt(2)", r"2 \sqrt 2",
 r"\sin(x)", r"\sin x", "sin(x)", "sinx", r"\cos(\pi)", "-1", r"\log(2)", r"\ln 2", "ln(2)", "log(2)", r"\log_2 3", r"\log_{2}3", r"e^x", "exp(x)", r"e^{x}", "e", "E", "2.718281828459045", r"i^2", "I", "i", "I*I", "-i^2",
 r"\infty", "oo", "inf", r"-\infty", "infinity", "nan", "zoo", "1/0", "0/0", "2/0", r"\frac{1}{0}",
 r"x \in [1,2]", r"[1,2]", r"[1, 2]", r"(1,2)\cup(3,4)", r"(1, 2) \cup (3, 4)", r"\{1,2\}", r"\{2,1\}", r"1,2", r"2,1", r"1 and 2", r"1\text{ and }2", r"1 \text{ or } 2", r"1 or 2",
 r"50\%", "50", r"0.5", r"\$50", "50 dollars", r"50\text{ dollars}", r"50^\circ", r"50^{\circ}", "50 degrees", r"50 \text{ degrees}", r"50\,000", "50,000", "50000", r"50{,}000", "5e4", "5*10^4", r"5 \times 10^4", r"5\times10^{4}",
 r"\text{even}", "even", r"\textbf{even}", r"\mathrm{even}", r"\text{Even}", r"\mbox{even}", r"\text{(B)}", "(B)", "B", r"\textbf{(B)}", r"\boxed{2}", "2",
 "6-5i", "6 - 5i", "-5i+6", "6-5j", r"x^3+3x-6", "x^3 + 3x - 6", "3x+x^3-6", r"3x + x^{3} - 6", r"(x-1)(x+2)", "x^2+x-2", r"(x+2)(x-1)", r"x(x+1)-2",
 r"\frac{3}{4}\pi", r"\frac{3\pi}{4}", "3pi/4", r"0.75\pi", r"\frac{3}{4} \pi", "3*pi/4", "pi*3/4", "135", r"\pi^2", "pi**2", r"\pi \pi",
 "y=2x+3", "y = 2x + 3", "2x+3", "y=3+2x", "5!", "120", "|x|", "abs(x)", r"|x|", r"\lfloor x \rfloor", "floor(x)", "n!", "binomial(5,2)", r"\binom{5}{2}", "10", "C(5,2)",
 "1:2", "2:4", "1;2", "3'", "x'", "7_8", "10_2", r"11110_2", "11110", r"2516_8", "0x10", "16", "1_000", "1000", "٣", "3", "１", "²", "x²", "x^2", "½", "1/2", "−1", "-1", "–1", "1−x",
 "True", "False", "None", "S", "N", "Q", "O", "beta", "gamma", "zeta", "pi", "lambda", "x.y", "x.1", "1.x", "1..x", "1e5", "1e400", "1E5", "e5", "2e", "2e3x", "()", "(1)", "((1))", "[1]", "[x]", "[1,2)", "x,y", "(x,y)", "(y,x)", "{1}", "{x}", "x=1", "1=x","x<1", "x>1", "x<=1", "x \\le 1", "x \\leq 1", "1 > x", "x:1", "~x", "!x", "x!", "x%2", "x//2", "1//2", "x@y", "'x'", '"x"', "x#1", "x\\", "", " ", "\\", "{}", "$", "$1$", "1 2", "12", "1 2/3", "5/3", "1+2/3", r"1\frac23", r"1\frac{2}{3}", r"\frac53", "3.0", "3.", "3.00000001", "2.9999999999", "3.0000001", "1/3", "0.3333333333333333", "0.33", r"0.\overline{3}", r"\frac{1}{3}", r"\overline{AB}", "AB", "BA", r"\angle ABC", r"\triangle ABC",
 "007", "7", "07", "0", "-0", "+0", "00", "0.0", "-0.0", "+7", "--7", "7-", "7+", "*7", "7*", "/7", "7^", "^7", "7 ^ 2", "49", "7**2", "7²",
]
MACROS = ["frac", "sqrt", "pi", "text", "mathbf", "cdot", "left", "right", "infty", "tfrac", "dfrac", "circ", "\\", "cup", "mathrm", "overline", "hat", "operatorname", "{", "}", ",", "!", "le", "boxed", "ne",
          "not", "quad", "binom", "mathbb", "begin", "end", "vec", "ldots", "^", "'", "footnote", "ket", "textcolor", "int", "spadesuit", "mathcal"]
ENVIRONMENTS = ["pmatrix", "bmatrix", "cases", "array", "vmatrix", "matrix", "Bmatrix"]
rng = random.Random(7)


def latex(depth=0):
    kind = rng.random()
    if kind < .25 or depth > 3:
        return rng.choice(["x", "y", "12", "3", " ", "  ", "+", "-", "--", "(", ")", "[", "]", ",", "'", "''", "~", "&", "é", "^2", "_1", "=", "!", "`", "*", "1 2", "7 "])
    if kind < .6:
        name = "\\" + rng.choice(MACROS) + rng.choice(["", " ", "  "])
        return name + rng.choice(["", "{%s}" % latex(depth + 1), "{%s}{%s}" % (latex(depth + 1), latex(depth + 1)), "[%s]{%s}" % (latex(depth + 1), latex(depth + 1)), latex(depth + 1), "*"])
    if kind < .75:
        return "{" + latex(depth + 1) + rng.choice(["}", "}", "}", ""])
    if kind < .85:
        name = rng.choice(ENVIRONMENTS)
        cells = "".join(rng.choice([latex(depth + 1), "&", "\\\\", " & ", "\\\\ "]) for _ in range(rng.randrange(6)))
        return "\\begin{%s}%s%s" % (name, cells, rng.choice(["\\end{%s}" % name] * 5 + [""]))
    return latex(depth + 1) + latex(depth + 1)


def expression(depth=0):
    if depth > 1 or rng.random() < .3:
        return rng.choice([rng.choice("xy"), str(rng.randrange(1, 30)), rng.choice(["0.5", "1.5", ".25", "2.0", "0.1"]), "\\pi", "\\sqrt{%d}" % rng.randrange(2, 60), "\\sqrt%d" % rng.randrange(2, 9), "\\frac{%d}{%d}" % (rng.randrange(1, 30), rng.randrange(2, 30)),
                           "\\tfrac%d%d" % (rng.randrange(1, 9), rng.randrange(2, 9))])
    form = rng.choice(["%s+%s", "%s-%s", "%s*%s", "%s\\cdot %s", "(%s)(%s)", "(%s)/(%s)", "%s/%s", "\\frac{%s}{%s}", "%s(%s)", "\\sqrt{%s+%s}", "(%s)^2+%s", "(%s)^1.0*%s", "%s^.5+%s", "-%s-%s", "%s%s", "%s %s"])
    return form % (expression(depth + 1), expression(depth + 1))


def varied(s):
    return rng.choice([s, "(%s)" % s, s + "+0", s + "*1", "1.0*(%s)" % s, "(%s)^1" % s, "(%s)^1.0" % s, "(%s)+x-x" % s, "x*(%s)/x" % s, "\\frac{2(%s)}{2}" % s, "0.5(%s)+0.5(%s)" % (s, s), s.replace("x", "y"), s.replace("0.5", "1/2"), s.replace("+", "-"),
                       s.replace("1.5", "\\frac32"), "(\\sqrt{%s})^2" % s, "2(%s)-(%s)" % (s, s), "--(%s)" % s, "\\left(%s\\right)" % s, s.replace("\\sqrt", "sqrt")])


def text(written):
    try:
        return grader._parse_latex(written)
    except Exception:
        return None


answers = list(dict.fromkeys(ANSWERS))
pairs = [(a, b) for i, a in enumerate(answers) for b in answers[i + 1:i + 5]]
pairs += [pair for a in answers for pair in [(a, "(%s)" % a), ("(%s)" % a, a), (a, a + "^1.0"), ("(%s)^1" % a, a), ("0+" + a, a), (a + ".0", a), (a, a + "*1")]]
for _ in range(600):
    a = expression()
    pairs.append(rng.choice([(a, varied(a)), (varied(a), a), ("(1,%s)" % a, "(1,%s)" % varied(a))]))
texts = [latex() for _ in range(800)]
found = {
    "pairs": [[a, b, same] for a, b in pairs if (same := prm800k.grade(grader, 5, a, b)) is not None and "007" not in a + b],
    "texts": [[t, text(t)] for t in texts if "$" not in t and "%" not in t],
}
with gzip.GzipFile(here + "/exotic.json.gz", "wb", mtime=0) as f:
    f.write(json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode())
