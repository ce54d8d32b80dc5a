package server_test

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/mlperf-go/mlperf/internal/oip"
	"github.com/mlperf-go/mlperf/internal/oip/oiptest"
	"github.com/mlperf-go/mlperf/internal/oip/server"
)

func TestOnlyWhoBringsATokenComesIn(t *testing.T) {
	model := &oiptest.Doubler{Name: "m", Width: 2}
	s := run(t, server.Config{Models: []server.Model{model}, Tokens: []string{"first-0123456789", "second-012345678"},
		Routes: []server.Route{{Pattern: "GET /more", Handle: func(http.ResponseWriter, *http.Request) error { return nil }}}})
	c := s.dial(t)
	const want = "want one of the server's tokens"
	for _, q := range []struct {
		name, authorization string
		in                  bool
	}{
		{"nothing", "", false},
		{"the first", "Bearer first-0123456789", true},
		{"the second", "Bearer second-012345678", true},
		{"in small letters", "bearer second-012345678", true},
		{"another one", "Bearer third-0123456789", false},
		{"the beginning of one", "Bearer first-012345678", false},
		{"more than one", "Bearer first-01234567890", false},
		{"both", "Bearer first-0123456789 second-012345678", false},
		{"without a scheme", "first-0123456789", false},
		{"another scheme", "Basic first-0123456789", false},
		{"no token", "Bearer ", false},
	} {
		t.Run(q.name, func(t *testing.T) {
			headers := "Authorization: " + q.authorization
			if q.authorization == "" {
				headers = ""
			}
			for _, request := range []string{"GET /v2", "GET /v2/models/m", "GET /v2/models/m/stats", "GET /metrics", "GET /more", "GET /v2/systemsharedmemory/status",
				"POST /v2/models/m/infer", "POST /v2/systemsharedmemory/unregister"} {
				method, path, _ := strings.Cut(request, " ")
				a, text := s.send(t, method, path, headers, "")
				if refused := a.StatusCode == http.StatusUnauthorized; refused == q.in || refused && (!strings.Contains(text, want) || a.Header.Get("WWW-Authenticate") != "Bearer") {
					t.Errorf("%s: %d %v %s", request, a.StatusCode, a.Header, text)
				}
			}
			ctx := t.Context()
			if q.authorization != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, "authorization", q.authorization)
			}
			in := &oip.Receiving{Answer: true, Accept: func(*oip.Head) (oip.Place, error) { return fresh, nil }}
			for method, err := range map[string]error{
				"ServerLive": c.Invoke(ctx, oip.MethodName("ServerLive"), &oip.Inquiry{}, &oip.State{}),
				"ModelInfer": c.Invoke(ctx, oip.MethodName("ModelInfer"), row("1", 1, 2), in),
			} {
				if code := grpcstatus.Code(err); q.in && err != nil || !q.in && (code != codes.Unauthenticated || !strings.Contains(err.Error(), want)) {
					t.Errorf("%s: %v", method, err)
				}
			}
			code := map[bool]codes.Code{true: codes.OK, false: codes.Unauthenticated}[q.in]
			if err := streamed(t, c, q.authorization); grpcstatus.Code(err) != code {
				t.Errorf("a stream: %v", err)
			}
			if _, err := healthpb.NewHealthClient(c).Check(t.Context(), &healthpb.HealthCheckRequest{Service: oip.Service}); err != nil {
				t.Errorf("health is everybody's: %v", err)
			}
		})
	}
}

// streamed sends a request in a stream, and returns what became of it.
func streamed(t *testing.T, c *grpc.ClientConn, authorization string) error {
	t.Helper()
	ctx := t.Context()
	if authorization != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", authorization)
	}
	s, err := c.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, oip.MethodName("ModelStreamInfer"))
	if err != nil {
		return err
	}
	_ = s.SendMsg(row("1", 1, 2)) // what is wrong is said by the answer
	if err := s.RecvMsg(receiving()); err != nil {
		return err
	}
	return s.CloseSend()
}

// A message of whoever has no token is not waited for.
func TestWhoHasNoTokenIsToldBeforeTheMessageIsThere(t *testing.T) {
	c := run(t, server.Config{Models: []server.Model{&oiptest.Doubler{Name: "m", Width: 2}}, Tokens: []string{"first-0123456789"}}).dial(t)
	s, err := c.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, oip.MethodName("ModelMetadata"))
	if err == nil {
		err = s.RecvMsg(receiving()) // nothing was sent
	}
	if grpcstatus.Code(err) != codes.Unauthenticated {
		t.Errorf("%v", err)
	}
}
