// Command mutate shows what the tests notice: it changes random places of the code, one at a time, and runs the tests of the
// changed package, then of the packages that import it, directly or not.
//
//	go run ./scripts/mutate --seed 1 --count 200 > mutants.txt
//	go run ./scripts/mutate --seed 1 --again mutants.txt        # those that survived once more, with the tests of today
//
// With --near only the tests of the changed package run, which is quick; --again then asks its importers about the survivors.
// With MLPERF_ORT_LIB in the environment the tests run, too, that 'make test' runs with ONNX Runtime.
//
// A line per change: NOTICED or SURVIVED, place, change, the package whose test failed, seconds. Changes that do not compile
// are replaced by others. The last line is the share that was noticed. Survivors want a look: a test is missing, the line is
// not needed, or the change is equivalent (it has no effect).
//
// Changes: comparisons (== and !=, < and <=, > and >=), + and -, * and /, && and ||, conditions negated, integers increased by
// one, statements removed. Nothing on disk changes: go test gets the changed file with -overlay.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	seed := flag.Uint64("seed", 1, "of the random choice")
	count := flag.Int("count", 200, "how many changes")
	timeout := flag.Duration("timeout", 2*time.Minute, "for the tests of a package; longer is noticed, too")
	only := flag.String("only", "", "change only files whose path contains this")
	near := flag.Bool("near", false, "run only the tests of the changed package")
	again := flag.String("again", "", "make only the changes that survived in this earlier output")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := mutate(ctx, *seed, *count, *timeout, *only, *near, *again); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// A pkg is what go list says of a package.
type pkg struct {
	ImportPath, Dir                    string
	GoFiles, CgoFiles                  []string
	Imports, TestImports, XTestImports []string
	TestGoFiles, XTestGoFiles          []string
}

func mutate(ctx context.Context, seed uint64, count int, timeout time.Duration, only string, near bool, again string) error {
	survived := map[string]bool{}
	if again != "" {
		text, err := os.ReadFile(again)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Split(line, "  "); len(f) > 2 && f[0] == "SURVIVED" {
				survived[f[1]+f[2]] = true
			}
		}
		count = min(count, len(survived))
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	packages, err := list(ctx)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	places, err := findPlaces(packages, only)
	if err != nil {
		return err
	}
	rng.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	tried, noticed := 0, 0
	for _, p := range places {
		if tried == count || ctx.Err() != nil {
			break
		}
		began := time.Now()
		text, line, what, err := p.apply()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, p.file)
		if err != nil {
			name = p.file
		}
		at := fmt.Sprintf("%s:%d", name, line)
		if again != "" && !survived[at+what] {
			continue
		}
		by, compiles, err := try(ctx, p, text, packages, near, timeout)
		if err != nil {
			return err
		}
		if !compiles {
			continue
		}
		tried++
		verdict := "SURVIVED"
		if by != "" {
			noticed++
			verdict = "NOTICED"
		}
		fmt.Printf("%-8s  %s  %s  %s  %.0f s\n", verdict, at, what, by, time.Since(began).Seconds())
	}
	fmt.Printf("%d of %d changes were noticed: %.1f %% (seed %d)\n", noticed, tried, 100*float64(noticed)/float64(max(tried, 1)), seed)
	return ctx.Err()
}

func list(ctx context.Context) (map[string]pkg, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-json", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	packages := map[string]pkg{}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p pkg
		if err := d.Decode(&p); err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		packages[p.ImportPath] = p
	}
	return packages, nil
}

// A place is a change of one file: the index-th of those that changes lists.
type place struct {
	pkg, file string
	index     int
}

// testHelpers are packages that only tests use, and programs for developers.
var testHelpers = []string{"/testenv", "/scripts", "test", "/pb", "/onnxpb"}

func findPlaces(packages map[string]pkg, only string) (all []place, err error) {
	for _, path := range slices.Sorted(maps.Keys(packages)) {
		p := packages[path]
		if slices.ContainsFunc(testHelpers, func(end string) bool { return strings.HasSuffix(path, end) || strings.Contains(path, "/scripts/") }) {
			continue
		}
		for _, name := range append(p.GoFiles, p.CgoFiles...) {
			file := filepath.Join(p.Dir, name)
			if strings.HasSuffix(name, ".pb.go") || !strings.Contains(file, only) {
				continue
			}
			if err := changes(file, func(index int, _ change) { all = append(all, place{path, file, index}) }); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

var swaps = map[token.Token]token.Token{
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.LAND: token.LOR, token.LOR: token.LAND,
}

// A change is made in the tree of a file by do, and taken back by undo.
type change struct {
	line     int
	what     string
	do, undo func()
	tree     *ast.File
	set      *token.FileSet
}

// changes calls visit with each change that a file may get.
func changes(file string, visit func(index int, c change)) error {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	index := 0
	note := func(at token.Pos, what string, do, undo func()) {
		visit(index, change{set.Position(at).Line, what, do, undo, tree, set})
		index++
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok == token.VAR || n.Tok == token.CONST
		case *ast.BinaryExpr:
			if other, ok := swaps[n.Op]; ok {
				was := n.Op
				note(n.OpPos, fmt.Sprintf("%s → %s", was, other), func() { n.Op = other }, func() { n.Op = was })
			}
		case *ast.IfStmt:
			was := n.Cond
			note(n.Cond.Pos(), "condition negated", func() { n.Cond = &ast.UnaryExpr{Op: token.NOT, X: &ast.ParenExpr{X: was}} }, func() { n.Cond = was })
		case *ast.BasicLit:
			if v, err := strconv.ParseInt(n.Value, 0, 64); n.Kind == token.INT && err == nil {
				was := n.Value
				note(n.Pos(), fmt.Sprintf("%s → %d", was, v+1), func() { n.Value = strconv.FormatInt(v+1, 10) }, func() { n.Value = was })
			}
		case *ast.BlockStmt:
			for i, s := range n.List {
				assign, ok := s.(*ast.AssignStmt)
				_, call := s.(*ast.ExprStmt)
				_, step := s.(*ast.IncDecStmt)
				if !call && !step && (!ok || assign.Tok == token.DEFINE) {
					continue
				}
				was := n.List
				note(s.Pos(), "statement removed", func() { n.List = slices.Delete(slices.Clone(was), i, i+1) }, func() { n.List = was })
			}
		}
		return true
	})
	return nil
}

// apply returns a file with its change, and the line and kind of the change.
func (p place) apply() (text []byte, line int, what string, err error) {
	err = changes(p.file, func(index int, c change) {
		if index != p.index {
			return
		}
		c.do()
		defer c.undo()
		var b bytes.Buffer
		if err := format.Node(&b, c.set, c.tree); err == nil {
			text = b.Bytes()
		}
		line, what = c.line, c.what
	})
	return text, line, what, err
}

// try runs the tests over a change until one fails: by is the package whose tests failed, "" if none did.
func try(ctx context.Context, p place, text []byte, packages map[string]pkg, near bool, timeout time.Duration) (by string, compiles bool, err error) {
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return "", false, err
	}
	defer os.RemoveAll(dir)
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	table, err := json.Marshal(map[string]map[string]string{"Replace": {p.file: changed}})
	if err != nil {
		return "", false, err
	}
	for name, text := range map[string][]byte{changed: text, overlay: table} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			return "", false, err
		}
	}
	if exec.CommandContext(ctx, "go", "build", "-overlay", overlay, p.pkg).Run() != nil {
		return "", false, ctx.Err()
	}
	for i, tests := range rings(p.pkg, packages) {
		if near && i > 0 {
			break
		}
		if by, err = run(ctx, append([]string{"-overlay", overlay, "-failfast", "-timeout", timeout.String()}, tests...)); by != "" || err != nil {
			return by, true, err
		}
		if i == 0 && !near && os.Getenv("MLPERF_ORT_LIB") != "" {
			by, err = run(ctx, append([]string{"-overlay", overlay, "-failfast", "-timeout", timeout.String(), "-tags", "ort", "-run", "^TestORT"},
				withEngine...))
			if by != "" || err != nil {
				return by, true, err
			}
		}
	}
	return "", true, nil
}

// withEngine are the packages whose tests 'make test' runs with ONNX Runtime, too.
var withEngine = []string{"./cmd/mlperf", "./internal/backend/ort", "./internal/onnx/arch", "./internal/convert/...", "./internal/run"}

// run runs tests, and returns the first package that failed.
func run(ctx context.Context, args []string) (failed string, err error) {
	out, err := exec.CommandContext(ctx, "go", append([]string{"test", "-vet=off"}, args...)...).CombinedOutput()
	if err == nil || ctx.Err() != nil {
		return "", ctx.Err()
	}
	for line := range strings.Lines(string(out)) {
		if rest, found := strings.CutPrefix(line, "FAIL\t"); found {
			return strings.Fields(rest)[0], nil
		}
	}
	return "", fmt.Errorf("go test %s: %w\n%s", strings.Join(args, " "), err, out)
}

// rings are the packages with tests that a change can reach: the package itself, those that import it, and those behind them.
func rings(path string, packages map[string]pkg) (all [][]string) {
	seen := map[string]bool{path: true}
	for ring := []string{path}; len(ring) > 0; {
		var tests, next []string
		for _, r := range ring {
			if p := packages[r]; len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 {
				tests = append(tests, r)
			}
		}
		if len(tests) > 0 {
			all = append(all, tests)
		}
		for _, r := range slices.Sorted(maps.Keys(packages)) {
			p := packages[r]
			if !seen[r] && slices.ContainsFunc(slices.Concat(p.Imports, p.TestImports, p.XTestImports),
				func(i string) bool { return slices.Contains(ring, i) }) {
				seen[r] = true
				next = append(next, r)
			}
		}
		ring = next
	}
	return all
}
