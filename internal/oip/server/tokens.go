package server

import (
	"context"
	"crypto/subtle"
	"slices"
	"strings"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/tap"

	"github.com/mlperf-go/mlperf/internal/oip"
)

// permitted reports whether a request brings one of the tokens.
func (s *Server) permitted(authorization string) bool {
	if len(s.config.Tokens) == 0 {
		return true
	}
	scheme, token, _ := strings.Cut(authorization, " ")
	found := 0
	for _, t := range s.config.Tokens {
		found |= subtle.ConstantTimeCompare([]byte(t), []byte(token))
	}
	return strings.EqualFold(scheme, "Bearer") && found == 1
}

// admit lets a request over gRPC come in. It is called before anything of its message is read: whoever has no token has no
// memory taken, and whoever is slow has not much time.
func (s *Server) admit(ctx context.Context, about *tap.Info) (context.Context, error) {
	if err := s.authorise(about); err != nil {
		return ctx, err
	}
	return s.expectMessage(ctx, about.FullMethodName), nil
}

// authorise asks for a token, but not for the service of health.
func (s *Server) authorise(about *tap.Info) error {
	if len(s.config.Tokens) == 0 || strings.HasPrefix(about.FullMethodName, "/"+healthpb.Health_ServiceDesc.ServiceName+"/") {
		return nil
	}
	if slices.ContainsFunc(about.Header.Get("authorization"), s.permitted) {
		return nil
	}
	return s.statusOf(oip.Errorf(oip.Unauthorized, "want one of the server's tokens (authorization: Bearer …)"))
}
