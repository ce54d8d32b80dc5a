package chat

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"syscall"
	"time"

	"github.com/ardanlabs/jinja"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Limits of a renderer. Published templates need a thousandth.
const (
	maxStack  = 16 << 20  // bytes of recursion
	maxMemory = 512 << 20 // bytes of values
	watchStep = 5 * time.Millisecond
)

// rendererArgument is the only argument of a renderer.
const rendererArgument = "--render-chats"

// A renderer is a process of this program that renders the chats of one template. It ends when its input does, at the latest
// with this program.
type renderer struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *json.Decoder
	stderr  *firstBytes
}

// rendered is the answer to a chat.
type rendered struct {
	Text, Error string
	Last        bool // the renderer ends after it
}

func startRenderer(source string) (*renderer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := &renderer{process: exec.Command(self, rendererArgument), stderr: &firstBytes{most: 4 << 10}}
	r.process.Args[0] = os.Args[0]
	r.process.Stderr = r.stderr
	in, err := r.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := r.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := r.process.Start(); err != nil {
		return nil, fmt.Errorf("starting the renderer: %w", err)
	}
	r.in, r.out = in, json.NewDecoder(bufio.NewReader(out))
	_ = json.NewEncoder(r.in).Encode(source) // if that fails, so does the first chat
	return r, nil
}

// render renders a chat. An error means that the renderer has ended.
func (r *renderer) render(values map[string]any) (answer rendered, err error) {
	if err := json.NewEncoder(r.in).Encode(values); err != nil {
		return answer, err
	}
	err = r.out.Decode(&answer)
	return answer, err
}

func (r *renderer) kill() { _ = r.process.Process.Kill() }

// end ends the renderer and says why it ended.
func (r *renderer) end() error {
	r.kill() // if it has not ended yet
	err := r.process.Wait()
	for line := range strings.Lines(r.stderr.text.String()) {
		if reason, ok := strings.CutPrefix(strings.TrimSpace(line), "fatal error: "); ok {
			return errors.New("the renderer ended: " + userinput.Quote(reason, 200))
		}
		if strings.HasPrefix(line, "goroutine 0 ") { // the runtime itself, where it gets no memory for a thread or its own lists
			return fmt.Errorf("the renderer ended: its runtime crashed, probably out of memory: %w", err)
		}
	}
	return fmt.Errorf("the renderer ended: %w", err)
}

// firstBytes keeps the beginning of what is written to it.
type firstBytes struct {
	text bytes.Buffer
	most int
}

func (f *firstBytes) Write(b []byte) (int, error) {
	f.text.Write(b[:min(len(b), f.most-f.text.Len())])
	return len(b), nil
}

// Main turns the process into a renderer if Render has started it for that, and does not return then. Programs that render chats
// call it first.
func Main() {
	if len(os.Args) == 2 && os.Args[1] == rendererArgument {
		os.Exit(renderAll(os.Stdin, os.Stdout))
	}
}

// renderAll answers chats until its input ends. Signals that end the program leave it to its input, since the program first answers the
// requests under way.
func renderAll(in io.Reader, out io.Writer) (status int) {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	limitMemory()
	runtime.GOMAXPROCS(2)
	debug.SetMaxStack(maxStack)
	debug.SetMemoryLimit(maxMemory)
	debug.SetTraceback("none")
	chats := make(chan map[string]any)
	decoder, encoder := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	var source string
	if err := decoder.Decode(&source); err != nil {
		return 1
	}
	go func() { // also while a chat is rendered
		for {
			var values map[string]any
			if err := decoder.Decode(&values); err != nil {
				os.Exit(0)
			}
			chats <- values
		}
	}()
	var program *jinja.Template
	for values := range chats {
		var answer rendered
		stop := watchMemory(encoder)
		text, err := renderOne(&program, source, values)
		stop()
		switch {
		case err != nil:
			answer.Error = userinput.Quote(err.Error(), 300)
		case len(text) > maxText:
			answer.Error = fmt.Sprintf("the text has %d bytes, expected at most %d", len(text), maxText)
		default:
			answer.Text = text
		}
		if err := encoder.Encode(answer); err != nil {
			return 1
		}
	}
	return 0
}

// renderOne renders a chat, and compiles the template before the first.
func renderOne(program **jinja.Template, source string, values map[string]any) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	if *program == nil {
		if *program, err = jinja.Compile(source); err != nil {
			return "", err
		}
	}
	return (*program).Render(values)
}

// watchMemory ends the process with an error when its values take too much memory, until it is stopped.
func watchMemory(encoder *json.Encoder) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(watchStep)
		defer tick.Stop()
		used := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if metrics.Read(used); used[0].Value.Uint64() > maxMemory {
				_ = encoder.Encode(rendered{Error: fmt.Sprintf("needs more than %d MiB of memory", maxMemory>>20), Last: true})
				os.Exit(1)
			}
		}
	}()
	return func() { close(done); <-ended }
}
