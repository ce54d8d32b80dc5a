package protocol

import (
	"errors"
	"fmt"
	"net/http"

	"google.golang.org/grpc/codes"
)

// A Code is the kind of an error that a server answers with.
type Code uint8

// The codes, as Triton has them.
const (
	Internal Code = iota + 1
	NotFound
	Unavailable
	Unsupported
	InvalidArgument
	Unauthorized
	TooLarge
	TimedOut
)

// codeTable has the codes of HTTP and gRPC for each of ours.
var codeTable = map[Code]struct {
	http int
	grpc codes.Code
}{
	Internal:        {http.StatusInternalServerError, codes.Internal},
	NotFound:        {http.StatusNotFound, codes.NotFound},
	Unavailable:     {http.StatusServiceUnavailable, codes.Unavailable},
	Unsupported:     {http.StatusNotImplemented, codes.Unimplemented},
	InvalidArgument: {http.StatusBadRequest, codes.InvalidArgument},
	Unauthorized:    {http.StatusUnauthorized, codes.Unauthenticated},
	TooLarge:        {http.StatusRequestEntityTooLarge, codes.ResourceExhausted},
	TimedOut:        {http.StatusRequestTimeout, codes.DeadlineExceeded},
}

// An Error is an error that a server answers with.
type Error struct {
	Code Code
	Err  error
}

// Errorf returns an Error.
func Errorf(code Code, format string, args ...any) error {
	return &Error{code, fmt.Errorf(format, args...)}
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns what went wrong.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf is the code of an error; Internal where it has none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}

// HTTP is the status of HTTP that stands for a code.
func (c Code) HTTP() int { return codeTable[c].http }

// CodeOfGRPC is the code that one of gRPC stands for.
func CodeOfGRPC(c codes.Code) Code {
	for code, of := range codeTable {
		if of.grpc == c {
			return code
		}
	}
	return Internal
}

// GRPC is the code of gRPC that stands for a code.
func (c Code) GRPC() codes.Code { return codeTable[c].grpc }
