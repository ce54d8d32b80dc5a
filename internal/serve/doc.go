// Package serve offers a model of the catalogue as a server of the Open Inference Protocol, with the
// engine, the queue, the batches and the workers of a test.
//
//	offer, err := serve.Open(ctx, prepared, serve.Options{Name: "resnet50", Room: 256})
//	web := oipserver.New(oipserver.Config{Models: offer.Models()})
//
// A model is there twice. NAME takes and gives the tensors of the model file (tensors.go): requests of one
// sample wait in the queue and run in batches with others, requests of several samples run alone.
// NAME-task takes a sample of the benchmark, or the file of an image or a recording, and
// answers with the bytes that LoadGen would log (task.go, sequences.go); it runs the benchmark's own predictor, whose
// runs of the model go through the same queue (table.go).
//
// Of a model of several files each is there, as NAME-role. A decoder of texts is only described, as NAME:
// its key/value cache stays here, and NAME-task runs it.
//
// Models that write texts also speak OpenAI's protocol (openai.go). Web listens, with TLS and tokens (web.go).
//
// The room for samples and bytes is bounded; a request beyond it is refused at once. Nothing of a request or an
// answer is kept.
package serve
