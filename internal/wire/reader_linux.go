//go:build linux && (amd64 || arm64 || riscv64 || loong64)

package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"
)

// readable is what is waited for: bytes, or the end of a connection, told once when it comes.
const (
	readable = syscall.EPOLLIN | syscall.EPOLLRDHUP | edge
	edge     = 1 << 31 // EPOLLET, which syscall has as a negative number
	ended    = syscall.EPOLLRDHUP | syscall.EPOLLHUP | syscall.EPOLLERR
)

const (
	atOnce     = 256      // connections that are told of together
	readBuffer = 64 << 10 // of which a connection is read at once
)

// A reader waits for connections, and reads what comes.
type reader struct {
	epoll int
	pipe  [2]int // what is written to it ends the reader

	mu    sync.Mutex
	conns map[int32]*conn // by file

	text  bytes.Reader // of a head that is parsed; these are the thread's own
	lines *bufio.Reader
}

// asked is what all answers are to, as far as package http needs to know.
var asked = &http.Request{Method: http.MethodPost}

// parse parses the head of an answer.
func (r *reader) parse(head []byte) (*http.Response, error) {
	r.text.Reset(head)
	r.lines.Reset(&r.text)
	return http.ReadResponse(r.lines, asked)
}

func newReader() (*reader, error) {
	r := &reader{conns: map[int32]*conn{}, lines: bufio.NewReader(nil)}
	var err error
	if r.epoll, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if err = syscall.Pipe2(r.pipe[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK); err != nil {
		return nil, errors.Join(os.NewSyscallError("pipe2", err), syscall.Close(r.epoll))
	}
	if err = r.control(syscall.EPOLL_CTL_ADD, r.pipe[0], syscall.EPOLLIN); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// wake ends run.
func (r *reader) wake() { _, _ = syscall.Write(r.pipe[1], []byte{0}) } // a pipe has room for a byte

// close closes all connections.
func (r *reader) close() {
	for _, k := range r.all() {
		k.mu.Lock()
		k.fail(os.ErrClosed)
		k.mu.Unlock()
	}
	for _, fd := range []int{r.epoll, r.pipe[0], r.pipe[1]} {
		_ = syscall.Close(fd) // nothing is lost
	}
}

func (r *reader) control(op, fd int, events uint32) error {
	err := syscall.EpollCtl(r.epoll, op, fd, &syscall.EpollEvent{Events: events, Fd: int32(fd)})
	return os.NewSyscallError("epoll_ctl", err)
}

// change changes what is waited for.
func (r *reader) change(fd int, events uint32) error {
	return r.control(syscall.EPOLL_CTL_MOD, fd, events)
}

// add waits for a connection.
func (r *reader) add(k *conn) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns[int32(k.fd)] = k
	err := r.control(syscall.EPOLL_CTL_ADD, k.fd, readable)
	if err != nil {
		delete(r.conns, int32(k.fd))
	}
	return err
}

// remove waits for a connection no more.
func (r *reader) remove(fd int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, int32(fd))
	_ = r.control(syscall.EPOLL_CTL_DEL, fd, 0) // it is closed next
}

// all are the connections.
func (r *reader) all() []*conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*conn, 0, len(r.conns))
	for _, k := range r.conns {
		list = append(list, k)
	}
	return list
}

// drained closes connections whose answers do not end.
func (r *reader) drained(now time.Time) {
	for _, k := range r.all() {
		k.drain(now)
	}
}

// run reads until it is woken. Subtle: a connection may be closed, and another have its number,
// between the event and the look at it: that one is told of an event that is not its own, and
// reads that there is nothing.
func (r *reader) run() {
	var events [atOnce]syscall.EpollEvent
	var conns [atOnce]*conn
	buf := make([]byte, readBuffer)
	for {
		n, err := syscall.EpollWait(r.epoll, events[:], -1)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			panic(fmt.Sprintf("epoll_wait: %v", err)) // it has no other errors, unless the file is closed too early
		}
		r.mu.Lock()
		for i := range max(0, n) {
			conns[i] = r.conns[events[i].Fd]
		}
		r.mu.Unlock()
		for i := range max(0, n) {
			switch {
			case conns[i] != nil:
				conns[i].ready(events[i].Events, buf)
				conns[i] = nil
			case int(events[i].Fd) == r.pipe[0]:
				return
			}
		}
	}
}
