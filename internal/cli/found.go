package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/backend/credentials"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// configFlag names an mlperf.yaml. One that is only found in the working folder may be somebody else's.
const configFlag = "config"

func defineConfig(f *pflag.FlagSet) {
	f.String(configFlag, "", "YAML `file` with flags, instead of ./mlperf.yaml; it may set every flag")
}

// Why a file that was found may not set a flag.
const (
	loadsCode   = "loads code, or runs it"
	writesFiles = "says what is written, replaced or removed"
	credential  = "decides which credentials go where"
	agrees      = "answers a question that is asked for good reason"
	listens     = "opens this machine to others"
)

// onlyNamed are the flags that an mlperf.yaml may set only if the user named it. A test lists all others, so that a new flag is
// put here or there.
var onlyNamed = map[string]string{
	"custom-ops": loadsCode, "ort-lib": loadsCode, "ort-config": loadsCode, "provider-option": loadsCode,
	"accuracy-script": loadsCode, "execute-code": loadsCode, "fix": loadsCode, "mirror": loadsCode, "mirror-only": loadsCode, "from-file": loadsCode,

	"output": writesFiles, "force": writesFiles, "optimized-model": writesFiles, "write-user-conf": writesFiles, "endpoints-artifacts": writesFiles,
	"engine-cache": writesFiles, "backup": writesFiles, "database": writesFiles, "compliance-images-path": writesFiles, "videos-path": writesFiles,
	"dir": writesFiles, "add": writesFiles,
	"resume":      writesFiles,
	"custom-data": writesFiles, "unused": writesFiles,

	"token-file": credential, "tls-ca": credential, "tls-cert": credential, "tls-key": credential, "tls-client-ca": credential, "header": credential,

	"accept-license": agrees, "yes": agrees, "accept": agrees,

	"listen": listens, "grpc-listen": listens, "live": listens, "insecure": listens, "token-server": listens,
}

// sendsTo are the flags of servers, which a found file may set unless a key would go there.
var sendsTo = []string{"endpoint", "grader-endpoint", "judge-endpoint", "peer"}

// foundFile says what an mlperf.yaml that was found sets, and refuses what it may not set.
func foundFile(cmd *cobra.Command) error {
	var sets []string
	var refused error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if roleOf(cmd.Flags(), f.Name) != limitation.OptionFile {
			return
		}
		sets = append(sets, strings.TrimSpace(f.Name+" "+strings.Trim(f.Value.String(), "[]")))
		why := onlyNamed[f.Name]
		if key := keyOf(cmd); slices.Contains(sendsTo, f.Name) && key != "" {
			why = "would send " + key + " there"
		}
		if why != "" && refused == nil {
			refused = usage("%s: %s: it %s, and a file that is only found may not set that: give --%s, or name the file (--%s %s, or MLPERF_CONFIG)",
				optionFile, f.Name, why, f.Name, configFlag, optionFile)
		}
	})
	if len(sets) > 0 {
		_ = say(cmd.ErrOrStderr(), "%s\n", userinput.PrintableLine(fmt.Sprintf("%s of this folder sets %s", optionFile, strings.Join(sets, ", "))))
	}
	return refused
}

// keyOf is the credential that a request to a server would carry; "": none.
func keyOf(cmd *cobra.Command) string {
	for _, name := range credentials.Variables() {
		if os.Getenv(name) != "" {
			return name
		}
	}
	for _, name := range []string{"token-file", "tls-cert", "header"} {
		if originOf(cmd.Flags(), name) != "" {
			return "--" + name
		}
	}
	return ""
}
