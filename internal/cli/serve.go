package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/catalogue"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/serve"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// serveFlags are the flags of serve: how a model is run, which it shares with run, and where it is offered.
type serveFlags struct {
	requestFlags
	serve.Web
	maxQueue int
}

func newServe() *cobra.Command {
	o := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve MODEL...",
		Short: "Offer models as a server of the Open Inference Protocol",
		Long: `Offer models as a server of the Open Inference Protocol (KServe v2), with the queue, the
batches and the workers of a benchmark.

MODEL is a name of the catalogue, or any model file, which only takes and returns tensors.
Each model of the catalogue has two names: MODEL takes and returns the tensors of the model
file; MODEL-task takes the parts of a sample of the benchmark, or the file of an image or a
recording, and answers with the bytes that LoadGen would log. A model of several files has a
name for each, for example MODEL-encoder. Models that write texts run as MODEL-task only; they also
speak OpenAI's protocol (/v1/completions and /v1/chat/completions, whole or as a stream). Models
of videos also answer /v1/videos/generations.

The server listens on this machine only, unless --listen names another address; beyond this
machine it wants TLS, or --insecure. A full queue answers 503. /v2/health/ready and the
health service of gRPC report whether requests are taken, /metrics has numbers for
Prometheus. SIGTERM and SIGINT end it: it answers the requests under way first, and the exit
status is 0.`,
		Example: `  mlperf serve resnet50
  mlperf serve resnet50 --listen 0.0.0.0:8000 --grpc-listen 0.0.0.0:8001 --tls-cert server.pem --tls-key server.key --token-file tokens.txt`,
		Args: arguments(1, 16),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	f := cmd.Flags()
	f.StringVar(&o.Listen, "listen", "127.0.0.1:8000", "address for HTTP: host:port, or unix:PATH")
	f.StringVar(&o.GRPC, "grpc-listen", "", "address for gRPC (default: none)")
	f.BoolVar(&o.Insecure, "insecure", false, "listen beyond this machine without TLS")
	f.StringVar(&o.Web.Cert, "tls-cert", "", "PEM file of the server's certificate")
	f.StringVar(&o.Web.Key, "tls-key", "", "PEM file of its key")
	f.StringVar(&o.ClientCA, "tls-client-ca", "", "PEM file of the authority whose certificates clients have to show")
	f.StringVar(&o.Web.TokenFile, "token-file", "", "file with the tokens that the server accepts (Authorization: Bearer …)")
	durationVar(f, &o.Drain, "drain", 30*time.Second, "how long requests under way may take at the end")
	f.IntVar(&o.maxQueue, "max-queue", serve.DefaultRoom, "requests under way at most, of each model; more are answered 503")
	f.StringVar(&o.ModelPath, "model-path", "", "file (ONNX, .tflite, .pb) to use instead of the built-in model")
	f.StringVar(&o.DatasetPath, "dataset-path", "", "folder of the data set to use instead of the built-in one")
	f.StringVar(&o.Precision, "precision", "", "fp32, fp16 or int8; default: as the model is")
	f.BoolVar(&o.FullSize, "full-size", false, "built-in models at their real size where the default has fewer layers or rows")
	f.IntVar(&o.Instances, "instances", 0, "workers that run the model at once; 0: one for each core")
	f.IntVar(&o.Backend.IntraThreads, "intra-threads", 0, "threads inside an operator; 0: chosen for the workers")
	f.IntVar(&o.MaxBatch, "max-batchsize", 0, "most samples in one run of the model; 0: 1, of other devices 16")
	durationVar(f, &o.MaxDelay, "max-batch-delay", 0, "how long a sample may wait for a batch to fill")
	o.options.define(f, catalogue.RunOptions())
	f.StringVar(&o.Engine.Name, "backend", engine.ONNXRuntime, "engine: onnxruntime, or simulated, which only takes its time")
	defineSimulated(f, &o.Engine)
	defineLibrary(f, &o.Engine.Library)
	o.defineBackend(f)
	return cmd
}

func (o *serveFlags) run(cmd *cobra.Command, names []string) error {
	if err := o.Check(); err != nil {
		return err
	}
	if o.maxQueue < 0 {
		return userinput.Invalid("max_queue", o.maxQueue, "a number from 1, or 0 for the default")
	}
	if len(names) > 1 && o.ModelPath != "" {
		return usage("--model-path is one file for %d models: give one model", len(names))
	}
	var all []*run.Resolved // before the first is made, so that errors come early
	argument := map[string]string{}
	for _, name := range names {
		q, err := o.build(cmd.Flags())
		if err != nil {
			return err
		}
		var path string
		if q.Model, path, err = catalogue.Choose(name); err != nil {
			return unflagged(err)
		}
		q.ModelPath = cmp.Or(path, q.ModelPath)
		resolved, err := run.ResolveService(q)
		if err != nil {
			return err
		}
		if before, ok := argument[resolved.ServedName()]; ok {
			return usage("%s and %s are the same model: give each once", before, name)
		}
		argument[resolved.ServedName()] = name
		all = append(all, resolved)
	}
	var models []oipserver.Model
	var offers []*serve.Offer
	for _, resolved := range all {
		offer, end, err := o.offer(cmd, resolved)
		if errors.Is(err, ErrInterrupted) || errors.Is(err, context.Canceled) {
			return finished(ExitInterrupted)
		}
		if err != nil {
			return err
		}
		defer end()
		offers, models = append(offers, offer), append(models, offer.Models()...)
	}
	o.OpenAI = serve.NewOpenAI(offers)
	o.Web.Name, o.Web.Version = "mlperf", version
	if host, err := os.Hostname(); err == nil {
		o.Web.Name += "@" + host
	}
	return o.Run(cmd.Context(), models, func(http, grpc net.Addr) {
		w, s := cmd.OutOrStdout(), ""
		for _, m := range models {
			about := m.Metadata()
			fmt.Fprintf(w, "model %s, version %s\n", about.Name, about.Versions[0])
		}
		if o.Web.Cert != "" {
			s = "s"
		}
		address := fmt.Sprintf("http%s://%s", s, http)
		if http.Network() == "unix" {
			address = fmt.Sprintf("unix://%s", http)
		}
		fmt.Fprintf(w, "listening on %s\n", address)
		if grpc != nil {
			fmt.Fprintf(w, "listening on grpc%s://%s\n", s, grpc)
		}
		for _, resolved := range all {
			fmt.Fprintf(w, "to measure it: mlperf run %s --endpoint %s\n", o.client(resolved), address)
		}
	})
}

// client are the flags of a run that measures a model here.
func (o *serveFlags) client(r *run.Resolved) string {
	switch name := r.ServedName(); {
	case o.OpenAI.Has(name):
		return "--backend openai --model " + name
	case r.Request.Model == "":
		return "--backend oip --remote-model " + report.CommandLine([]string{name})
	default:
		return "--backend oip --model " + name
	}
}

// offer makes a model ready, and returns what ends it again.
func (o *serveFlags) offer(cmd *cobra.Command, resolved *run.Resolved) (*serve.Offer, func(), error) {
	display := newDisplay(cmd)
	defer display.Done()
	prepared, err := resolved.Provide(cmd.Context(), display)
	if err != nil {
		return nil, nil, err
	}
	offer, err := serve.Open(cmd.Context(), prepared, serve.Options{Name: prepared.ServedName(), Room: o.maxQueue, Own: prepared.Request.Model == ""})
	if err != nil {
		return nil, nil, errors.Join(err, prepared.Close())
	}
	if why := offer.NoTask(); why != "" {
		display.Note(fmt.Sprintf("%s%s is not offered: %s", prepared.ModelName(), protocol.TaskSuffix, why))
	}
	return offer, func() { _ = errors.Join(offer.Close(), prepared.Close()) }, nil // the process ends with it
}
