package coderun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits bound a program. The zero value has those of the reference (mxeval, execution.py),
// which bounds time alone.
type Limits struct {
	Time    time.Duration // of a run, by default 20 s
	Compile time.Duration // of a compiler, by default 100 s
	Memory  int64         // bytes that a program may ask for, by default 4 GiB
}

func (l Limits) filled() Limits {
	if l.Time <= 0 {
		l.Time = 20 * time.Second
	}
	if l.Compile <= 0 {
		l.Compile = 100 * time.Second
	}
	if l.Memory <= 0 {
		l.Memory = 4 << 30
	}
	return l
}

// A Runner runs programs. It may be used by several goroutines.
type Runner struct {
	limits   Limits
	isolated bool
	counts   bool // processes are counted for each program alone, so that their number can be bounded
}

// New returns a runner, which has tried how far it can keep programs apart.
func New(l Limits) *Runner {
	r := &Runner{limits: l.filled(), isolated: canIsolate()}
	r.counts = r.isolated && canCount()
	return r
}

// Isolation says what a program is kept from.
func (r *Runner) Isolation() string {
	switch {
	case r.counts && os.Getuid() != superuser:
		return "without network and without a way to other processes, with bounds on time, memory and the number of its processes; the user's files are open to it"
	case r.isolated:
		return "without network and without a way to other processes, with bounds on time and memory; the user's files are open to it"
	}
	return "with bounds on time and memory; network, other processes and the user's files are open to it"
}

// superuser is the user whose processes the system does not bound.
const superuser = 0

// mostProcesses bounds those of a program, threads included. Some libraries begin a thread for each processor.
const mostProcesses = 1024

// program is the name of a program's file.
const program = "main"

// A Program is what a Runner runs.
type Program struct {
	Language string // cpp, javascript, php, python, ruby or typescript
	Code     string
	Input    io.Reader     // nil: there is nothing to read
	Output   io.Writer     // what it writes; nil: that goes nowhere
	Time     time.Duration // instead of that of the limits; 0: that
}

// Run runs a program, and reports whether it passes. An error is one of this machine: a
// language that is not known, an interpreter that is not there, no room for the file, the
// end of ctx.
func (r *Runner) Run(ctx context.Context, p Program) (passed bool, err error) {
	l, ok := languages(r.limits.Memory)[p.Language]
	if !ok {
		return false, fmt.Errorf("programs in %q are not run, only those in cpp, javascript, php, python, ruby and typescript", p.Language)
	}
	dir, err := os.MkdirTemp("", "mlperf-program-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, remove(dir)) }()
	if err := os.WriteFile(filepath.Join(dir, program+l.end), []byte(p.Code), 0o600); err != nil {
		return false, err
	}
	if l.compile != nil {
		status, err := r.status(ctx, dir, command{args: l.compile, limit: r.limits.Compile, virtual: true})
		if err != nil || status != 0 && status != l.accept {
			return false, err
		}
	}
	c := command{args: l.run, limit: cmp.Or(p.Time, r.limits.Time), virtual: l.virtual, input: p.Input, output: p.Output}
	status, err := r.status(ctx, dir, c)
	return status == 0 && err == nil, err
}

// noStatus is the status of what was ended by a signal, or was not in time.
const noStatus = -1

// A command is a part of running a program.
type command struct {
	args    []string
	limit   time.Duration
	virtual bool // see language
	input   io.Reader
	output  io.Writer
}

// status runs a command in a folder and returns its status.
func (r *Runner) status(ctx context.Context, dir string, c command) (int, error) {
	full := slices.Clone(c.args)
	for i, arg := range full {
		full[i] = strings.Replace(arg, "%", program, 1)
	}
	path := filepath.Join(dir, program) // what was compiled
	if full[0] != "./"+program {
		var err error
		if path, err = exec.LookPath(full[0]); err != nil {
			return noStatus, fmt.Errorf("%s is not installed, which programs of this language need: %w", full[0], err)
		}
	}
	timed, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	cmd := exec.CommandContext(timed, "/bin/sh", append([]string{"-c", r.script(c), path}, full[1:]...)...)
	cmd.Dir, cmd.Stdin, cmd.Stdout = dir, c.input, c.output
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "LANG=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1"}
	cmd.WaitDelay = time.Second
	keepApart(cmd, r.isolated)
	runtime.LockOSThread() // on Linux a program ends with the thread that began it
	err := cmd.Run()
	runtime.UnlockOSThread()
	if cmd.Process != nil {
		_ = endGroup(cmd) // what the program has begun and left behind; mostly there is nothing
	}
	if ctx.Err() != nil {
		return noStatus, context.Cause(ctx)
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit):
		return exit.ExitCode(), nil
	case timed.Err() != nil || errors.Is(err, exec.ErrWaitDelay):
		return noStatus, nil
	}
	return noStatus, err
}

// script sets bounds on what a command may use, and runs it: processor time on every processor, size of files,
// open files, core files, and memory. Where a bound is lower already, it stays.
func (r *Runner) script(c command) string {
	seconds := (int64(c.limit/time.Second) + 2) * int64(runtime.NumCPU())
	memory := 'v'
	if c.virtual {
		memory = 'd'
	}
	script := fmt.Sprintf("ulimit -t %d; ulimit -f 131072; ulimit -n 256; ulimit -c 0; ulimit -%c %d; ", seconds, memory, r.limits.Memory>>10)
	if r.counts {
		script += boundProcesses(mostProcesses)
	}
	if r.isolated {
		// The first process of a space of its own survives its own signals, with which a program would not fail: that is the shell.
		return script + `"$0" "$@"; exit $?`
	}
	return script + `exec "$0" "$@"`
}

// boundProcesses is the part of a script that bounds the number of processes, for which shells have two letters.
func boundProcesses(most int) string {
	return fmt.Sprintf("ulimit -u %d 2>/dev/null || ulimit -p %[1]d; ", most)
}

// remove removes the folder of a program, which may have taken from its user the right to look into folders in it.
func remove(folder string) error {
	if about, err := os.Lstat(folder); err == nil && about.IsDir() && os.Chmod(folder, 0o700) == nil {
		if root, err := os.OpenRoot(folder); err == nil { // which leads nowhere else, whatever takes the place of a folder meanwhile
			_ = fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
				if err == nil && entry.IsDir() {
					_ = root.Chmod(path, 0o700)
				}
				return nil
			})
			_ = root.Close()
		}
	}
	return os.RemoveAll(folder) // and what failed above shows
}

// A language is how its programs are run. % stands for the name of the file without its end.
type language struct {
	end     string
	compile []string // nil: it is not compiled
	accept  int      // the status of a compiler, other than 0, that is as good
	run     []string
	virtual bool // it reserves more memory than it uses, so that only what it can write to is bounded
}

// languages are those that the reference runs (evaluate_mbxp.py).
func languages(memory int64) map[string]language {
	node := []string{"node", "--max-old-space-size=" + strconv.FormatInt(memory>>20, 10), "%.js"}
	return map[string]language{
		"python":     {end: ".py", run: []string{"python3", "%.py"}},
		"javascript": {end: ".js", run: node, virtual: true},
		// tsc complains of require(), which all tests have, writes the program nevertheless, and ends with 2.
		"typescript": {end: ".ts", compile: []string{"tsc", "%.ts", "--target", "es5", "--lib", "es2016"}, accept: 2, run: node, virtual: true},
		"ruby":       {end: ".rb", run: []string{"ruby", "%.rb"}},
		"php":        {end: ".php", run: []string{"php", "%.php"}},
		"cpp":        {end: ".cpp", compile: []string{"g++", "%.cpp", "-o", "%"}, run: []string{"./%"}},
	}
}
