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

// authorise asks for a token, but not for the service of health. It is called before anything of a message is read:
// whoever has no token has no memory taken.
func (s *Server) authorise(ctx context.Context, about *tap.Info) (context.Context, error) {
	if len(s.config.Tokens) == 0 || strings.HasPrefix(about.FullMethodName, "/"+healthpb.Health_ServiceDesc.ServiceName+"/") {
		return ctx, nil
	}
	if slices.ContainsFunc(about.Header.Get("authorization"), s.permitted) {
		return ctx, nil
	}
	return ctx, s.statusOf(oip.Errorf(oip.Unauthorized, "want one of the server's tokens (authorization: Bearer …)"))
}
