package grading

import (
	"errors"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// latexSymbols are the macros without arguments that answers use, each with its text in pylatexenc, which drops the names of unknown macros
// and of \text, \mathrm, \overline and their like and keeps their arguments.
var latexSymbols = func() map[string]string {
	symbols := map[string]string{" ": " ", ",": " ", ":": " ", ";": " ", "quad": "  ", "qquad": "    ", `\`: newRow}
	for _, name := range strings.Fields("$ % & # _ { } sin cos tan sinh cosh tanh arcsin arccos arctan log ln exp lim max min sup inf") {
		symbols[name] = name
	}
	pairs := strings.Fields(`
		alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ lambda λ mu μ nu ν xi ξ pi π varpi ϖ rho ρ varrho ϱ
		sigma σ varsigma ς tau τ upsilon υ phi ϕ varphi φ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω
		cdot · times × div ÷ pm ± mp ∓ cup ∪ cap ∩ in ∈ notin ∉ ni ∋ subset ⊂ subseteq ⊆ supset ⊃ supseteq ⊇ emptyset ∅ varnothing ∅ setminus ∖ infty ∞
		le ≤ leq ≤ leqslant ⩽ ge ≥ geq ≥ geqslant ⩾ ll ≪ gg ≫ neq ≠ equiv ≡ approx ≈ sim ∼ simeq ≃ cong ≅ propto ∝ perp ⊥ parallel ∥ angle ∠ circ ∘
		to → mapsto ↦ rightarrow → longrightarrow ⟶ leftarrow ← Rightarrow ⇒ Leftarrow ⇐ Leftrightarrow ⇔ leftrightarrow ↔ uparrow ↑ downarrow ↓
		ldots … cdots ⋯ dots … vdots ⋮ forall ∀ exists ∃ nexists ∄ mid | partial ∂ nabla ∇ sum ∑ prod ∏ int ∫ oint ∮ ell ℓ hbar ħ prime ' star ⋆ ast ∗ bullet ∙
		oplus ⊕ otimes ⊗ wedge ∧ vee ∨ lnot ¬ langle ⟨ rangle ⟩ lfloor ⌊ rfloor ⌋ lceil ⌈ rceil ⌉ lvert | rvert | vert | lVert ‖ rVert ‖ Vert ‖ backslash \`)
	for i := 0; i < len(pairs); i += 2 {
		symbols[pairs[i]] = pairs[i+1]
	}
	return symbols
}()

var (
	// latexStyles are the macros that write letters in another alphabet, each with its capital A.
	latexStyles = map[string]rune{"mathbf": '𝐀', "mathit": '𝐴', "mathcal": '𝒜', "mathscr": '𝒜', "mathfrak": '𝔄', "mathbb": '𝔸', "mathsf": '𝖠',
		"mathtt": '𝙰'}
	// latexAccents combine with the character before them.
	latexAccents = map[string]string{"hat": "\u0302", "bar": "\u0305", "vec": "\u20d7", "tilde": "\u0303", "dot": "\u0307", "ddot": "\u0308",
		"not": "\u0338"}
	// latexDropped are macros that pylatexenc drops together with their argument.
	latexDropped = regexp.MustCompile(`^(mbox|texttt|textsf|textup|textmd|ensuremath|hspace|hphantom|vphantom|color|label)$`)

	latexMatrix = regexp.MustCompile(`^([bp]?(small)?matrix|array)$`)
	environment = regexp.MustCompile(`^\{([^{}]+)\}`)
)

// Marks between the rows and between the elements of a matrix.
const newRow, newElement = "\x00", "\x01"

var errLaTeX = errors.New("not readable as LaTeX")

// latexText writes LaTeX as text as pylatexenc's latex_to_text does: \frac{a}{b} as a/b, \sqrt{a} as sqrt(a), a matrix as [1 2; 3 4], and the names
// of symbols as the symbols.
func latexText(text string) (string, error) {
	l := latex{rest: strings.NewReplacer("---", "—", "--", "–", `\tfrac`, ` \frac`, `\dfrac`, ` \frac`, `\frac`, ` \frac`).Replace(text)}
	text, err := l.until("")
	return pytext.TrimSpace(strings.NewReplacer("√", "sqrt", "π", "pi", "∞", "inf", "∪", "U", "·", "*", "×", "*", newRow, "\n", newElement,
		"   ").Replace(text)), err
}

// latex reads LaTeX from its start.
type latex struct {
	rest  string
	depth int
}

// maxDepth is the depth to which groups and parentheses are read.
const maxDepth = 50

// until reads up to an end and skips it: "}", "]", or the name of an environment. The end of the text ends all.
func (l *latex) until(end string) (string, error) {
	if l.depth++; l.depth > maxDepth {
		return "", errLaTeX
	}
	defer func() { l.depth-- }()
	var b strings.Builder
	for l.rest != "" {
		var part string
		var err error
		switch c := l.character(); {
		case c == end:
			return b.String(), nil
		case c == `\`:
			name := l.name()
			if m := environment.FindStringSubmatch(l.rest); name == "end" && m != nil {
				if l.rest = l.rest[len(m[0]):]; m[1] == end {
					return b.String(), nil
				}
				continue
			}
			part, err = l.macro(name)
		case c == "{":
			part, err = l.until("}")
		case c == "&":
			part = newElement
		case c == "~":
			part = "\u00a0"
		case c != "}":
			part = c
		}
		if err != nil {
			return "", err
		}
		b.WriteString(part)
	}
	return b.String(), nil
}

func (l *latex) character() string {
	_, n := utf8.DecodeRuneInString(l.rest)
	c := l.rest[:n]
	l.rest = l.rest[n:]
	return c
}

// name reads the name of a macro, and the spaces behind one of letters.
func (l *latex) name() string {
	after := strings.TrimLeftFunc(l.rest, unicode.IsLetter)
	name := l.rest[:len(l.rest)-len(after)]
	if name == "" {
		return l.character()
	}
	l.rest = strings.TrimLeftFunc(after, pytext.IsSpace)
	return name
}

// argument reads a group, a macro, or a character.
func (l *latex) argument() (string, error) {
	l.rest = strings.TrimLeftFunc(l.rest, pytext.IsSpace)
	switch {
	case l.rest == "" || l.rest[0] == '}':
		return "", nil
	case l.rest[0] == '{':
		l.character()
		return l.until("}")
	case l.rest[0] == '\\':
		l.character()
		return l.macro(l.name())
	}
	return l.character(), nil
}

// macro reads the arguments of a macro and writes it.
func (l *latex) macro(name string) (string, error) {
	style, styled := latexStyles[name]
	accent, accented := latexAccents[name]
	switch m := environment.FindStringSubmatch(l.rest); {
	case name == "begin" && m != nil:
		l.rest = l.rest[len(m[0]):]
		if m[1] == "array" { // its columns
			if _, err := l.argument(); err != nil {
				return "", err
			}
		}
		text, err := l.until(m[1])
		if latexMatrix.MatchString(m[1]) {
			text = "[" + strings.NewReplacer(newElement, " ", newRow, ";").Replace(text) + "]"
		}
		return text, err
	case name == "frac" || name == "nicefrac":
		over, err := l.argument()
		under, err2 := l.argument()
		return over + "/" + under, errors.Join(err, err2)
	case name == "sqrt":
		if strings.HasPrefix(l.rest, "[") {
			l.character()
			if _, err := l.until("]"); err != nil {
				return "", err
			}
		}
		text, err := l.argument()
		return "sqrt(" + text + ")", err
	case latexDropped.MatchString(name):
		_, err := l.argument()
		return "", err
	case styled:
		text, err := l.argument()
		return strings.Map(func(r rune) rune {
			switch {
			case r >= 'A' && r <= 'Z':
				return style + r - 'A'
			case r >= 'a' && r <= 'z':
				return style + r - 'a' + 26
			}
			return r
		}, text), err
	case accented:
		text, err := l.argument()
		return text + accent, err
	}
	return latexSymbols[name], nil
}
