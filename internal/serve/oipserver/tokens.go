package oipserver

import (
	"crypto/subtle"
	"strings"
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
