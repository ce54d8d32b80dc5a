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
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// A Runner runs programs. It may be used by several goroutines.
type Runner struct {
	runTime, compileTime time.Duration
	memory, disk         int64 // bytes
	isolated             bool  // programs have a network and a process space of their own
	counted              bool  // processes are counted per program, so that their number can be limited
}

// ErrSuperuser says that programs would run as the superuser, without isolation.
var ErrSuperuser = errors.New("the programs of the model would run as the superuser, and this system lets mlperf not isolate them: " +
	"run mlperf as an ordinary user, or let the value be unsafe")

// New returns a runner with the time limits of the reference (mxeval, execution.py), after trying how far this system can
// isolate programs. The superuser's are isolated, unless unsafe allows the contrary where that is impossible; else the error is ErrSuperuser.
func New(unsafe bool) (*Runner, error) {
	r := &Runner{runTime: 20 * time.Second, compileTime: 100 * time.Second, memory: 4 << 30, disk: 256 << 20}
	r.isolated, r.counted = probe()
	if !r.isolated && !unsafe && os.Getuid() == superuser {
		return nil, ErrSuperuser
	}
	return r, nil
}

// Isolation describes the isolation of programs.
func (r *Runner) Isolation() string {
	switch {
	case r.isolated && os.Getuid() == superuser:
		return "by an unprivileged user, without network or access to other processes, with limits on time, memory, processes and disk; they " +
			"can write to no file of this machine"
	case r.counted:
		return "without network or access to other processes, with limits on time, memory and processes; they can access the user's files"
	case r.isolated:
		return "without network or access to other processes, with limits on time and memory; they can access the user's files"
	}
	return "with limits on time and memory; they can access the network, other processes and the user's files"
}

// superuser is the user whom the system does not limit.
const superuser = 0

// A Program is a program for a Runner.
type Program struct {
	Language string // cpp, javascript, php, python, ruby or typescript
	Code     string
	Input    io.Reader     // nil: empty
	Output   io.Writer     // nil: output is dropped
	Time     time.Duration // limit of a run; 0: 20 s
}

// A language says how its programs are run. % stands for the name of the file without its extension.
type language struct {
	extension string
	compile   []string // nil: not compiled
	accept    int      // status of a compiler, other than 0, that also means success
	run       []string
	virtual   bool // reserves more memory than it uses, so that only writable memory is limited
}

// languages are those that the reference runs (evaluate_mbxp.py).
var languages = map[string]language{
	"python":     {extension: ".py", run: []string{"python3", "%.py"}},
	"javascript": {extension: ".js", run: []string{"node", "--max-old-space-size=4096", "%.js"}, virtual: true},
	// tsc rejects require(), which all tests use, but writes the program and ends with 2.
	"typescript": {extension: ".ts", compile: []string{"tsc", "%.ts", "--target", "es5", "--lib", "es2016"}, accept: 2,
		run: []string{"node", "--max-old-space-size=4096", "%.js"}, virtual: true},
	"ruby": {extension: ".rb", run: []string{"ruby", "%.rb"}},
	"php":  {extension: ".php", run: []string{"php", "%.php"}},
	"cpp":  {extension: ".cpp", compile: []string{"g++", "%.cpp", "-o", "%"}, run: []string{"./%"}},
}

// program is the name of a program's file.
const program = "main"

// Run runs a program and reports whether it passes. An error is about this machine: an unknown language, a missing
// interpreter, a file that cannot be written, or the end of ctx.
func (r *Runner) Run(ctx context.Context, p Program) (passed bool, err error) {
	l, ok := languages[p.Language]
	if !ok {
		return false, fmt.Errorf("language %q: expected cpp, javascript, php, python, ruby or typescript", p.Language)
	}
	dir, err := os.MkdirTemp("", "mlperf-program-")
	if err != nil {
		return false, err
	}
	folder, err := os.Open(dir)
	if err != nil {
		return false, errors.Join(err, os.Remove(dir))
	}
	defer func() {
		if now, e := whereabouts(folder); e == nil && now != dir { // the program has renamed it
			err = errors.Join(err, removeAll(now))
		}
		err = errors.Join(err, folder.Close(), removeAll(dir))
	}()
	judge := func() error {
		passed, err = r.judge(ctx, dir, l, p)
		return err
	}
	if r.isolated {
		err = confined(dir, r.disk, judge)
	} else {
		err = judge()
	}
	return passed, err
}

// judge writes a program to its folder, compiles it if need be, and runs it.
func (r *Runner) judge(ctx context.Context, dir string, l language, p Program) (passed bool, err error) {
	file := filepath.Join(dir, program+l.extension)
	if err := fileio.WriteFile(file, []byte(p.Code), 0o600); err != nil {
		return false, err
	}
	if r.isolated {
		if err := own(file); err != nil {
			return false, err
		}
	}
	if l.compile != nil {
		status, err := r.command(ctx, dir, l.compile, r.compileTime, true, Program{})
		if err != nil || status != 0 && status != l.accept {
			return false, err
		}
	}
	status, err := r.command(ctx, dir, l.run, cmp.Or(p.Time, r.runTime), l.virtual, p)
	return status == 0 && err == nil, err
}

// noStatus stands for the status of a command that a signal or the time limit ended.
const noStatus = -1

// command runs a command in a folder, with the input and output of a program, and returns its status. A shell sets the
// limits; lower ones of the user stay.
func (r *Runner) command(ctx context.Context, dir string, args []string, limit time.Duration, virtual bool, p Program) (int, error) {
	path := filepath.Join(dir, program) // of a compiled program
	if args[0] != "./%" {
		look, err := exec.LookPath, error(nil)
		if r.isolated {
			look = find
		}
		switch path, err = look(args[0]); {
		case errors.Is(err, exec.ErrNotFound):
			return noStatus, fmt.Errorf("%s is not installed, which programs of this language need: %w", args[0], err)
		case err != nil:
			return noStatus, err
		}
	}
	memory := 'v'
	if virtual {
		memory = 'd'
	}
	script := fmt.Sprintf("ulimit -t %d; ulimit -f 131072; ulimit -n 256; ulimit -c 0; ulimit -%c %d; ",
		(int64(limit/time.Second)+2)*int64(runtime.NumCPU()), memory, r.memory>>10)
	if r.counted {
		script += limitProcesses(1024) // threads included: some libraries start one for each CPU
	}
	if r.isolated {
		// The first process of a process space survives its own signals, so it has to be the shell, not the program.
		script += `"$0" "$@"; exit $?`
	} else {
		script += `exec "$0" "$@"`
	}
	shell := []string{"-c", script, path}
	for _, arg := range args[1:] {
		shell = append(shell, strings.Replace(arg, "%", program, 1))
	}
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(timed, "/bin/sh", shell...)
	cmd.Dir, cmd.Stdin, cmd.Stdout = dir, p.Input, p.Output
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "LANG=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1"}
	cmd.WaitDelay = time.Second
	isolate(cmd, r.isolated)
	runtime.LockOSThread() // on Linux a program ends with the thread that started it
	err := cmd.Run()
	runtime.UnlockOSThread()
	if cmd.Process != nil {
		_ = endGroup(cmd) // child processes that are left, mostly none
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

// limitProcesses is the part of a script that limits the number of processes, for which shells have two letters.
func limitProcesses(n int) string {
	return fmt.Sprintf("ulimit -u %d 2>/dev/null || ulimit -p %[1]d; ", n)
}

// removeAll removes the folder of a program, which may have made folders in it unreadable.
func removeAll(folder string) error {
	if about, err := os.Lstat(folder); err == nil && about.IsDir() && os.Chmod(folder, 0o700) == nil {
		if root, err := os.OpenRoot(folder); err == nil { // never leads outside, whatever replaces a folder meanwhile
			_ = fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
				if err == nil && entry.IsDir() {
					_ = root.Chmod(path, 0o700)
				}
				return nil
			})
			_ = root.Close()
		}
	}
	return os.RemoveAll(folder) // fails if the above could not change the modes
}
