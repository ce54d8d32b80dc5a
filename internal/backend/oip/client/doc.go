// Package client asks servers of the Open Inference Protocol, over HTTP/1.1 with binary
// tensors or gRPC, with or without TLS.
//
//	c, err := client.New(ctx, client.Options{Endpoints: []string{"http://10.0.0.1:8000", "grpc://10.0.0.2:8001"}})
//	about, err := c.Model(ctx, "resnet50", "")
//	answer, err := c.Infer(ctx, &client.Request{Model: "resnet50", Specs: specs, Tensors: tensors, Accept: accept})
//
// Each endpoint is a server of its own. A request goes to the one that has the fewest under way
// (of more than 64, the better of two drawn ones). Over HTTP, tensors go from their memory to the connection
// without being copied, unless TLS is in between; once Infer has returned, nothing reads or
// writes them any more, whatever happened.
//
// A request is sent once, unless Options.Retry says otherwise. A server that cannot be
// reached, answers something that is no answer, or does not answer in time, is left out from
// then on. Redirects and proxies are not followed.
//
// The package leaves out what the tensors mean, and when to ask.
package client
