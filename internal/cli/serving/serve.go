package serving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/request"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/serve"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// serveFlags are the flags of serve: how a model is run, which it shares with run, and where it is offered.
type serveFlags struct {
	request.Flags
	serve.Web
	room int
}

func newServe() *cobra.Command {
	o := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve MODEL...",
		Short: "Offer models as a server of the Open Inference Protocol",
		Long: `Offer models as a server of the Open Inference Protocol (KServe v2), with the queue, the
batches and the workers of a benchmark.

Each model is there twice: MODEL takes and gives the tensors of the model file, and
MODEL-task takes what a sample of the benchmark consists of, or the file of an image or a
recording, and answers what LoadGen would log. Of several files each is there, as
MODEL-encoder. Models that write texts run as MODEL-task only; they also speak OpenAI's
protocol (/v1/completions and /v1/chat/completions, whole or as a stream).

It listens on this machine only, unless --listen says otherwise; beyond it wants TLS, or
--insecure. A full queue answers 503. /v2/health/ready and the health service of gRPC say
whether requests are taken, /metrics has numbers for Prometheus. SIGTERM and SIGINT end it:
what is under way is answered first, and the exit status is 0.`,
		Example: `  mlperf serve resnet50
  mlperf serve resnet50 --listen 0.0.0.0:8000 --grpc-listen 0.0.0.0:8001 --tls-cert server.pem --tls-key server.key --token-file tokens.txt`,
		Args: cli.Arguments(1, 16),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	o.define(cmd.Flags())
	return cmd
}

func (o *serveFlags) define(f *pflag.FlagSet) {
	f.StringVar(&o.Listen, "listen", "127.0.0.1:8000", "address for HTTP: host:port, or unix:PATH")
	f.StringVar(&o.GRPC, "grpc-listen", "", "address for gRPC (default: none)")
	f.BoolVar(&o.Insecure, "insecure", false, "listen beyond this machine without TLS")
	f.StringVar(&o.Web.Cert, "tls-cert", "", "PEM file of the server's certificate")
	f.StringVar(&o.Web.Key, "tls-key", "", "PEM file of its key")
	f.StringVar(&o.ClientCA, "tls-client-ca", "", "PEM file of the authority whose certificates clients have to show")
	f.StringVar(&o.Web.TokenFile, "token-file", "", "file with tokens of which clients have to bring one (Authorization: Bearer …)")
	cli.DurationVar(f, &o.Drain, "drain", 30*time.Second, "how long requests under way may take at the end")
	f.IntVar(&o.room, "max-queue", 256, "requests under way at most, of each model; more are answered 503")
	f.StringVar(&o.ModelPath, "model-path", "", "ONNX file to use instead of the built-in model")
	f.StringVar(&o.DatasetPath, "dataset-path", "", "folder of the data set to use instead of the built-in one")
	f.StringVar(&o.Precision, "precision", "", "fp32, fp16 or int8; default: as the model is")
	f.BoolVar(&o.FullSize, "full-size", false, "built-in models at their real size where the default has fewer layers or rows")
	f.IntVar(&o.Instances, "instances", 0, "workers that run the model at once; 0: one for each core")
	f.IntVar(&o.Backend.IntraThreads, "intra-threads", 0, "threads inside an operator; 0: chosen for the workers")
	f.IntVar(&o.MaxBatch, "max-batchsize", 0, "most samples in one run of the model; 0: 4")
	cli.DurationVar(f, &o.MaxDelay, "max-batch-delay", 0, "how long a sample may wait for a batch to fill")
	o.DefineOptions(f)
	f.StringVar(&o.Engine.Name, "backend", run.ONNXRuntime, "engine: onnxruntime, or simulated, which only takes its time")
	cli.DurationVar(f, &o.Engine.Latency, "sim-latency", 5*time.Millisecond, "time that the simulated engine takes for a run")
	cli.DurationVar(f, &o.Engine.Jitter, "sim-jitter", 0, "standard deviation of that time")
	request.DefineLibrary(f, &o.Engine)
	o.DefineBackend(f)
}

// run carries the command out.
func (o *serveFlags) run(cmd *cobra.Command, names []string) (err error) {
	if err := o.Check(); err != nil {
		return err
	}
	if o.room < 0 {
		return userinput.Invalid("max_queue", o.room, "a number from 1, or 0 for the default")
	}
	if len(names) > 1 && o.ModelPath != "" {
		return cli.Usage("--model-path is one file, and there are %d models", len(names))
	}
	asked, err := o.resolve(cmd.Flags(), names)
	if err != nil {
		return err
	}
	var models []oipserver.Model
	var offers []*serve.Offer
	for _, resolved := range asked {
		offer, end, err := o.open(cmd, resolved)
		if err != nil {
			return interruption(err)
		}
		defer func() { _ = end() }() // the process ends with it
		offers, models = append(offers, offer), append(models, offer.Models()...)
	}
	o.OpenAI = serve.NewOpenAI(offers)
	o.Web.Name, o.Web.Version = nodeName(), cli.Version()
	return o.Run(cmd.Context(), models, func(http, grpc net.Addr) { o.announce(cmd.OutOrStdout(), models, http, grpc) })
}

// resolve finds what cannot be right with any of the models, before the first is made.
func (o *serveFlags) resolve(f *pflag.FlagSet, names []string) (all []*run.Resolved, err error) {
	seen := map[string]string{} // by a model's name: how it was asked for
	for _, name := range names {
		q, err := o.Build(f)
		if err != nil {
			return nil, err
		}
		q.Model = name
		resolved, err := run.ResolveService(q)
		if err != nil {
			return nil, err
		}
		if before, ok := seen[resolved.ModelName()]; ok {
			return nil, cli.Usage("%s and %s are the same model: want each once", before, name)
		}
		seen[resolved.ModelName()] = name
		all = append(all, resolved)
	}
	return all, nil
}

// open makes a model ready to be offered.
func (o *serveFlags) open(cmd *cobra.Command, resolved *run.Resolved) (offer *serve.Offer, end func() error, err error) {
	display := cli.NewDisplay(cmd)
	defer display.Done()
	prepared, err := resolved.Provide(cmd.Context(), display)
	if err != nil {
		return nil, nil, err
	}
	offer, err = serve.Open(cmd.Context(), prepared, serve.Options{Name: prepared.ModelName(), Room: o.room})
	if err != nil {
		return nil, nil, errors.Join(err, prepared.Close())
	}
	if why := offer.NoTask(); why != "" {
		display.Note(fmt.Sprintf("%s%s is not offered: %s", prepared.ModelName(), protocol.TaskSuffix, why))
	}
	return offer, func() error { return errors.Join(offer.Close(), prepared.Close()) }, nil
}

// nodeName tells this node from others.
func nodeName() string {
	host, err := os.Hostname()
	if err != nil {
		return "mlperf"
	}
	return "mlperf@" + host
}

// interruption is the end of a server that was stopped before it was there.
func interruption(err error) error {
	if errors.Is(err, cli.ErrInterrupted) || errors.Is(err, context.Canceled) {
		return cli.Finished(cli.ExitInterrupted)
	}
	return err
}

// announce says what is offered, and where.
func (o *serveFlags) announce(w io.Writer, models []oipserver.Model, http, grpc net.Addr) {
	for _, m := range models {
		about := m.Metadata()
		fmt.Fprintf(w, "model %s, version %s\n", about.Name, about.Versions[0])
	}
	scheme, s := "http", ""
	if o.Web.Cert != "" {
		s = "s"
	}
	if http.Network() == "unix" {
		fmt.Fprintf(w, "listening on unix://%s\n", http)
	} else {
		fmt.Fprintf(w, "listening on %s%s://%s\n", scheme, s, http)
	}
	if grpc != nil {
		fmt.Fprintf(w, "listening on grpc%s://%s\n", s, grpc)
	}
}
