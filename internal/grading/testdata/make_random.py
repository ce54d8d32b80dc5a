#!/usr/bin/env python3
"""Writes random.json.gz: what the official grader makes of random answers, as models write them and odd ones.

    python3 make_random.py PRM800K [SEED COUNT FILE.json.gz]

Called with the folder of openai/prm800k at 7ecc794, whose grader needs sympy (1.14.0) and pylatexenc (2.10), by Python 3.12 or newer:
the older ones read 0x as 0 times x, and 007 as 00 times 7. Characters that are no letters, which are names from 3.12 on and errors before,
are left out. With another seed, number and file, and RANDOM_ANSWERS set to that file for
the test of the package, any number of other pairs is compared.
"""
import gzip
import json
import os
import random
import re
import sys

import prm800k

here = os.path.dirname(os.path.abspath(__file__))
seed, count, target = (int(sys.argv[2]), int(sys.argv[3]), os.path.abspath(sys.argv[4])) if len(sys.argv) > 2 else (5, 900, here + "/random.json.gz")
grader = prm800k.load(sys.argv[1])

rng = random.Random(seed)
pick = rng.choice
LETTERS = ["x", "x", "x", "y", "a", "n", "t", r"\theta", "i", "e", "k", r"\pi", "pi", r"\alpha"]


def number():
    return pick([str(rng.randrange(40)), str(rng.randrange(1, 12)), str(rng.randrange(2000)), pick(["0.5", "1.5", ".25", "2.0", "0.1", "0", "1", "3.14", "0.333", "1.414", "2.50", "0.75", "1.0", "-1", "100", "12.5", "0.05", "1.732", "3.1416", "6.28", "33.3"])])


def fraction():
    return pick([r"\frac{%s}{%s}", r"\dfrac{%s}{%s}", "%s/%s", r"\tfrac{%s}{%s}", "%s / %s"]) % (number(), number())


class Plausible:
    """Answers as models write them."""
    FORMS = ["%s+%s", "%s-%s", "%s + %s", "%s - %s", "%s(%s)", "(%s)(%s)", "%s*%s", r"%s\cdot %s", r"\frac{%s}{%s}", "(%s)/(%s)", "%s/%s", "-%s+%s", "(%s)^2%s", r"%s\times %s", r"\left(%s\right)\left(%s\right)"]
    DEPTH = 2

    def __init__(self):
        self.letters = [pick(LETTERS), pick(LETTERS)]

    def letter(self):
        return pick(self.letters)

    def root(self):
        return pick([r"\sqrt{%s}" % number(), r"\sqrt{%s}" % fraction(), r"\sqrt{%s+%s}" % (number(), number()), r"\sqrt{%s-%s}" % (number(), self.letter()), r"\sqrt{%s}" % self.letter(), r"%s\sqrt{%s}" % (number(), number()),
                     r"\sqrt{%s + %s\sqrt{%s}}" % (number(), number(), number()), r"\sqrt[3]{%s}" % number()])

    def atom(self):
        kind = rng.random()
        if kind < .25:
            return number()
        if kind < .5:
            return self.letter()
        if kind < .65:
            return fraction()
        if kind < .8:
            return self.root()
        if kind < .9:
            return number() + self.letter()
        return "%s^%s" % (self.letter(), pick(["2", "3", "4", "1", "{2}", "{10}", "-1", "{-1}", "{1/2}"]))

    def expression(self, depth=0):
        if depth > self.DEPTH or rng.random() < .3:
            return self.atom()
        return pick(self.FORMS) % (self.expression(depth + 1), self.expression(depth + 1))

    def ways(self, s):
        a, b = number(), self.letter()
        return [s, "(%s)" % s, " %s " % s, s.replace("x", "y"), s.replace("+", "-"), s.replace("2", "3", 1), s.replace("frac", "dfrac"), s.replace(r"\cdot ", "*"), "+".join(reversed(s.split("+"))), s + "+0", s + "^1", "%s=%s" % (b, s),
                r"\frac{2(%s)}{2}" % s, "2(%s)-(%s)" % (s, s), "-(-(%s))" % s, r"\frac{%s}{1}" % s, s + r"\text{ units}", s + r"^\circ", s + r"\%", r"\text{%s}" % s, r"\$" + s, s + " cm", s.replace("0.5", r"\frac12"), s.replace(r"\frac12", "0.5"),
                re.sub(r"\b(\d+)\.5\b", lambda m: r"\frac{%d}{2}" % (2 * int(m[1]) + 1), s), re.sub(r"\\sqrt\{(\d+)\}", lambda m: "%.4f" % int(m[1])**.5, s), re.sub(r"\b(\d+)\^2", lambda m: str(int(m[1])**2), s), s.replace(r"\pi", "3.14"),
                re.sub(r"\\[dt]?frac\{(\d+)\}\{([1-9]\d*)\}", lambda m: "%.6g" % (int(m[1]) / int(m[2])), s), re.sub(r"\\[dt]?frac\{(\d+)\}\{(\d+)\}", r"\1/\2", s), re.sub(r"\\sqrt\{(\d+)\}", r"\\sqrt\1", s), r"%s \approx %s" % (s, a),
                re.sub(r"(\d)(\d{3})\b", r"\1,\2", s), re.sub(r"\(([^()]*)\)\(([^()]*)\)", r"(\2)(\1)", s), "%s, %s" % (s, a), r"%s \text{ or } %s" % (a, s)]

    def varied(self, s):
        for _ in range(rng.randrange(3)):
            s = pick(self.ways(s))
        return s

    def pair(self):
        s = self.expression()
        a, b = pick([(s, self.varied(s)), (self.varied(s), s), (self.varied(s), self.varied(s))])
        if rng.random() < .15:
            form = pick(["(%s,1)", "[%s, 2)", r"\left(%s, 3\right)", r"(%s,\infty)", r"\{%s,4\}", r"\begin{pmatrix}%s\\1\end{pmatrix}"])
            return form % a, form % b
        return a, b


class Odd(Plausible):
    """Answers that nobody should write: floors, zeros that are rounded, products with 0, roots of rounded sums."""
    FORMS = Plausible.FORMS + ["%s//%s", "%s+0.0*%s", "0*(%s)+%s", "(%s)!+%s", r"\sqrt{%s}%s"]

    def ways(self, s):
        return super().ways(s) + [s + "+0.0", "0.0+" + s, s + "-0.0", s + "+0*x", s + "*1.0", "1.0*(%s)" % s, "(%s)+x-x" % s, "x*(%s)/x" % s, "0.5(%s)+0.5(%s)" % (s, s), "0.1(%s)+0.9(%s)" % (s, s), "(%s)/3*3" % s, "(%s)/3.0*3" % s,
                                  r"(\sqrt{%s})^2" % s, r"\sqrt{(%s)^2}" % s, "(%s)^1.0" % s, "(%s)^2/(%s)" % (s, s), s + "+0//x", "(%s)//1" % s, "0.0*x+(%s)" % s, "(%s)+1e-20" % s, "(%s)+1-1.0" % s, "(%s)+0.1-0.1" % s]


def grade(said, wanted):
    if any(c > "\x7f" and not c.isalpha() for c in grader._normalize(said) + grader._normalize(wanted)):
        return None
    return prm800k.grade(grader, 8, said, wanted)


def pairs(kind):
    all = [kind().pair() for _ in range(count)]
    return [[a, b, same] for a, b in all if (same := grade(a, b)) is not None]


with gzip.GzipFile(target, "wb", mtime=0) as f:
    f.write(json.dumps({"plausible": pairs(Plausible), "odd": pairs(Odd)}, ensure_ascii=False, separators=(",", ":")).encode())
