// Package wire sends requests over plain HTTP/1.1 and passes their answers on while they come, of
// thousands of connections with a thread or two. A goroutine for each of them, as net/http has it, is
// woken and reads twice for each token; here a thread waits for all connections at once (epoll),
// reads what has come once, and calls who wants it.
//
//	c, err := wire.Open()                       // errors.ErrUnsupported where there is no epoll
//	err = c.Do(ctx, "host:8000", request, receiver)
//
// A request is the whole text of it, head and body. Connections are kept and used again, as far as
// answers permit. It knows no TLS, no proxies and no redirections, follows nothing and repeats
// nothing: who needs these takes net/http.
package wire
