package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// names are those of a model at the servers: its own, and of several files those that are not
// called NAME-role.
func (r *Remote) names(m workload.Model) (name string, parts map[string]string) {
	switch {
	case r.Model == "":
		return m.Name, nil
	case m.Roles == nil || !strings.Contains(r.Model, "="):
		return r.Model, nil
	}
	parts = map[string]string{}
	for _, word := range strings.Split(r.Model, ",") {
		role, name, _ := strings.Cut(word, "=")
		parts[role] = name
	}
	return m.Name, parts
}

// parts finds the files of a model at the servers: their names are what they are opened by.
func (r *Remote) parts(m workload.Model) func(string) ([]workload.File, error) {
	name, own := r.names(m)
	var files []workload.File
	for _, role := range m.Roles {
		at := protocol.PartName(name, role)
		if own[role] != "" {
			at = own[role]
		}
		files = append(files, workload.File{Role: role, Path: at})
	}
	return func(string) ([]workload.File, error) { return files, nil }
}

// checkParts finds a model that cannot be asked for file by file, and names of files that it does
// not have.
func (r *Resolved) checkParts() error {
	m, remote := r.model, &r.Request.Engine.Remote
	name, parts := remote.names(m)
	if err := checkPartNames(m.Roles, parts); err != nil {
		return userinput.Errorf("remote_model", "%q: %w", remote.Model, err)
	}
	if m.FilesRunTogether() && r.division != config.Network {
		return userinput.Errorf("backend", "%s keeps what one step of its decoder leaves in memory for the next: over the protocol that would be sent for every token; want the division network, which has servers answer whole samples (%s%s), or the engine %s",
			m.Name, name, protocol.TaskSuffix, OpenAI)
	}
	if r.division == config.Network && r.Settings.UseTokenLatencies && r.Settings.Scenario == loadgen.Server {
		or := ""
		if m.Ask != nil {
			or = ", or the engine " + OpenAI
		}
		return userinput.Errorf("scenario", "%s bounds the time to the first token, and the answers of %s%s come whole: want offline%s", m.Name, name, protocol.TaskSuffix, or)
	}
	return nil
}

// checkPartNames compares names of files with the files that there are.
func checkPartNames(roles []string, parts map[string]string) error {
	for _, role := range slices.Sorted(maps.Keys(parts)) {
		switch name := parts[role]; {
		case !slices.Contains(roles, role):
			return fmt.Errorf("the model has no file %q, want %s", role, strings.Join(roles, ", "))
		case name == "":
			return fmt.Errorf("the %s has no name, want role=name", role)
		}
	}
	return nil
}
