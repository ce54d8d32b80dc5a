#!/usr/bin/python3
"""Writes grading.json: what the official scripts make of answers.

Called with two folders: mlcommons/inference at b66003e1 and openai/prm800k at 7ecc794 (whose grader
needs sympy and pylatexenc: Debian's python3-sympy and python3-pylatexenc).
"""
import json
import os
import random
import signal
import sys

from official import load

inference, prm800k = sys.argv[1:]
deep, oss = load(inference, "deepseek-r1"), load(inference, "gpt-oss-120b")
sys.path.insert(0, prm800k + "/prm800k")
from grading.grader import grade_answer  # noqa: E402

TEXTS = [
    "", "so ANSWER: B", "Answer: (c) is right.", "ANSWER: A\nbut FINAL ANSWER = D.", "ANSWER: E", "ANSWERED: B", "XANSWER: B", "答案ANSWER: B",
    "ANSWER B2", "ANSWER Bee", "it is I, not (h)", "['Answer: D']", '["FINAL  ANSWER:\\nC"]', "**B** because", "(b)", "FINAL\u00a0ANSWER: a", "Answer: d\n\n",
    "<|channel|>analysis<|message|>Answer: A<|end|><|channel|>final<|message|>**Answer: C**<|return|>", "<|channel|>final 明<|message|>D",
    "ANSWER: A ANSWER: B", "answer:b)", "The ANSWER is B", "ANSWER:\n\n(  C  )", "ANSWER: J", "ANSWER: éB", "ANSWER: Bé", "I", "Éa J",
    r"\boxed{1} then \boxed{ \frac{1}{2} }", r"\boxed{25}", r"\boxed{ 025 }", r"\boxed{1000}", r"\boxed{1", "Answer: 7. Answer: 8", "Answer: 7.5", "Answer: 7b",
    "answer: 12\nAnswer: 13", "Answer: 77é", r"\boxed{\boxed{3}}", r"\boxed{12} and Answer: 13", r"\boxed{ 999}",
    "ANSWER: ı", "F\u0131NAL ANSWER = (d)", "ANSWERı", "ANSWER: Bı", "ıB", "(ı)", "ANSWER: İ", "Answer(b", "ANSWERb", "ANSWER:b",
]
PAIRS = [
    ("1", "1"), ("1.0", "1"), ("0.5", r"\frac{1}{2}"), ("1/2", r"\frac12"), (r"\frac{2}{4}", r"\frac{1}{2}"), (r"\dfrac{3}{4}", r"\frac34"), (r"7\frac{3}{4}", r"\frac{31}{4}"),
    ("7 3/4", "31/4"), ("x+1", "1+x"), ("2x", "x*2"), ("2(x+1)", "2x+2"), (r"\sqrt{12}", r"2\sqrt{3}"), (r"\sqrt2", r"\sqrt{2}"), (r"2\sqrt{3}", r"3\sqrt{2}"),
    ("(1,2)", "(1, 2)"), ("(1,2]", "(1,2)"), ("(2,1)", "(1,2)"), ("[1,2]", "(1,2)"), ("1,000", "1000"), ("1,000,000", "1000000"), ("(1,000,2)", "(1000,2)"), ("1,00", "100"),
    (r"90^\circ", "90"), (r"90^{\circ}", "90"), ("90 degrees", "90"), ("5 cm", "5"), (r"5\text{ cm}", "5"), ("5 cm^2", "5"), (r"\$5", "5"), (r"50\%", "50"), ("50%", "0.5"),
    (r"\text{Evelyn}", "evelyn"), (r"\text{(A)}", "(A)"), ("k=5", "5"), ("x = 5", "5"), ("abc=5", "5"), (r"\pi", "pi"), (r"2\pi", r"\pi*2"), (r"\frac{\pi}{2}", r"0.5\pi"),
    (r"\left(\frac12, 3\right)", r"(\frac{1}{2},3)"), (r"x\in[1,2]", "[1,2]"), ("3 or 4", "3,4"), ("3 and 4", "3, 4"), ("-1", "- 1"), ("--1", "1"), ("3 million", "3000000"), ("x^2", "x*x"),
    ("x^{2}", "x^2"), ("x^10", "x^{10}"), ("(x+1)^2", "x^2+2x+1"), ("x^2-y^2", "(x+y)(x-y)"), ("a+b+c", "c+b+a"), ("xy", "yx"), ("x y", "y x"), ("2^3", "8"), ("8", "2^3"), ("0.333", r"\frac{1}{3}"),
    (r"\infty", "inf"), (r"(-\infty, 3)", "(-inf,3)"), (r"[2,3)\cup(4,5]", r"[2,3) \cup (4,5]"), (r"10\!000", "10000"), (r"10,\!000", "10000"), ("1e3", "1000"), (" 12 ", "12"), ("12.", "12"),
    (".5", "0.5"), ("-.5", "-0.5"), (r"\frac{1}{\sqrt{2}}", r"\frac{\sqrt{2}}{2}"), (r"\frac{1}{x}", "1/x"), (r"\frac{x+1}{2}", "(x+1)/2"), (r"\frac{x+1}{2}", "x/2+1/2"), ("1/0", "1/0"), ("0/1", "0"),
    (r"\{1,2\}", r"\{2,1\}"), (r"\{1,2\}", "{1,2}"), ("", "1"), ("1", "2"), ("i", "-i"), ("2i+3", "3+2i"), (r"\mathbf{3}", "3"), (r"\mbox{odd}", r"\text{odd}"), (r"3\cdot 4", "12"), (r"3\times4", "3*4"),
    (r"\tfrac12", r"\frac{1}{2}"), ("1/3", "2/6"), ("\\frac{3}{1}", "3"), (r"\sqrt[3]{8}", "2"), (r"5\sqrt{2}\text{ units}", r"5\sqrt{2}"), ("12 inches", "12"), ("12inch", "12 feet"), ("sqrt(2)", r"\sqrt{2}"),
    ("x=2", "y=2"), ("(3,4)", "3,4"), ("2,3", "(2,3)"), ("1:2", "1/2"), ("10^6", "1000000"), ("3*10^6", "3 million"), (r"\frac{1}{2}x", "x/2"), ("p-q", "-(q-p)"), (r"4x^3", "4*x**3"), ("(5)", "5"), ("-5", "5"),
    (r"(\theta)", r"\theta"), (r"(2\theta)", r"\theta+\theta"), (r"\frac{\alpha}{2}", r"\frac{\beta}{2}"), ("7", "(007)"), ("(00)", "(0)"), ("(0.07)", "(.07)"), ("()", "(1)"), ("(1,)", "(1,2)"),
    ("1/-2", "-1/2"), (r"\frac{}{2}", "0"), (r"\sqrt", "1"), (r"\frac1", r"\frac1"), (r"5\text{ a}\text{ b}", "5"), ("=5", "5"), ("x==5", "5"), ("x+", "x"), ("(x", "x"), ("1..2", "1.2"),
    ("0.99999999", "1"), ("0.9999", "1"), ("1,00,000", "100000"), (r"\sqrt{x}", r"\sqrt{-x}"), ("1/0", "2/0"), ("x-x", "0"), ("x/x", "1"), ("(x+y)/2", "x/2+y/2"), ("--x", "x"), ("+5", "5"), ("-x", "+-x"),
]
MARKS = ["ANSWER", "Answer", "answer", "FINAL", "FINAL ANSWER", "Final Answer", ":", "=", ".", "(", ")", " ", "  ", "\n", "\u00a0", "\u200b", "A", "B", "C", "D", "E", "I", "J", "a", "b", "é", "²", "_", "3", "12",
         "007", "999", "1000", "7.5", "٣", "**", "*", "\\boxed{", "}", "{", "\\frac{1}{2}", "<|channel|>", "final", "<|message|>", "<|return|>", "<|end|>", "['", "']", "\\n", "\\'", "ſ", "K", "ı", "İ", "is", "\x1c"]


def some_text(rng):
    begin = rng.choice(["", "", "ANSWER: ", "Answer: ", "FINAL ANSWER (", "**Answer: **", "Answer:", "\\boxed{ "])
    return begin + "".join(rng.choice(MARKS) for _ in range(rng.randrange(1, 9)))


def some_expression(rng, depth=0):
    if depth > 1 or rng.random() < .3:
        return rng.choice(["x", "y", "n", "2", "3", "12", "1.5", ".5", "4,096", r"\pi", r"\theta", r"\sqrt2", r"\sqrt{18}", r"\frac34", r"\frac{5}{6}", "-7", "2 1/3"])
    a, b = some_expression(rng, depth + 1), some_expression(rng, depth + 1)
    return rng.choice(["%s+%s", "%s-%s", "%s%s", r"\frac{%s}{%s}", "(%s)(%s)", "%s/%s", r"%s\cdot %s", r"\dfrac{%s}{%s}", "%s %s", "%s*%s", r"\sqrt{%s+%s}", r"\left(%s\right)%s"]) % (a, b)


def some_answer(rng):
    a, b = some_expression(rng), some_expression(rng)
    return rng.choice(["{a}", "{a}", "{a}", "{a}^2", "({a},{b})", "({a}, {b})", "[{a},{b})", "{a},{b}", "{a} or {b}", "x={a}", r"{a}^\circ", r"{a}\%", r"\${a}", "{a} cm^2", r"{a}\text{{ units}}", r"\text{{{a}}}", "{{{a}}}",
                       "{a} degrees", r"\{{{a},{b}\}}", "{a} million", r"[{a},{b}]\cup({b},{a})", "{a}."]).format(a=a, b=b)


def varied(rng, text):
    for _ in range(rng.randrange(3)):
        text = rng.choice([lambda s: s.replace("frac", "dfrac"), lambda s: s.replace(" ", ""), lambda s: s.replace(r"\cdot ", "*"), lambda s: " " + s + " ", lambda s: s.replace(",", ", "), lambda s: "(" + s + ")",
                           lambda s: s.replace("1", "2"), lambda s: s.replace("+", "-"), lambda s: s + ".0", lambda s: s.replace("(", "["), lambda s: "+".join(reversed(s.split("+"))), str.upper,
                           lambda s: s.replace("x", "y"), lambda s: s + "^1", lambda s: s + "%", lambda s: "2" + s])(text)
    return text


def some_pair(rng):
    answer = some_answer(rng)
    pair = [answer, varied(rng, answer)]
    rng.shuffle(pair)
    return tuple(pair)


rng = random.Random(11)
TEXTS += [some_text(rng) for _ in range(300)]
PAIRS += [some_pair(rng) for _ in range(400)]


def grade(said, wanted):
    signal.alarm(5)
    try:
        return bool(grade_answer(said, wanted))
    except TimeoutError:
        return None
    finally:
        signal.alarm(0)


def letters(parse, text, last):
    """What a script finds; İ, which it takes for an I and which answers nothing, as nothing."""
    found = parse(text, last)
    return None if found == "İ" else found


def late(*_):
    raise TimeoutError


signal.signal(signal.SIGALRM, late)
here = os.path.dirname(os.path.abspath(__file__))
os.chdir(prm800k + "/prm800k")
lines = ",\n ".join
texts = [{"text": t, "gpqa": [letters(m.parse_multiple_choice, t, "D") for m in (deep, oss)], "mmlu": [letters(m.parse_multiple_choice, t, "J") for m in (deep, oss)],
          "boxed": deep.parse_boxed_math(t), "integer": deep.parse_aime_answer(t)} for t in TEXTS]
pairs = [{"said": a, "wanted": b, "same": same} for a, b in PAIRS if (same := grade(a, b)) is not None]
with open(here + "/grading.json", "w", encoding="utf-8") as f:
    f.write("{\"texts\": [\n %s\n],\n\"pairs\": [\n %s\n]}\n" % tuple(lines(json.dumps(x, ensure_ascii=False) for x in all) for all in (texts, pairs)))
