// Package client asks servers of the Open Inference Protocol, over HTTP/1.1 with binary tensors or gRPC,
// with or without TLS.
//
//	c, err := client.New(ctx, client.Options{Endpoints: []string{"http://10.0.0.1:8000", "grpc://10.0.0.2:8001"}})
//	about, err := c.Model(ctx, "resnet50", "")
//	answer, err := c.Infer(ctx, &client.Request{Model: "resnet50", Specs: specs, Tensors: tensors, Accept: accept})
//
// client.go has the Client and what it asks all servers. endpoint.go reads URLs: each endpoint is a server of
// its own. server.go sends a request to the server with the fewest outstanding ones, and leaves out servers
// that cannot be reached, answer wrongly or do not answer in time. http.go and grpc.go speak the protocol,
// conn.go counts bytes: without TLS a tensor goes to the socket from its own memory. Once Infer has returned,
// nothing reads or writes the tensors, whatever happened.
//
// A request is sent once, unless Options.Retry says otherwise. Redirections and proxies are not followed.
package client
