// Package endpoint reaches inference servers over HTTP: where they are, whom they trust, and
// how long they may take.
//
//	servers, err := endpoint.Open(endpoint.Options{URLs: []string{"https://host:8000"}, TokenFile: "key.txt"})
//	server := servers.Acquire()
//	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL("/v1/completions"), body)
//	servers.Authorize(request)
//	response, err := servers.HTTP().Do(request)
//	…
//	servers.Release(server)
//
// Connections are kept and used again, as many as there are requests under way. Of several
// servers the one with the fewest outstanding requests gets the next. A key comes from a file
// or the environment; it is sent to the hosts that were named and to no other, redirected or not,
// and no text that this package makes has it.
//
// The package knows no protocol above HTTP, and retries nothing.
package endpoint
