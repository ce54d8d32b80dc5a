//go:build linux && (amd64 || arm64 || riscv64 || loong64)

package wire

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// A state says what a connection waits for.
type state uint8

const (
	idle state = iota
	head       // of an answer
	body       // that somebody wants
	rest       // of a body, of which nobody wants more
)

const (
	maxHead = 1 << 20
	// mostAnnounced is how often a server may say that an answer follows.
	mostAnnounced = 16
	maxRest       = 16 << 10 // what is read of a body that nobody wants, so that its connection can be used again
)

// A conn is a connection, with a request under way at most.
type conn struct {
	client  *Client
	reader  *reader
	address string
	since   time.Time // kept; over the client's lock

	writable chan struct{} // there is room again for what is sent
	dead     atomic.Bool

	mu        sync.Mutex // over what follows
	fd        int        // -1: closed
	number    int        // of the request
	over      chan error // how it ended; each has its own, so that nobody takes the end of another
	state     state
	to        Receiver
	begun     []byte // of a head
	announced int    // heads that only say that an answer follows
	framing   framing
	keeps     bool      // the connection outlasts the answer
	sent      bool      // the server has taken the whole request
	drained   int       // bytes
	left      time.Time // when nobody wanted more
}

// A turn is a request on a connection.
type turn struct {
	*conn
	number int
	over   chan error // tells how it ended
}

// begin begins a request. False: the connection has been closed.
func (k *conn) begin(to Receiver) (t turn, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.number++
	k.over, k.sent, k.announced = make(chan error, 1), false, 0
	k.state, k.to, k.begun = head, to, k.begun[:0]
	return turn{k, k.number, k.over}, k.fd >= 0
}

// listen has what comes read from now on.
func (k *conn) listen() error {
	err := k.reader.add(k)
	if err != nil {
		err = errors.Join(err, syscall.Close(k.fd))
	}
	return err
}

// send sends a request, as far as the server takes it: it may answer before it has all, and what is wrong
// with the connection is told where it is read.
func (k *conn) send(ctx context.Context, request []byte, over chan error) {
	for len(request) > 0 {
		n, err := k.write(request)
		switch request = request[max(0, n):]; {
		case err == nil || errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			select {
			case <-k.writable:
			case err := <-over:
				over <- err // for who waits for it
				return
			case <-ctx.Done():
				return
			}
		default:
			return
		}
	}
}

// write sends what there is room for. If there is none, writable tells when there is.
func (k *conn) write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fd < 0 {
		return 0, errClosed
	}
	n, err := syscall.Write(k.fd, p)
	if errors.Is(err, syscall.EAGAIN) {
		return 0, errors.Join(err, k.reader.change(k.fd, readable|syscall.EPOLLOUT))
	}
	k.sent = n == len(p)
	return n, err
}

// anyNumber stands for the request that is under way, or none.
const anyNumber = -1

// abandon closes the connection, if it still has the request of a number. Afterwards its receiver is not called.
func (k *conn) abandon(number int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if number == anyNumber && k.state == idle || number == k.number && k.state != idle {
		k.close()
	}
}

// close closes the connection. The lock is held.
func (k *conn) close() {
	if k.fd < 0 {
		return
	}
	k.dead.Store(true)
	k.reader.remove(k.fd)
	_ = syscall.Close(k.fd) // nothing that was sent matters any more
	k.fd, k.to = -1, nil
}

// finish tells how the request ended. The lock is held.
func (k *conn) finish(err error) {
	k.to = nil
	k.over <- err
}

// fail ends the request, if there is one, and closes the connection. The lock is held.
func (k *conn) fail(err error) {
	waiting := k.state == head || k.state == body
	k.close()
	if waiting {
		k.state = rest
		k.finish(err)
	}
}

// ready reads what has come, once, and writes on if there is room.
func (k *conn) ready(events uint32, buf []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fd < 0 {
		return
	}
	if events&syscall.EPOLLOUT != 0 {
		_ = k.reader.change(k.fd, readable) // if it cannot, the next event tries again
		select {
		case k.writable <- struct{}{}:
		default:
		}
	}
	if events&^syscall.EPOLLOUT != 0 {
		k.readSome(events, buf)
	}
}

// readSome reads what is there, but not for ever.
func (k *conn) readSome(events uint32, buf []byte) {
	for turn := 0; k.fd >= 0; turn++ {
		// One that does not fill the memory took all that there was: what comes later is told of again, but
		// for the end, which may have been told of with it.
		if n := k.read(buf); n < 0 || n < len(buf) && events&ended == 0 {
			return
		}
		if turn == mostTurns { // others wait
			_ = k.reader.change(k.fd, readable) // and it is told of anew
			return
		}
	}
}

// mostTurns is how often a connection is read before others.
const mostTurns = 16

// read reads once, and returns how many bytes there were. Negative: there are none at present.
func (k *conn) read(buf []byte) int {
	n, err := receive(k.fd, buf)
	switch {
	case err == syscall.EINTR:
		return len(buf)
	case err == syscall.EAGAIN:
		return -1
	case err != 0:
		k.fail(os.NewSyscallError("recv", err))
	case n == 0:
		k.end()
	default:
		k.heard(buf[:n], time.Now())
	}
	return n
}

// receive is recv(2), which never waits here: the scheduler need not hear of it.
func receive(fd int, buf []byte) (int, syscall.Errno) {
	n, _, err := syscall.RawSyscall6(syscall.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), syscall.MSG_DONTWAIT, 0, 0)
	if err != 0 {
		return -1, err
	}
	return int(n), 0
}

// end is the end of the connection.
func (k *conn) end() {
	if k.state == body && k.framing.closes {
		k.fail(io.EOF)
		return
	}
	k.fail(errClosed)
}
